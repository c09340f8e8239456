"""A long brief -> the texts to ask with, cut by meaning: paragraphs and headings, then sentences, lines, words. Pure.

A brief that fits into one text stays one of the texts as a whole, and its parts stand beside it. A longer one is cut
into parts; where all texts together cannot hold it, each part keeps its beginning, where writers say what it is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from huginn.scrub import Clean
from huginn.search.query import MOST_BYTES

_LEAST = 60  # bytes: a shorter piece, a heading say, goes with what comes after it

# Where a text may be cut, the best places first: blank lines, headings and items; ends of sentences; lines; words.
_CUTS = (
    re.compile(r"\n[^\S\n]*\n\s*|\n(?=[^\S\n]*(?:#{1,6}|[-*+]|\d+[.)])[^\S\n])"),
    re.compile(r"(?<=[.!?…])[\"')\]]*\s+|(?<=[。！？])"),
    re.compile(r"\n"),
    re.compile(r"\s+"),
)


def texts_of(brief: Clean, most: int) -> list[Clean]:
    """Up to `most` texts (1 to 8) of at most 1,000 bytes each, in order, the whole first if it fits."""
    paragraphs = list(_joined(_cut(str(brief), 0), _LEAST))
    if _size(brief.strip()) <= MOST_BYTES:
        parts = _merged(paragraphs, most - 1) if len(paragraphs) > 1 and most > 1 else []
        pieces = [str(brief), *parts]
    else:
        pieces = _merged([piece for each in paragraphs for piece in _fitting(each, 1)], most)
    return [_part(brief, piece) for piece in dict.fromkeys(pieces)]


def _cut(text: str, level: int) -> list[str]:
    """A text at all places of one kind; joined, the pieces are the text. Blank ones go with what is before them."""
    ends = [match.end() for match in _CUTS[level].finditer(text)]
    pieces = [text[start:end] for start, end in pairwise([0, *ends, len(text)])]
    return list(_joined(pieces, 1))


def _joined(pieces: Iterable[str], least: int) -> Iterator[str]:
    """The same pieces, those with less than so many bytes to see in front of the next; the last stays as it is."""
    held = ""
    for piece in pieces:
        held += piece
        if _size(held.strip()) >= least:
            yield held
            held = ""
    if held:
        yield held


def _fitting(text: str, level: int) -> Iterator[str]:
    """A text in pieces that fit, cut at the best places that do it; a word that is too long stays as it is."""
    if _size(text.strip()) <= MOST_BYTES or level == len(_CUTS):
        yield text
        return
    held = ""
    for piece in (fitting for cut in _cut(text, level) for fitting in _fitting(cut, level + 1)):
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
    """The piece as a part of the brief, without blanks around it and, if it is too long, without its end."""
    kept = piece.strip().encode()[:MOST_BYTES].decode(errors="ignore")
    if len(kept) < len(piece.strip()) and len(words := kept.rsplit(maxsplit=1)) > 1:
        kept = words[0]
    start = brief.index(kept)
    return brief.part(start, start + len(kept))


def _size(text: str) -> int:
    return len(text.encode())
