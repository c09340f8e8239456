"""Secrets in headers: the place of a telling word goes in, spans (start, end, kind) come out.

The rules that live here: `Authorization` with any scheme, `Bearer …` and `Basic …` anywhere, cookies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from huginn.scrubbing.shapes import decodes_to_login, is_secret_literal, looks_random
from huginn.scrubbing.tokens import Span

_SCHEME_VALUE = re.compile(r"[ \t:\"'=+]{1,6}(?P<value>[A-Za-z0-9._~+/=\-]{8,1024})")
_BASIC_VALUE = re.compile(r"[\"' +]{0,4}(?P<value>[A-Za-z0-9._~+/=\-]{8,1024})")
_AUTHORIZATION = re.compile(
    r"[\"'\])]{0,3}\s{0,4}[:=,]\s{0,4}[\"'`]?"
    r"(?:(?:bearer|basic|token|digest|apikey|api-key|negotiate|splunk|key|bot)[ \t:]+"
    r"(?:[\"'`][ \t]*[+.&][ \t]*[\"'`])?)?[\"'{]?"
    r"(?P<value>[^\s\"'`<>,;]{8,1024})",
    re.IGNORECASE,
)
_COOKIES = re.compile(r"s?[\"'\])]{0,3}(?:\s{0,4}[:=,(]\s{0,4}|[ \t]+)[\"'`]?(?P<pairs>[^\n\"'`]{6,4096})")
_COOKIE = re.compile(r"(?<![^\s;,])[\w.\-]+=(?P<value>[^\s;,\"'\\]{8,1024})")


def find_beside(text: str, word: str, name: str, end: int, word_end: int) -> Iterator[Span]:
    """The secrets of the header that `word` (in small letters), a part of `name`, announces."""
    if word == "bearer":
        yield from _bearer(text, word_end)
    elif word == "basic ":
        yield from _basic(text, word_end)
    elif word == "auth" and name.lower().endswith("authorization"):
        yield from _authorization(text, end)


def find_cookies(text: str, lowered: str) -> Iterator[Span]:
    """The values of the cookies in `Cookie` and `Set-Cookie` lines."""
    mention = lowered.find("cookie")
    while mention >= 0:
        found = _COOKIES.match(text, mention + len("cookie"))
        if found:
            for cookie in _COOKIE.finditer(text, found.start("pairs"), found.end("pairs")):
                if looks_random(cookie["value"]):
                    yield cookie.start("value"), cookie.end("value"), "cookie"
        mention = lowered.find("cookie", found.end() if found else mention + 1)


def _bearer(text: str, end: int) -> Iterator[Span]:
    """A bearer token has no spaces, and is no word of the documentation."""
    if found := _SCHEME_VALUE.match(text, end):
        value = found["value"].rstrip(".")
        if looks_random(value) or ("." not in value and is_secret_literal(value, 8)):
            yield found.start("value"), found.start("value") + len(value), "bearer token"


def _basic(text: str, end: int) -> Iterator[Span]:
    if (found := _BASIC_VALUE.match(text, end)) and decodes_to_login(found["value"].rstrip(".")):
        yield found.start("value"), found.end("value"), "basic auth"


def _authorization(text: str, end: int) -> Iterator[Span]:
    if found := _AUTHORIZATION.match(text, end):
        value = found["value"]
        if looks_random(value) or decodes_to_login(value):
            yield found.start("value"), found.end("value"), "credential"
