"""Secrets that tell by themselves what they are: text goes in, spans (start, end, kind) come out.

The rules that live here: private keys as a whole, tokens with a known beginning (also when they are folded over
several lines), passwords and tokens in addresses, webhook addresses. What needs a name beside it is in `named`;
most providers' tokens are found by the kingfisher library (`scrub`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from huginn.scrubbing.shapes import is_example, is_secret_literal, looks_random

Span = tuple[int, int, str]

_WORD = r"[A-Za-z0-9]"
# No letter or digit in front, save those of an escape: a backslash and an n, %20.
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-F]{2}))"
# literal that must be in the text, kind, beginning, body's characters, length of the body (0: any from 16 on)
_TOKENS: tuple[tuple[str, str, str, str, int], ...] = tuple(
    [(f"gh{letter}_", "github token", f"gh{letter}_", _WORD, 36) for letter in "pousr"]
    + [
        ("github_pat_", "github token", "github_pat_", r"\w", 82),
        ("glpat-", "gitlab token", "glpat-", r"[\w-]", 20),
        ("AKIA", "aws key id", _START + "AKIA", "[A-Z0-9]", 16),
        ("ASIA", "aws key id", _START + "ASIA", "[A-Z0-9]", 16),
        ("AIza", "google api key", "AIza", r"[\w-]", 35),
        ("npm_", "npm token", "npm_", _WORD, 36),
        ("xox", "slack token", "xox[a-z]-", r"[\w-]", 0),
        ("xapp-", "slack token", "xapp-", r"[\w-]", 0),
        ("_live_", "stripe key", "[sr]k_live_", _WORD, 0),
        ("sk-", "model api key", _START + "sk-(?:proj-|ant-|or-|svcacct-|admin-)?", r"[\w-]", 0),
        ("hf_", "model api key", _START + "hf_", _WORD, 34),
        ("syt_", "matrix token", _START + "syt_", r"[\w=/+-]", 0),
        ("syr_", "matrix token", _START + "syr_", r"[\w=/+-]", 0),
        ("mat_", "matrix token", _START + "(?<!_)mat_", r"\w", 0),
        ("mct_", "matrix token", _START + "mct_", r"\w", 0),
        ("mcr_", "matrix token", _START + "mcr_", r"\w", 0),
        ("MDAx", "matrix token", _START + "MDAx", r"[\w-]", 0),
        ("eyJ", "jwt", _START + r"eyJ[\w-]{6,}\.eyJ", r"[\w.-]", 0),
        ("ya29.", "google access token", _START + "ya29\\.", r"[\w-]", 0),
        ("GOCSPX-", "google client secret", "GOCSPX-", r"[\w-]", 28),
        ("whsec_", "webhook secret", "whsec_", r"[\w+/]", 0),
        ("sk_test_", "stripe key", "sk_test_", _WORD, 0),
        ("tskey-", "tailscale key", "tskey-[a-z]+-", r"[\w-]", 0),
        ("NRAK-", "new relic key", "NRAK-", "[A-Z0-9]", 27),
        (":AA", "telegram token", r"(?<!\d)\d{8,10}:AA", r"[\w-]", 33),
        ("pypi-AgE", "package token", "pypi-AgE", r"[\w-]", 0),
    ]
)
_TOKEN_RULES = tuple(
    (literal, kind, re.compile(f"{start}(?P<body>{body}+)=*"), re.compile(f"{body}+"), length)
    for literal, kind, start, body, length in _TOKENS
)
# The end of a line in the middle of a token: closing quote, sign of continuation, indentation, quote or comment mark.
_FOLD = re.compile(r"=?[\"'`]?[ \t]*[+.\\&]?[ \t]*\r?\n[ \t]*(?:[>#*|+.]+[ \t]*)?[\"'`]?(?=[A-Za-z0-9_.+/=-])")
_REST_OF_LINE = re.compile(r"=*[\"'`,;)\]\\+. \t]*\r?(?=\n|$)", re.MULTILINE)
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")

_KEY_BEGIN = re.compile(r"-----\s?BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?\s?-----")
_KEY_END = re.compile(r"-----\s?END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?\s?-----")
_KEY_RUN = re.compile(r"[A-Za-z0-9+/=]{16,}")
_KEY_LIMIT = 20_000
# A key without its END line: one line of the body after the other, with whatever a file puts around it
# (indentation, quotes, line breaks written out as a backslash and an n, diff marks).
_KEY_BODY = re.compile(
    r"(?:[ \t\r]|\\+[rn]|\\?[\"'`,+]|\\(?=\n)|\n[ \t]*(?:[>#*+|-]|//)?){1,40}"
    r"(?P<word>[A-Z][A-Za-z-]{2,20}: [^\n\\\"]{0,200}|[A-Za-z0-9+/]{2,}={0,2})(?=[^A-Za-z0-9]|$)"
)
_KEY_LINE = re.compile(r"[ \t>#*+|\"'`-]*[A-Za-z0-9+/]{16,}={0,2}(?:\\n)?[\"'`,; \t\r+]*")
_PUTTY = re.compile(r"Private-Lines: \d+\r?((?:\n[A-Za-z0-9+/=]{16,}\r?){1,200}(?:\nPrivate-MAC: \w+)?)")
_RECOVERY_KEY = re.compile(
    r"\bEs[1-9A-HJ-NP-Za-km-z]{2}(?:[ ][1-9A-HJ-NP-Za-km-z]{4}){10,11}(?:[ ][1-9A-HJ-NP-Za-km-z]{1,4})?"
)
_SIGNING_KEY = re.compile(r"\bed25519 \w{1,20} ([A-Za-z0-9+/]{43})(?![A-Za-z0-9+/=])")

_ADDRESS_LOGIN = re.compile(
    r"://(?P<user>[^\s/:@\"'`<>\\]{0,200})(?::(?P<password>[^\s/\"'`<>\\]{1,300}))?@(?=[\w\[{$])"
)
_QUERY = re.compile(
    r"[?&;](?:[\w.-]*(?:token|secret|passw(?:or)?d|pwd|api_?key|apikey|access_?key|signature|credential)|sig|key|auth|jwt)"
    r"=(?P<value>[^\s&\"'`<>#;)\]}\\|,]{6,1000})",
    re.IGNORECASE,
)
_HOOK = re.compile(r"https?://[^\s\"'`<>]{0,200}hook[^\s\"'`<>)\]]{10,400}", re.IGNORECASE)
_HOOK_PART = re.compile(r"(?<=[/=])[A-Za-z0-9_\-]{16,}(?![A-Za-z0-9_.\-])")


def find_tokens(text: str) -> Iterator[Span]:
    """The spans of `text` that are secrets by their own form."""
    yield from _private_keys(text)
    yield from _known_beginnings(text)
    if "://" in text:
        yield from _addresses(text)


def _private_keys(text: str) -> Iterator[Span]:
    if "PRIVATE KEY" in text:
        for begin in _KEY_BEGIN.finditer(text):
            yield from _key_from(text, begin)
        for end in _KEY_END.finditer(text):
            yield from _key_before(text, end)
    if "Private-Lines: " in text:
        for lines in _PUTTY.finditer(text):
            yield lines.start(1), lines.end(), "private key"
    if "Es" in text:
        yield from ((m.start(), m.end(), "matrix recovery key") for m in _RECOVERY_KEY.finditer(text))
    if "ed25519 " in text:
        yield from ((m.start(1), m.end(1), "matrix signing key") for m in _SIGNING_KEY.finditer(text))


def _key_from(text: str, begin: re.Match[str]) -> Iterator[Span]:
    """From the BEGIN line to the END line, or over all lines that look like a key's body."""
    end = _KEY_END.search(text, begin.end(), begin.end() + _KEY_LIMIT)
    if end and not _KEY_BEGIN.search(text, begin.end(), end.start()):
        between = re.sub(r"\\+[rn]|[^A-Za-z0-9+/=]", " ", text[begin.end() : end.start()])
        runs = sum(len(run) for run in _KEY_RUN.findall(between))
        if runs and runs * 2 >= len("".join(between.split())):
            yield begin.start(), end.end(), "private key"
            return
    position, weight = begin.end(), 0
    while body := _KEY_BODY.match(text, position):
        word = body["word"]
        if ":" not in word:
            if len(word) < 40 and not (looks_random(word) or word.endswith("=")):
                break
            weight += len(word)
        position = body.end()
        if len(word) < 40 and ":" not in word:
            break  # a shorter line is a key's last one
    if weight >= 16:
        yield begin.start(), position, "private key"


