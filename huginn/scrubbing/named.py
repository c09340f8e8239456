"""Secrets that only the name beside them gives away: text goes in, spans (start, end, kind) come out.

The rule that lives here: in which order the places beside a name are looked at. Which names there are is for `names`,
the places for `assigned`, `beside` and `headers`, the shapes of values for `shapes`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from huginn.scrubbing.assigned import bare, quoted
from huginn.scrubbing.beside import block, element, login, option, pair, sentence
from huginn.scrubbing.headers import find_beside, find_cookies
from huginn.scrubbing.names import FOREIGN, FOREIGN_MENTION, MENTION, Name, Sureness, announces
from huginn.scrubbing.tokens import Span


def find_named(text: str, lowered: str) -> Iterator[Span]:
    """The spans of `text` that are secrets by the name beside them. `lowered` is `text` in small letters."""
    yield from _beside_mentions(text, MENTION.finditer(lowered))
    yield from find_cookies(text, lowered)
    if any(word in lowered for word in FOREIGN):
        yield from _beside_mentions(text, FOREIGN_MENTION.finditer(lowered))


def _beside_mentions(text: str, mentions: Iterator[re.Match[str]]) -> Iterator[Span]:
    done = 0
    for mention in mentions:
        if mention.start() < done:
            continue
        start, end = _name_around(text, mention.start(), mention.end())
        word = text[start:end]
        done = end
        yield from find_beside(text, mention[0], word, end, mention.end())
        kind, sureness = announces(word)
        if sureness:
            yield from _value_beside(Name(text, start, end, kind, sureness))


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


def _value_beside(name: Name) -> Iterator[Span]:
    """The value that belongs to the name, if its place and its shape make it a secret."""
    place = quoted(name) or bare(name) or element(name) or pair(name) or login(name)
    if not place and name.sureness == Sureness.IS:
        place = option(name) or sentence(name)
        if not place:
            yield from ((*line, name.kind) for line in block(name))
    if place:
        yield *place, name.kind
