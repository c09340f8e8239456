"""Secrets that only the name beside them gives away: text goes in, spans (start, end, kind) come out.

The rules that live here: which names announce a secret, where its value stands (assignments in many languages and
settings formats, headers, cookies, options of commands, attributes, blocks), and how sure its shape must make us
there. The shapes themselves are judged in `scrub_shapes`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from huginn.scrub_shapes import (
    decodes_to_login,
    is_known_form,
    is_secret_bareword,
    is_secret_literal,
    is_stand_in,
    looks_random,
)
from huginn.scrub_tokens import Span

# Parts of names, in small letters, by which a place is found at all.
_MENTION = re.compile(
    r"passw|passphrase|passcode|pass\b|pass_|pwd|\bpw\b|_pw\b|secret|token|api[-_ ]?key|"
    r"(?:access|private|account|master|encryption|signing|auth|shared|service|storage|admin|license|session|deploy|app|crypt\w*)[-_ ]?key|"
    r"credential|auth\b|authorization|bearer|basic |cookie|requirepass|masterauth|"
    r"senha|contraseña|contrasena|\bclave\b|mot de passe|\bmdp\b|wachtwoord|hasło|haslo|heslo|lösenord|salasana|kennwort|"
    r"\bparola\b|jelszó|şifre|adgangskode|пароль|пароля|κωδικός|密码|密碼|口令|パスワード|비밀번호"
)
_NAME_CHARACTERS = re.compile(r"[\w.\-]*")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z][^\W\d_]*")

_PASSWORDS = frozenset(
    "password passwd passwort passphrase passcode pass pwd pw pswd senha contraseña contrasena clave passe mdp wachtwoord hasło "
    "haslo heslo lösenord salasana kennwort parola jelszó şifre adgangskode пароль пароля κωδικός 密码 密碼 口令 パスワード 비밀번호 "
    "requirepass masterauth".split()
)
_GLUED_PASSWORD = re.compile(
    r".*(?:password|passwd|passwort|passphrase)|(?:user|db|ssh|ftp|mysql|pg|smtp|mail|admin|root|auth|redis|http|proxy|sudo|become|vault|"
    r"login|key|store|keystore|truststore|my)pass|(?:db|pg|mysql|user|my|root)pwd"
)
_KEY_OWNERS = frozenset(
    "api access secret private account master encryption signing auth shared service license storage admin session deploy app crypto "
    "crypt cipher hmac webhook".split()
)
# Words behind a secret's word that leave its meaning as it is.
_HARMLESS_ENDINGS = frozenset(
    "value val str string text plain plaintext cleartext raw prod production dev development staging stage old new current primary "
    "secondary default main live base64 b64 confirm confirmation repeat eu us local here env test".split()
)
# Words behind (or before) a secret's word that make a name of something else.
_OTHER_ENDINGS = frozenset(
    "file path dir name names url uri endpoint type kind count counts len length size id ids field fields label hint regex pattern "
    "policy var hash hashed digest sum checksum salt expiry expires expiration expire ttl lifetime age limit budget index idx "
    "position offset start end at is has prefix suffix placeholder title message error exception class cls format schema template "
    "usage header provider manager store service factory handler generator validator verifier reset changed change strength rules "
    "min max required enabled disabled auth grant method algorithm alg version status state scope scopes ref arn list map dict "
    "set tuple iter stream reader writer parser lexer".split()
)
_OTHER_BEGINNINGS = frozenset(
    "next page continuation eos bos pad unk mask sep cls cancellation cancel public publishable max min num no without hashed encrypted "
    "sealed vocab special sync previous prev invalid wrong csrf nextpage fake".split()
)


@lru_cache(maxsize=8192)
def _name_says(name: str) -> tuple[str, int]:
    """What a name announces: the kind ("" for nothing) and how surely (2: it ends with the word, 1: it holds it)."""
    words = [word.lower() for word in _WORDS.findall(name)]
    while words and words[-1].isdigit():
        words.pop()
    if not words or (words[0] in _OTHER_BEGINNINGS and len(words) > 1):
        return "", 0
    sureness = 2
    bare = list(words)
    while len(bare) > 1 and (bare[-1] in _HARMLESS_ENDINGS or bare[-1].isdigit()):
        bare.pop()
    kind = _kind_of(bare)
    if not kind and not _OTHER_ENDINGS.intersection(words):
        sureness = 1
        kind = next((k for end in range(len(bare) - 1, 0, -1) if (k := _kind_of(bare[:end]))), "")
    if any(word in _OTHER_BEGINNINGS for word in bare[:-1]):
        return "", 0
    return kind, sureness


def _kind_of(words: list[str]) -> str:
    """What the last of these words announces."""
    last = words[-1]
    before = words[-2] if len(words) > 1 else ""
    if last in _PASSWORDS or _GLUED_PASSWORD.fullmatch(last):
        return "password"
    if last in ("secret", "secrets") or last.endswith(("secret", "secretkey", "secrettoken")):
        return "secret"
    if last == "token" or last.endswith("token"):
        return "token"
    if (last == "key" and (before in _KEY_OWNERS or before.endswith("secret"))) or last.endswith(
        (
            "apikey",
            "accesskey",
            "privatekey",
            "authkey",
            "accountkey",
            "masterkey",
            "encryptionkey",
            "signingkey",
            "sharedkey",
        )
    ):
        return "api key"
    if last in ("credential", "credentials", "auth", "authorization"):
        return "credential"
    return ""


_QUOTED = re.compile(
    r"(?P<close>(?:\\{0,3}[\"'`]|[\])}]){0,3})[ \t]*"
    r"(?:(?P<type>:?[ \t]*[\w.\[\]|<>?*&, ]{1,60}?)[ \t]*(?==))?"
    r"(?P<op>=>|:=|[=!]==?|\?\?=|\|\|=|[?+]=|=|:|：|＝|->|,|\(|<-|)"
    r"[ \t]*(?:\\?\r?\n[ \t]*)?"
    r"(?:(?:new )?(?:SecretStr|Secret|String(?:::from)?|Some|str|bytes|SecureString|Password|Buffer\.from|sensitive|pulumi\.secret)\([ \t]*)?"
    r"(?:[bBrRuUfFlL$@]{1,2}(?=[\"'`]))?"
    r"(?P<quote>\\{1,3}[\"']|\"\"\"|'''|[\"'`]|“|«|„|‘|『|「)"
)
_QUOTE_ENDS = {"“": "”", "«": "»", "„": "“", "‘": "’", "『": "』", "「": "」"}
_BARE = re.compile(
    r"(?P<close>(?:\\{0,3}[\"'`]|[\])}]){0,3})(?P<space>[ \t]*)(?P<op>=>|:=|[?+]?=|:|：|＝|->)[ \t]*(?P<value>[^\s\"'`<>,;，；。、「」（）&]{6,4096})"
)
_PROSE = re.compile(
    r"(?:[^\n:：=＝\"'`=<>(){}\[\];]{0,40}?(?:[:：=＝]|\b(?:is|was|are|ist|lautet|war|est|es|är|to|now|jest|=|->|→|=>)(?=[ :]):?)"
    r"|[ ]{0,2}[*_]{1,2}:?)?[ \t]*[*_`\"'(]{0,3}(?P<value>[^\s\"'`<>，；。、「」（）]{8,4096})"
)
_ELEMENT = re.compile(r"[\"']?(?:\s[^<>\n]{0,100})?>\s*(?:<!\[CDATA\[)?(?P<value>[^<>\s\]]{4,1000})\s*(?:\]\]>\s*)?</")
_PAIR = re.compile(
    r"[\"']?\s*[,;/]?\s*(?:-\s*)?(?:\{[^{}]{0,300}?)?[\"']?\b(?:value|Value|default|content|secretValue|VALUE)[\"']?\s*(?:=>|[:=])\s*"
    r"(?:(?P<quote>[\"'])(?P<quoted>[^\"'\n]{4,1000})(?P=quote)|(?P<value>[^\s\"'`<>,;{}]{6,1000}))"
)
_OPTION = re.compile(r"(?:[ \t]+|=)(?P<value>[^\s\"'`<>;|&]{6,1000})")
_BLOCK = re.compile(
    r"[\"']?[ \t]*:[ \t]*(?:![\w!]+[ \t]+)?[>|][+-]?\d?[ \t]*(?:#[^\n]*)?\r?\n(?P<lines>(?P<indent>[ \t]+)[^\n]*(?:\n(?P=indent)[^\n]*|\n(?=[ \t]*\n))*)"
)
_LITERAL_START = re.compile(
    r"[ \t]*(?:(?:export|set|ENV|ARG|env|setx|-e|--env|--build-arg|-\s)[ \t]+|[-#;*/]+[ \t]*|\$env:|[\"'])?",
    re.IGNORECASE,
)
_SCREAMING = re.compile(r"[A-Z][A-Z0-9_]*")
_HEADER = re.compile(
    r"[\"'\])]{0,3}\s*[:=,]?\s*[\"'`]{0,1}(?:(?:bearer|basic|token|digest|apikey|api-key|negotiate|splunk|key|bot)[ \t:]+)?[\"'{]?(?P<value>[^\s\"'`<>,;]{8,4096})",
    re.IGNORECASE,
)
_COOKIES = re.compile(r"[\"'\])]{0,3}(?:\s*[:=,(]\s*|[ \t]+)[\"'`]?(?P<pairs>[^\n\"'`]{6,8192})")
_COOKIE = re.compile(r"(?<![^\s;,])(?P<name>[\w.\-]+)=(?P<value>[^\s;,\"'\\]{8,4096})")


def find_named(text: str, lowered: str) -> Iterator[Span]:
    """The spans of `text` that are secrets by the name beside them. `lowered` is `text` in small letters."""
    done = 0
    for mention in _MENTION.finditer(lowered):
        if mention.start() < done:
            continue
        start, end = _name_around(text, mention.start(), mention.end())
        name = text[start:end]
        done = end
        word = mention[0]
        if word == "cookie":
            yield from _cookies(text, end)
        elif word in ("bearer", "basic "):
            yield from _schemes(text, mention)
        elif name.lower().endswith("authorization"):
            yield from _header(text, end)
        kind, sureness = _name_says(name)
        if kind:
            yield from _value_beside(text, start, end, kind, sureness)


def _name_around(text: str, start: int, end: int) -> tuple[int, int]:
    """The whole name of which a mention is a part."""
    first = start
    while first > 0 and start - first < 80 and (text[first - 1].isalnum() or text[first - 1] in "_.-"):
        first -= 1
    found = _NAME_CHARACTERS.match(text, end, end + 80)
    last = found.end() if found else end
    while first < start and text[first] in "-.":
        first += 1
    while last > end and text[last - 1] in "-.":
        last -= 1
    return first, last


def _value_beside(text: str, start: int, end: int, kind: str, sureness: int) -> Iterator[Span]:
    """The value that belongs to the name at `start`:`end`, if its place and its shape make it a secret."""
    found = (
        _quoted(text, end, kind, sureness)
        or _bare(text, start, end, kind, sureness)
        or _element_or_pair(text, end, kind, sureness)
        or (sureness == 2 and (_option(text, start, end, kind) or _prose(text, end, kind)))
    )
    if found:
        yield found
    elif sureness == 2:
        yield from _block(text, end, kind)


def _quoted(text: str, end: int, kind: str, sureness: int) -> Span | None:
    found = _QUOTED.match(text, end, end + 400)
    if not found or not _quoted_place(found, text, end):
        return None
    quote = found["quote"]
    first = found.end()
    last = _closing(text, first, _QUOTE_ENDS.get(quote, quote))
    value = text[first:last]
    if kind == "credential":
        good = looks_random(value) or decodes_to_login(value)
    elif sureness == 1 or found["op"] in ("(", ",") and not kind == "password":
        good = looks_random(value) and len(value) >= 12
    elif "==" in found["op"] or found["op"] == "!=":
        good = is_secret_bareword(value)
    else:
        good = is_secret_literal(value, least=6 if kind == "password" else 8)
    return (first, last, kind) if good else None


def _quoted_place(found: re.Match[str], text: str, end: int) -> bool:
    """A pair in a call needs the name in quotes, a call needs it without; nothing between needs a space between."""
    op, close = found["op"], found["close"]
    if op == ",":
        return any(c in close for c in "\"'`")
    if op == "(":
        return not close
    if op == "":
        return not close and text[end : end + 1] in (" ", "\t") and "\n" not in found[0]
    return True


def _closing(text: str, first: int, quote: str) -> int:
    """Where a quoted value ends: at its quote, at the end of the line if it has none."""
    line = text.find("\n", first, first + 5000)
    limit = line if line >= 0 else min(len(text), first + 5000)
    position = first
    while True:
        last = text.find(quote, position, limit)
        if last < 0:
            return first
        if len(quote) > 1 or text[last - 1] != "\\" or last == first:
            return last
        position = last + 1


def _bare(text: str, start: int, end: int, kind: str, sureness: int) -> Span | None:
    found = _BARE.match(text, end, end + 5000)
    if not found:
        return None
    first, last = _trimmed(text, found.start("value"), found.end("value"))
    value = text[first:last]
    literal = _is_literal_line(text, start, end, found, last)
    if kind == "credential":
        good = looks_random(value) and len(value) >= 16 or decodes_to_login(value)
    elif sureness == 1:
        good = literal and looks_random(value) and len(value) >= 12
    elif literal:
        good = is_secret_literal(value, least=6 if kind == "password" else 8) and not re.search(r"\w\(", value)
    else:
        good = is_secret_bareword(value)
    return (first, last, kind) if good else None


def _trimmed(text: str, first: int, last: int) -> tuple[int, int]:
    """Without the brackets and marks that belong to the sentence, not to the value."""
    while last > first and text[last - 1] in ")]}.:|\\_*?":
        if text[last - 1] in ")]}" and text[first:last].count("([{"[")]}".index(text[last - 1])]) >= text[
            first:last
        ].count(text[last - 1]):
            break
        last -= 1
    return first, last


def _is_literal_line(text: str, start: int, end: int, found: re.Match[str], last: int) -> bool:
    """Whether the value cannot be an expression: settings files, shells, connection strings."""
    before = text[max(0, text.rfind("\n", 0, start) + 1, start - 300) : start]
    after = text[last : last + 1]
    name = text[start:end]
    if found["op"] == "=" and not found["space"] and found.start("value") == found.end("op"):
        if _SCREAMING.fullmatch(name) or before.rstrip().endswith(("export", "-e", "set", "--env")):
            return after not in ("(", "[", ".")
        if (
            ";" in before
            or after == ";"
            or re.search(r"\b(?:user|host|dbname|uid|username|ansible_\w+)[ ]?=[^=,\s]+[ \t]", before)
        ):
            return True
    whole = _LITERAL_START.fullmatch(before) is not None
    rest = text[last : last + 2]
    ends = not rest or rest[0] in "\r\n" or rest == " #"
    if not whole or not ends:
        return False
    return not (found["op"] == "=" and found["space"]) or "." in name


def _element_or_pair(text: str, end: int, kind: str, sureness: int) -> Span | None:
    if text[end : end + 1] in (">", '"', "'", " ") and (found := _ELEMENT.match(text, end, end + 1500)):
        if is_secret_literal(found["value"]) if sureness == 2 else looks_random(found["value"]):
            return found.start("value"), found.end("value"), kind
    if text[end : end + 1] in ('"', "'", "\n", "\r") and (found := _PAIR.match(text, end, end + 1500)):
        group = "quoted" if found["quoted"] else "value"
        if is_secret_literal(found[group]) if group == "quoted" else is_secret_bareword(found[group]):
            return found.start(group), found.end(group), kind
    return None


def _option(text: str, start: int, end: int, kind: str) -> Span | None:
    """`--password value`, `ENV PASSWORD value`, `login x password value`, and a line of just name and value."""
    found = _OPTION.match(text, end, end + 1200)
    if not found:
        return None
    value = found["value"]
    line = text[max(0, text.rfind("\n", 0, start) + 1, start - 300) : start]
    rest = text[found.end() : found.end() + 1]
    certain = line.endswith(("--", " -", "ENV ", "setenv ", "set -x ", "set -gx ")) or (
        kind == "password" and re.search(r"\b(?:login|machine|user)\s+\S+\s+$", text[max(0, start - 200) : start])
    )
    if certain:
        good = is_secret_literal(value)
    else:
        good = not line.strip() and rest in ("", "\n", "\r") and is_secret_bareword(value)
    return (found.start("value"), found.end("value"), kind) if good else None


def _prose(text: str, end: int, kind: str) -> Span | None:
    """`the password for the door is …`: only what is random through and through."""
    found = _PROSE.match(text, end, end + 5000)
    if not found or found.start("value") == end:
        return None
    first, last = _trimmed(text, found.start("value"), found.end("value"))
    while last > first and text[last - 1] in ",;":
        last -= 1
    value = text[first:last]
    if not looks_random(value) or re.search(r"[(){}\[\]=,]", value) or value.startswith(("$", "!", "@", "--")):
        return None
    if re.fullmatch(r"[0-9a-fA-F]+", value) and not re.fullmatch(
        r"[^\n\w]{1,6}|\s*(?:is|ist|est)\s*:?\s*", text[end:first]
    ):
        return None
    return first, last, kind


def _block(text: str, end: int, kind: str) -> Iterator[Span]:
    """A YAML block under a secret's name: every line of it, if it has no words."""
    found = _BLOCK.match(text, end, end + 20_000)
    if not found:
        return
    joined = "".join(found["lines"].split())
    lines = [line for line in re.finditer(r"[^\n]+", found["lines"]) if line[0].strip()]
    if any(" " in line[0].strip() for line in lines) or not (is_secret_literal(joined) or looks_random(joined)):
        return
    offset = found.start("lines")
    for line in lines:
        first = line.start() + len(line[0]) - len(line[0].lstrip())
        yield offset + first, offset + line.start() + len(line[0].rstrip()), kind