def _key_before(text: str, end: re.Match[str]) -> Iterator[Span]:
    """Lines of a key whose BEGIN line is missing: upwards from the END line."""
    start = text.rfind("\n", 0, end.start()) + 1
    first = start
    while start > 0:
        above = text.rfind("\n", 0, start - 1) + 1
        if not _KEY_LINE.fullmatch(text, above, start - 1):
            break
        start = above
    if start < first:
        yield start, end.end(), "private key"


def _known_beginnings(text: str) -> Iterator[Span]:
    for literal, kind, rule, body, length in _TOKEN_RULES:
        if literal not in text:
            continue
        for found in rule.finditer(text):
            yield from _whole_token(text, found, kind, body, length)
        if kind == "aws key id":
            yield from _secrets_near_key_ids(text, rule)


def _whole_token(text: str, found: re.Match[str], kind: str, body: re.Pattern[str], length: int) -> Iterator[Span]:
    """The token that begins at `found`, with the lines over which it is folded."""
    spans = [(found.start(), found.end())]
    joined = found["body"]
    while not length or len(joined) < length:
        fold = _FOLD.match(text, spans[-1][1])
        more = fold and body.match(text, fold.end())
        if not more or not _REST_OF_LINE.match(text, more.end()):
            break
        if not (looks_random(more[0]) if not length else len(joined) + len(more[0]) <= length + 2):
            break
        spans.append((more.start(), more.end()))
        joined += more[0]
    if len(joined) < (length or 16) - 4 or is_example(joined):
        return
    # A body of plain words is a name that happens to begin like a token.
    if kind == "aws key id" or looks_random(joined) or looks_random(joined[-20:]):
        yield from ((start, end, kind) for start, end in spans)


