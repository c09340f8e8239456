"""Clean text -> chunks: pieces of about 600 characters that cite whole lines.

In: the scrubbed text of a file and its path. Out: chunks in the order of lines, each with its first and last line and
the names that enclose it. The rule that lives here: where a text is cut. Every cut is found by looking at its
neighbours only, so that after an edit the cuts fall back into step and the other chunks of the file stay as they are:

1. A definition or heading begins a chunk if the section just before it has at least a quarter of the size. What lies
   between two such cuts is a piece; a piece of up to one and a half sizes is a chunk.
2. In a longer piece a boundary between lines is an anchor, and cut at, if within half the size to both sides no
   boundary is better: before a definition, else after a blank line, else any line; among equals the smallest hash of
   the two lines that meet there. The hash makes unequal what looks equal: a table of 3,000 rows has anchors too.
3. What is still too long between two anchors (little is) is cut again and again at the best boundary of the last two
   thirds of a window of one size, in the same order of merit.

A line that is too long for a chunk is first divided at white space or punctuation.
"""

from __future__ import annotations

import re
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

from huginn.forge.language import language
from huginn.forge.outline import Outline, outline
from huginn.forge.read import has_visible
from huginn.scrub import Clean

CHUNKER_VERSION = "1"

SIZE: Final = 600
LIMIT: Final = 2 * SIZE  # no chunk is longer, whatever the text
_WHOLE: Final = SIZE * 3 // 2  # up to here a piece is not cut
_SECTION: Final = SIZE // 4  # a definition begins a chunk if the section before has this much
_LEAST: Final = SIZE // 3  # how near to the end of a piece it may be cut
_REACH: Final = SIZE // 2  # how far an anchor looks around
_AROUND: Final = 200  # how much text on both sides tells apart what repeats

# A part of an over-long line: up to 300 characters, to white space or punctuation if there is some in the last 200.
_LINE_PART: Final = re.compile(
    r"[\s\S]{100,299}[\s,;.!?)}\]>\u3000-\u3002\uff01\uff0c\uff0e\uff1b\uff1f]|[\s\S]{1,300}"
)

# How good a boundary is to cut at; less is better.
_DEFINITION, _BLANK, _LINE, _BEFORE_BLANK, _WITHIN_LINE = range(5)
_Merit = tuple[int, int, int]


@dataclass(frozen=True)
class Chunk:
    """A piece of a file: its text, its lines (counted from 1), the names around its first line, outermost first."""

    text: Clean
    start_line: int
    end_line: int
    names: tuple[str, ...]


def chunks(text: Clean, path: str) -> list[Chunk]:
    """Cut the text of the file at `path` into chunks. White space alone makes no chunk."""
    plain = str(text)
    lines = plain.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines[:-1]), initial=0))
    file_outline = outline(plain, lines, starts, language(path))
    boundaries = _boundaries(lines, starts)
    sections = [starts[line] for line in file_outline.sections]
    cutter = _Cutter(plain, boundaries, frozenset(sections))
    return [
        chunk
        for start, end in pairwise(_walls(sections, len(plain)))
        for first, last in pairwise(cutter.cuts(start, end))
        if (chunk := _chunk(text, plain, starts, file_outline, first, last)) is not None
    ]


def _boundaries(lines: Sequence[str], starts: list[int]) -> list[int]:
    """Where the text may be cut: the beginnings of lines, and places inside lines that are too long."""
    boundaries: list[int] = []
    done = 0
    for number, line in enumerate(lines):
        if len(line) >= LIMIT:
            boundaries += starts[done : number + 1]
            boundaries += [starts[number] + part.end() for part in _LINE_PART.finditer(line)][:-1]
            done = number + 1
    return boundaries + starts[done:]


def _walls(sections: Sequence[int], end: int) -> list[int]:
    """The cuts before definitions, with the beginning and the end of the text."""
    walls = [0]
    before = 0
    for section in sections:
        if section - before >= _SECTION:
            walls.append(section)
        before = section
    # A crumb at the end of the file stays with what is above it.
    if len(walls) > 1 and end - walls[-1] < _SECTION and end - walls[-2] <= _WHOLE:
        walls.pop()
    return [*walls, end]