def _schemes(text: str, mention: re.Match[str]) -> Iterator[Span]:
    """`Bearer …` and `Basic …` wherever they stand."""
    found = re.compile(r"[ \t:\"'=]{0,4}(?P<value>[A-Za-z0-9._~+/=\-]{8,4096})").match(text, mention.end())
    if not found:
        return
    value = found["value"].rstrip(".")
    if mention[0] == "bearer":
        if is_bearer(value):
            yield found.start("value"), found.start("value") + len(value), "bearer token"
    elif decodes_to_login(value):
        yield found.start("value"), found.start("value") + len(value), "basic auth"


def is_bearer(value: str) -> bool:
    """A bearer token has no spaces, and is no word of the documentation."""
    return looks_random(value) or (len(value) >= 8 and is_secret_literal(value, least=8) and "." not in value)


def _header(text: str, end: int) -> Iterator[Span]:
    found = _HEADER.match(text, end, end + 5000)
    if found and found.start("value") > end:
        value = found["value"]
        if looks_random(value) or decodes_to_login(value):
            yield found.start("value"), found.end("value"), "credential"


def _cookies(text: str, end: int) -> Iterator[Span]:
    found = _COOKIES.match(text, end, end + 9000)
    if not found:
        return
    for cookie in _COOKIE.finditer(text, found.start("pairs"), found.end("pairs")):
        value = cookie["value"]
        if looks_random(value) and not is_known_form(value) and not is_stand_in(value):
            yield cookie.start("value"), cookie.end("value"), "cookie"