def _secrets_near_key_ids(text: str, rule: re.Pattern[str]) -> Iterator[Span]:
    """The secret that goes with a cloud key's id has no form of its own: 40 characters close by."""
    for found in rule.finditer(text):
        for near in _AWS_SECRET.finditer(text, max(0, found.start() - 200), found.end() + 300):
            if looks_random(near[0]) and near[0].lower() != near[0]:
                yield near.start(), near.end(), "aws secret key"


def _addresses(text: str) -> Iterator[Span]:
    if "@" in text:
        for found in _ADDRESS_LOGIN.finditer(text):
            user, password = found["user"], found["password"]
            if password is None:
                if len(user) >= (32 if re.fullmatch("[0-9a-f]+", user) else 20) and looks_random(user):
                    yield found.start("user"), found.end("user"), "token in an address"
            elif _is_login_secret(user, password):
                yield found.start("password"), found.end("password"), "password in an address"
                if len(user) >= 20 and looks_random(user):
                    yield found.start("user"), found.end("user"), "token in an address"
    if "=" in text:
        for found in _QUERY.finditer(text):
            if looks_random(found["value"]) or ("pass" in found[0].lower() and is_secret_literal(found["value"])):
                yield found.start("value"), found.end("value"), "token in an address"
    if "hook" in text or "Hook" in text:
        for hook in _HOOK.finditer(text):
            for part in _HOOK_PART.finditer(text, hook.start(), hook.end()):
                if looks_random(part[0]):
                    yield part.start(), part.end(), "webhook address"


def _is_login_secret(user: str, password: str) -> bool:
    """Any password between `user:` and `@` counts, save examples, templates and well-known defaults."""
    if password == user or len(password) < 4 or is_example(password):
        return False
    return not re.fullmatch(r"\d{1,5}|.*[{}\[\]].*|[A-Z_]+", password)
