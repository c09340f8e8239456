"""A long brief -> the texts to ask with, cut by meaning: paragraphs and headings, then sentences, lines, words. Pure.

Its title, the first thing that is said, is a text by itself, beside the whole. A brief that is too long for one text
is cut into as few parts as may be; where all texts together cannot hold it, each part keeps its beginning. Measured on
899 commit messages (docs/relevance.md): smaller parts than that are worse, each counts as much as the whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from huginn.scrub import Clean
from huginn.search.query import MOST_BYTES
from huginn.search.question import words_of

_TITLE = 200  # bytes: a longer first paragraph is no title, but its first sentence may be one

# Where a text may be cut, the best places first: blank lines, headings and items; ends of sentences; lines; words.
_PARAGRAPHS, _SENTENCES, *_ = _CUTS = (
    re.compile(r"\n[^\S\n]*\n\s*|\n(?=[^\S\n]*(?:#{1,6}|[-*+]|\d+[.)])[^\S\n])"),
    re.compile(r"(?<=[.!?…])[\"')\]]*\s+|(?<=[。！？])"),
    re.compile(r"\n"),
    re.compile(r"\s+"),
)


def texts_of(brief: Clean, most: int) -> list[Clean]:
    """Up to `most` texts (1 to 8) of at most 1,000 bytes each; the whole is one of them if it fits."""
    parts = list(_fitting(brief.strip(), 0))
    title = _title(brief.strip()) if most > 1 else ""
    pieces = [title, *_merged(parts, most - 1)] if title else _merged(parts, most)
    return list(dict.fromkeys(_part(brief, piece.strip()) for piece in pieces))


def _title(text: str) -> str:
    """The first paragraph or, if it is long, its first sentence; nothing where that is long too, or says nothing."""
    for cut in (_PARAGRAPHS, _SENTENCES):
        first = cut.split(text, maxsplit=1)[0]
        if _size(first) <= _TITLE:
            return first if len(words_of(first)) > 1 else ""
    return ""


def _fitting(text: str, level: int) -> Iterator[str]:
    """A text in pieces that fit, cut at the best places that do it; a word that is too long stays as it is."""
    if _size(text.strip()) <= MOST_BYTES or level == len(_CUTS):
        yield text
        return
    ends = [match.end() for match in _CUTS[level].finditer(text)]
    cuts = (text[start:end] for start, end in pairwise([0, *ends, len(text)]))
    held = ""
    for piece in (fitting for cut in cuts for fitting in _fitting(cut, level + 1)):
        if held and _size((held + piece).strip()) > MOST_BYTES:
            yield held
            held = ""
        held += piece
    yield held


def _merged(pieces: list[str], most: int) -> list[str]:
    """At most so many: the two neighbours that are shortest together are joined, again and again."""
    pieces = list(pieces)
    while len(pieces) > most:
        first = min(range(len(pieces) - 1), key=lambda number: len(pieces[number]) + len(pieces[number + 1]))
        pieces[first : first + 2] = [pieces[first] + pieces[first + 1]]
    return [piece for piece in pieces if piece.strip()]


def _part(brief: Clean, piece: str) -> Clean:
    """The piece as a part of the brief; without its end, if it is too long for a text."""
    kept = piece.encode()[:MOST_BYTES].decode(errors="ignore")
    if len(kept) < len(piece):
        kept = kept.rsplit(maxsplit=1)[0]
    start = brief.index(kept)
    return brief.part(start, start + len(kept))


def _size(text: str) -> int:
    return len(text.encode())
