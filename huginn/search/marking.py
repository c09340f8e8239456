"""Where the words of a question stand in a text: words that the index takes for equal. For whoever shows hits."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from huginn.forge.header import CAMEL
from huginn.index.words import tokens_of

_WORD = re.compile(r"\w+")
_PART = re.compile(r"[^\W_]+")

Tokens = frozenset[int]
Span = tuple[int, int]


def tokens_asked(texts: Iterable[str]) -> Tokens:
    """What is looked for in `marks`: the tokens of the texts of a question."""
    return frozenset().union(*map(tokens_of, texts))


def marks(text: str, asked: Tokens) -> list[Span]:
    """The start and end of each word of `text` that is asked for, in order; of a name taken apart, of each such part.

    A name is marked as a whole if all its parts are asked for, or the name itself and none of them.
    """
    return [span for word in _WORD.finditer(text) for span in _in_word(word[0], word.start(), asked)] if asked else []


def _in_word(word: str, start: int, asked: Tokens) -> list[Span]:
    if not asked & tokens_of(word):
        return []
    parts = [span for part in _PART.finditer(word) for span in _cut(part)]
    found = [(first, last) for first, last in parts if asked & tokens_of(word[first:last])]
    if not found or found == parts:
        return [(start, start + len(word))]
    return [(start + first, start + last) for first, last in found]


def _cut(part: re.Match[str]) -> list[Span]:
    cuts = (part.start() + place.start() for place in CAMEL.finditer(part[0]))
    return list(pairwise([part.start(), *cuts, part.end()]))
