"""Cuts a room's conversation into windows: scrubbed messages in, windows out. Pure.

Messages stand in order of (time, event id). A window ends at a gap of over 30 minutes, at midnight UTC, or when the
next message would take it over 1,200 bytes. So a change reaches the rest of one stretch of one day, never further.
A message that is longer than a window is cut into parts, each a window of its own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import groupby

from huginn.chat.text import is_blank
from huginn.scrub import Clean, scrub

WINDOW_VERSION = "1"
"""To be raised whenever the same messages give other windows or another text of them (`points`)."""

SIZE = 1200
"""The most that a window holds: bytes of UTF-8 of its bodies, joined by line breaks."""
_GAP = 30 * 60 * 1000
_DAY = 24 * 60 * 60 * 1000
_LONGEST_BLANK = 64  # characters: of less than a third of a window, so that no part is blank
_JOINER = "\u200d"
_SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
# Where a long message is cut: behind a line, else a sentence, else a word, the last in the last two thirds of a window.
_ENDS = (re.compile(r"\n+"), re.compile(r"[.!?…][\"')\]]*\s+|[。！？]+"), re.compile(r"\s+"))


@dataclass(frozen=True)
class Line:
    """A scrubbed message. `time` is in milliseconds since 1970."""

    event_id: str
    sender: str
    time: int
    body: Clean


@dataclass(frozen=True)
class Window:
    """Consecutive messages, or one part of a long one: 0, 1, … Joined in order, the parts are the message."""

    lines: tuple[Line, ...]
    part: int = 0


def windows(lines: Iterable[Line]) -> list[Window]:
    """The windows of these messages, in order; each message comes once. Bodies hold more than blanks."""
    made: list[Window] = []
    still_open: list[Line] = []
    size = 0
    for line in sorted(lines, key=lambda line: (line.time, line.event_id)):
        parts = _parts(line)
        added = len(parts[0].body.encode()) + 1  # with the line break in front of it
        is_end = len(parts) > 1 or size + added > SIZE + 1
        if still_open and (is_end or _is_apart(still_open[-1], line)):
            made.append(Window(tuple(still_open)))
            still_open, size = [], 0
        if len(parts) > 1:
            made += [Window((part,), number) for number, part in enumerate(parts)]
        else:
            still_open.append(parts[0])
            size += added
    return [*made, Window(tuple(still_open))] if still_open else made


def _is_apart(before: Line, after: Line) -> bool:
    return after.time - before.time > _GAP or after.time // _DAY != before.time // _DAY


def _parts(line: Line) -> list[Line]:
    """The message itself if it fits into a window, else its parts."""
    if len(line.body.encode()) <= SIZE:
        return [line]
    body = _without_long_blanks(line.body)
    parts = []
    start = 0
    while start < len(body):
        end = _end_of_part(body, start)
        parts.append(replace(line, body=body.part(start, end)))
        start = end
    return parts


def _without_long_blanks(body: Clean) -> Clean:
    """`body` with long runs of blanks shortened and none at its end, so that no part of it is blank."""
    runs = [(blank, "".join(run)) for blank, run in groupby(body, is_blank)]
    if runs[-1][0]:
        runs.pop()
    shortened = "".join(run[:_LONGEST_BLANK] if blank else run for blank, run in runs)
    return body if shortened == body else scrub(shortened).clean


def _end_of_part(text: str, start: int) -> int:
    piece = text[start : start + SIZE].encode()[:SIZE].decode(errors="ignore")
    end = start + len(piece)
    if end == len(text):
        return end
    for ends in _ENDS:
        found = [match.end() for match in ends.finditer(piece, len(piece) // 3)]
        if found:
            return start + found[-1]
    back = end
    while back > end - _LONGEST_BLANK and _belongs_to_the_one_before(text, back):
        back -= 1
    return back if back > end - _LONGEST_BLANK else end


def _belongs_to_the_one_before(text: str, position: int) -> bool:
    """Whether what stands here makes one sign with the character before it: a mark, a tone, a joined emoji."""
    here = text[position]
    joins = here in (_JOINER, *_SKIN_TONES) or text[position - 1] == _JOINER
    return joins or unicodedata.category(here).startswith("M")
