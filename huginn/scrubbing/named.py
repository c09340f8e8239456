"""Secrets that only the name beside them gives away: text goes in, spans (start, end, kind) come out.

The rules that live here: where the value of a name stands (assignments in many languages and settings formats,
options of commands, elements, attributes, blocks, sentences), and how sure its shape must make us there. What a name
announces is for `names`, what a shape means for `shapes`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from huginn.scrubbing.headers import find_beside
from huginn.scrubbing.names import FOREIGN, FOREIGN_MENTION, MENTION, Sureness, announces
from huginn.scrubbing.shapes import decodes_to_login, is_example, is_secret_bareword, is_secret_literal, looks_random
from huginn.scrubbing.tokens import Span

_CLOSE = r"(?P<close>(?:\\{0,3}[\"'`]|[\])}]){0,3})"
_WRAPPERS = (
    r"SecretStr|Secret|String(?:::from)?|Some|str|bytes|SecureString|Password|Buffer\.from|sensitive|pulumi\.secret"
)
_QUOTED = re.compile(
    _CLOSE + r"[ \t]*"
    r"(?:(?P<type>:?[ \t]*[\w.\[\]|<>?*&, ]{1,60}?)[ \t]*(?==))?"  # an annotation, or Go's type
    r"(?P<op>=>|:=|[=!]==?|\?\?=|\|\|=|[?+]=|=|:|：|＝|->|,|\(|<-|)"
    r"[ \t]*(?:\\?\r?\n[ \t]*)?"
    r"(?:(?:new )?(?:" + _WRAPPERS + r")\([ \t]*)?"
    r"(?:[bBrRuUfFlL$@]{1,2}(?=[\"'`]))?"
    r"(?P<quote>\\{1,3}[\"']|\"\"\"|'''|[\"'`]|“|«|„|‘|『|「)"
)
_QUOTE_ENDS = {"“": "”", "«": "»", "„": "“", "‘": "’", "『": "』", "「": "」"}
_BARE_OPERATOR = re.compile(_CLOSE + r"(?P<space>[ \t]*)(?P<op>=>|:=|[?+]?=|:|：|＝|->)[ \t]*(?=[^\s\"'`])")
_BARE_VALUE = re.compile(r"[^\s\"'`<>,;，；。、「」（）]{6,4096}")
_REST_OF_LINE = re.compile(r"(?P<value>[^\s\"'`][^\s]{3,4095}?)[ \t]*(?:[ \t]#[^\n]*)?\r?(?=\n|\Z)")
_SENTENCE = re.compile(
    r"(?:[^\n:：=＝\"'`<>(){}\[\];]{0,40}?"
    r"(?:[:：=＝]|\b(?:is|was|are|ist|lautet|war|est|es|är|to|now|jest|->|→|=>)(?=[ :]):?)|[ ]{0,2}[*_]{1,2}:?)?"
    r"[ \t]*[*_`\"'(]{0,3}(?P<value>[^\s\"'`<>\\，；。、「」（）]{8,4096})"
)
_ELEMENT = re.compile(
    r"[\"']?(?:\s[^<>\n]{0,100})?>\s{0,40}(?:<!\[CDATA\[)?(?P<value>[^<>\s\]]{4,1000})\s{0,40}(?:\]\]>\s{0,40})?</"
)
_PAIR = re.compile(
    r"[\"']?\s{0,40}[,;/]?\s{0,40}(?:-\s{0,40})?(?:\{[^{}]{0,300}?)?[\"']?"
    r"\b(?:value|Value|default|content|secretValue|VALUE)[\"']?\s{0,40}(?:=>|[:=])\s{0,40}"
    r"(?:(?P<quote>[\"'])(?P<quoted>[^\"'\n]{4,1000})(?P=quote)|(?P<value>[^\s\"'`<>,;{}]{6,1000}))"
)
_OPTION = re.compile(r"(?:[ \t]+|=)(?P<value>[^\s\"'`<>;|]{6,1000})")
_LOGIN_BEFORE = re.compile(r"\b(?:login|machine|user|account)\s+\S+\s+$")
_BLOCK = re.compile(
    r"[\"']?[ \t]*:[ \t]*(?:![\w!]+[ \t]+)?[>|][+-]?\d?[ \t]*(?:#[^\n]*)?\r?\n"
    r"(?P<lines>(?P<indent>[ \t]+)[^\n]*(?:\n(?P=indent)[^\n]*|\n(?=[ \t]*\n))*)"
)
_LITERAL_START = re.compile(
    r"[ \t]*(?:(?:export|set|ENV|ARG|env|setx|-e|--env|--build-arg|-\s)[ \t]+|[-#;*/]+[ \t]*|\$env:|[\"'])?",
    re.IGNORECASE,
)
_SCREAMING = re.compile(r"[A-Z][A-Z0-9_]*")
_OTHER_SETTING = re.compile(r"\b(?:user|host|dbname|uid|username|server|port|ansible_\w+)[ ]?=[^=,\s]+[ \t]")


def find_named(text: str, lowered: str) -> Iterator[Span]:
    """The spans of `text` that are secrets by the name beside them. `lowered` is `text` in small letters."""
    yield from _beside_mentions(text, MENTION.finditer(lowered))
    if any(word in lowered for word in FOREIGN):
        yield from _beside_mentions(text, FOREIGN_MENTION.finditer(lowered))


def _beside_mentions(text: str, mentions: Iterator[re.Match[str]]) -> Iterator[Span]:
    done = 0
    for mention in mentions:
        if mention.start() < done:
            continue
        start, end = _name_around(text, mention.start(), mention.end())
        name = text[start:end]
        done = end
        yield from find_beside(text, mention[0], name, end, mention.end())
        kind, sureness = announces(name)
        if sureness:
            yield from _value_beside(text, start, end, kind, sureness)


def _name_around(text: str, start: int, end: int) -> tuple[int, int]:
    """The whole name of which a mention is a part."""
    first, last = start, end
    while first > 0 and start - first < 80 and (text[first - 1].isalnum() or text[first - 1] in "_.-"):
        first -= 1
    while last < len(text) and last - end < 80 and (text[last].isalnum() or text[last] in "_.-"):
        last += 1
    while first < start and text[first] in "-.":
        first += 1
    while last > end and text[last - 1] in "-.":
        last -= 1
    return first, last


def _value_beside(text: str, start: int, end: int, kind: str, sureness: Sureness) -> Iterator[Span]:
    """The value that belongs to the name at `start`:`end`, if its place and its shape make it a secret."""
    place = (
        _quoted(text, end, kind, sureness)
        or _bare(text, start, end, kind, sureness)
        or _element(text, end, sureness)
        or _pair(text, end)
    )
    if not place and sureness == Sureness.IS:
        place = _option(text, start, end, kind) or _sentence(text, end)
        if not place:
            yield from _block(text, end, kind)
    if place:
        yield *place, kind


def _quoted(text: str, end: int, kind: str, sureness: Sureness) -> tuple[int, int] | None:
    found = _QUOTED.match(text, end, end + 400)
    if not found or not _quoted_place(found, text, end):
        return None
    first = found.end()
    last = _closing(text, first, _QUOTE_ENDS.get(found["quote"], found["quote"]))
    value = text[first:last]
    op = found["op"]
    if kind == "credential":
        good = looks_random(value) or decodes_to_login(value)
    elif sureness == Sureness.HOLDS or (op in ("(", ",") and kind != "password"):
        good = looks_random(value) and len(value) >= 12
    elif "==" in op or op == "!=":
        good = is_secret_bareword(value)
    elif kind == "password":
        good = is_secret_literal(value) or (value.isdigit() and len(value) >= 6 and not is_example(value))
    else:
        good = is_secret_literal(value, 8)
    return (first, last) if good else None


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
    """Where a quoted value ends; where it begins if its line has no end of it."""
    line = text.find("\n", first, first + 5000)
    limit = line if line >= 0 else min(len(text), first + 5000)
    last = text.find(quote, first, limit)
    while last > first and len(quote) == 1 and text[last - 1] == "\\":
        last = text.find(quote, last + 1, limit)
    return max(last, first)


def _bare(text: str, start: int, end: int, kind: str, sureness: Sureness) -> tuple[int, int] | None:
    operator = _BARE_OPERATOR.match(text, end, end + 200)
    if not operator:
        return None
    place = _literal_rest(text, start, end, operator)
    if place:
        good = _is_bare_secret(text[slice(*place)], kind, sureness, literal=True)
        if good:
            return place
    found = _BARE_VALUE.match(text, operator.end())
    if not found:
        return None
    last = found.end()
    if text[start - 1 : start] in ("?", "&") and start and "&" in found[0]:  # the query of an address
        last = found.start() + found[0].index("&")
    first, last = _trimmed(text, found.start(), last)
    literal = _is_literal(text, start, end, operator, last)
    return (first, last) if _is_bare_secret(text[first:last], kind, sureness, literal=literal) else None


def _is_bare_secret(value: str, kind: str, sureness: Sureness, *, literal: bool) -> bool:
    if kind == "credential":
        return (looks_random(value) and len(value) >= 16) or decodes_to_login(value)
    if sureness == Sureness.HOLDS:
        return literal and looks_random(value) and len(value) >= 12
    if literal:
        return is_secret_literal(value, 6 if kind == "password" else 8) and not re.search(r"\w\(", value)
    return is_secret_bareword(value)


def _literal_rest(text: str, start: int, end: int, operator: re.Match[str]) -> tuple[int, int] | None:
    """The rest of the line, where a line of a settings file holds a name and its value and nothing else."""
    before = text[max(0, text.rfind("\n", 0, start) + 1, start - 300) : start]
    if not _LITERAL_START.fullmatch(before):
        return None
    if operator["op"] == "=" and operator["space"] and "." not in text[start:end]:
        return None  # `password = password2`: might be code
    found = _REST_OF_LINE.match(text, operator.end())
    if not found or found["value"][-1] in ",;)]}{([\"'":
        return None
    return found.span("value")


def _is_literal(text: str, start: int, end: int, operator: re.Match[str], last: int) -> bool:
    """Whether the value cannot be an expression: shells, connection strings."""
    if operator["op"] != "=" or operator["space"] or operator[0].endswith((" ", "\t")):
        return False
    before = text[max(0, text.rfind("\n", 0, start) + 1, start - 300) : start]
    after = text[last : last + 1]
    if _SCREAMING.fullmatch(text, start, end) or before.rstrip().endswith(("export", "-e", "set", "--env", "--")):
        return after not in ("(", "[", ".")
    return ";" in before or after == ";" or _OTHER_SETTING.search(before) is not None


def _trimmed(text: str, first: int, last: int) -> tuple[int, int]:
    """Without the brackets and marks that belong to the sentence, not to the value."""
    pairs = {")": "(", "]": "[", "}": "{"}
    while last > first and (mark := text[last - 1]) in ")]}.:|\\_*?":
        value = text[first:last]
        if mark in pairs and value.count(pairs[mark]) >= value.count(mark):
            break
        last -= 1
    return first, last


def _element(text: str, end: int, sureness: Sureness) -> tuple[int, int] | None:
    """`<password>value</password>`, `<entry key="password">value</entry>`."""
    if text[end : end + 1] not in (">", '"', "'", " ") or not (found := _ELEMENT.match(text, end)):
        return None
    value = found["value"]
    good = is_secret_literal(value, 4) if sureness == Sureness.IS else looks_random(value)
    return found.span("value") if good else None


def _pair(text: str, end: int) -> tuple[int, int] | None:
    """`name: DB_PASSWORD`, then `value: …`; `variable "password" { default = … }`."""
    if text[end : end + 1] not in ('"', "'", "\n", "\r") or not (found := _PAIR.match(text, end)):
        return None
    if found["quoted"]:
        return found.span("quoted") if is_secret_literal(found["quoted"]) else None
    return found.span("value") if is_secret_bareword(found["value"]) else None


def _option(text: str, start: int, end: int, kind: str) -> tuple[int, int] | None:
    """`--password value`, `ENV PASSWORD value`, `login x password value`, and a line of just name and value."""
    if text[end : end + 1] not in (" ", "\t", "=") or not (found := _OPTION.match(text, end)):
        return None
    line = text[max(0, text.rfind("\n", 0, start) + 1, start - 300) : start]
    certain = line.endswith(("--", " -", "ENV ", "setenv ", "set -x ", "set -gx "))
    if certain or (kind == "password" and _LOGIN_BEFORE.search(text, max(0, start - 200), start)):
        good = is_secret_literal(found["value"])
    else:
        rest = text[found.end() : found.end() + 1]
        good = not line.strip() and rest in ("", "\n", "\r") and is_secret_bareword(found["value"])
    return found.span("value") if good else None


def _sentence(text: str, end: int) -> tuple[int, int] | None:
    """`the password for the door is …`: only what is random through and through."""
    found = _SENTENCE.match(text, end, end + 5000)
    if not found or found.start("value") == end:
        return None
    first, last = _trimmed(text, *found.span("value"))
    while last > first and text[last - 1] in ",;":
        last -= 1
    value = text[first:last]
    if not looks_random(value) or re.search(r"[(){}\[\]=,]", value) or value.startswith("--"):
        return None
    if re.fullmatch(r"[0-9a-fA-F]+", value) and not re.fullmatch(r"\W{1,6}|\s*(?:is|ist|est)\s*:?\s*", text[end:first]):
        return None  # a commit id further on in the sentence
    return first, last


def _block(text: str, end: int, kind: str) -> Iterator[Span]:
    """A YAML block under a secret's name: every line of it, if none holds several words."""
    found = _BLOCK.match(text, end, end + 20_000)
    if not found:
        return
    lines = [line for line in re.finditer(r"[^\n]+", found["lines"]) if line[0].strip()]
    joined = "".join(line[0].strip() for line in lines)
    if any(" " in line[0].strip() for line in lines) or not is_secret_literal(joined):
        return
    for line in lines:
        first = found.start("lines") + line.end() - len(line[0].lstrip())
        yield first, found.start("lines") + line.start() + len(line[0].rstrip()), kind