class _Cutter:
    """Cuts the pieces of one text."""

    def __init__(self, text: str, boundaries: Sequence[int], definitions: frozenset[int]) -> None:
        self._text = text
        self._boundaries = boundaries
        self._definitions = definitions

    def cuts(self, start: int, end: int) -> list[int]:
        """Where to cut the piece from `start` to `end`, both included."""
        if end - start <= _WHOLE:
            return [start, end]
        places = self._boundaries[bisect_right(self._boundaries, start) : bisect_left(self._boundaries, end)]
        merits = self._merits(places, start, end)
        cuts = [start]
        for anchor in (*_anchors(places, merits, start, end), end):
            while (cut := _next_cut(places, merits, cuts[-1], anchor)) < anchor:
                cuts.append(cut)
            cuts.append(anchor)
        return cuts

    def _merits(self, places: Sequence[int], start: int, end: int) -> list[_Merit]:
        """How good each place is to cut at; less is better.

        Its kind, then the hash of the two lines that meet there, then, where these come again and again, of more.
        """
        lines = [self._text[first:last] for first, last in pairwise([start, *places, end])]
        written = [line.encode() for line in lines]
        merits = [
            (self._kind(place, before, after), zlib.crc32(second, zlib.crc32(first)), 0)
            for place, (before, after), (first, second) in zip(places, pairwise(lines), pairwise(written), strict=True)
        ]
        if len(set(merits)) == len(merits):
            return merits
        return [(kind, hash_, self._hash_around(place)) for place, (kind, hash_, _) in zip(places, merits, strict=True)]

    def _hash_around(self, place: int) -> int:
        return zlib.crc32(self._text[max(0, place - _AROUND) : place + _AROUND].encode())

    def _kind(self, place: int, before: str, after: str) -> int:
        if place in self._definitions:
            return _DEFINITION
        if not before.endswith("\n"):
            return _WITHIN_LINE
        if after.isspace():
            return _BEFORE_BLANK
        return _BLANK if before.isspace() else _LINE


def _anchors(places: Sequence[int], merits: Sequence[_Merit], start: int, end: int) -> Iterator[int]:
    """The places that are best within reach, in order. Among equals it is the last."""
    low, high = bisect_left(places, start + _LEAST), bisect_right(places, end - _LEAST)
    for number in range(low, high):
        kind, lines, around = merits[number]
        before, after = range(number - 1, low - 1, -1), range(number + 1, high)
        if _is_best(places, merits, number, after, (kind, lines, around + 1)) and _is_best(
            places, merits, number, before, (kind, lines, around)
        ):
            yield places[number]


def _is_best(places: Sequence[int], merits: Sequence[_Merit], number: int, others: range, merit: _Merit) -> bool:
    """Whether nothing in reach among the others has less than this merit."""
    for other in others:
        if abs(places[other] - places[number]) > _REACH:
            return True
        if merits[other] < merit:
            return False
    return True


def _next_cut(places: Sequence[int], merits: Sequence[_Merit], start: int, end: int) -> int:
    """Where to cut what lies between two anchors; `end` if it is short enough."""
    if end - start <= _WHOLE:
        return end
    low = bisect_left(places, start + _LEAST)
    high = bisect_right(places, min(start + SIZE, end - _LEAST))
    if low < high:
        return places[min(range(high - 1, low - 1, -1), key=merits.__getitem__)]
    if end - start <= LIMIT:
        return end
    # No good place: the next that leaves a chunk within the limit, else the last one before.
    if low < len(places) and places[low] - start <= LIMIT:
        return places[low]
    return places[low - 1]


def _chunk(text: Clean, plain: str, starts: Sequence[int], names: Outline, first: int, last: int) -> Chunk | None:
    """The chunk between two cuts, without the blank lines at its ends; None if nothing is left to see."""
    piece = plain[first:last]
    if not has_visible(piece):
        return None
    lead = len(piece) - len(piece.lstrip())
    start = max(first, plain.rfind("\n", first, first + lead) + 1)
    end = plain.find("\n", first + len(piece.rstrip()), last)
    end = last if end < 0 else end
    start_line = bisect_right(starts, start)
    return Chunk(text.part(start, end), start_line, bisect_right(starts, end), names.names(start_line - 1))
