"""Messages in order, across rooms, from the windows that hold them.

The order is (time, room, event id). It is walked in slices of time so narrow that none reaches into more than a few
hundred windows: what a page costs does not grow with the corpus. Windows may be cut anew meanwhile, and their ids
change; a message keeps its place in the order, and is taken from the slice that its own time lies in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby, islice

from huginn.chat.stored import lines_of
from huginn.chat.window import Line
from huginn.index.payload import moment_of
from huginn.index.port import Place, Reader, StoredPoint
from huginn.search.deadline import Deadline

FIRST, END = 0, 253_402_300_800_000
"""All times of messages, in milliseconds since 1970: from the first up to the end of the year 9999."""

MOST_WINDOWS = 256
"""The most that a slice reaches into, unless more of them share one millisecond."""

_DAY = 24 * 60 * 60 * 1000
_FIELDS = ["source", "alias", "part", "messages"]

Position = tuple[int, str, str]
"""A message's place in the order: time in milliseconds, room, event id."""


@dataclass(frozen=True)
class Placed:
    """A message and the room it stands in."""

    room: str
    alias: str | None
    line: Line

    @property
    def position(self) -> Position:
        """Its place in the order."""
        return self.line.time, self.room, self.line.event_id

    @property
    def time(self) -> datetime:
        """When it was sent."""
        return moment_of(self.line.time)


def milliseconds(moment: datetime | None, default: int) -> int:
    """A bound in milliseconds since 1970, rounded up: what is at or after the one is at or after the other."""
    if moment is None:
        return default
    return min(max(-((moment_of(0) - moment) // timedelta(milliseconds=1)), FIRST), END)


def in_order(
    index: Reader, place: Place, low: int, high: int, *, deadline: Deadline, newest_first: bool = False
) -> Iterator[Placed]:
    """The messages in the windows of `place` with `low` <= time < `high`, in order, or from the newest back."""
    for start, end in _slices(index, place, low, high, newest_first=newest_first):
        deadline.require()
        found = placed(index.stored(_between(place, start, end), _FIELDS))
        inside = [message for message in found if start <= message.line.time < end]
        yield from sorted(inside, key=lambda message: message.position, reverse=newest_first)
    deadline.require()


def beside(
    index: Reader,
    first: Position,
    last: Position,
    *,
    before: int,
    after: int,
    within: tuple[int, int] = (FIRST, END),
    deadline: Deadline,
) -> tuple[list[Placed], list[Placed]]:
    """So many messages of the same room before `first` and after `last`, in order, as far as `within` reaches."""
    place = Place(corpus="chat", sources=[first[1]])
    low, high = within
    older = in_order(index, place, low, min(first[0] + 1, high), deadline=deadline, newest_first=True)
    newer = in_order(index, place, max(last[0], low), high, deadline=deadline)
    return (
        [*islice((message for message in older if message.position < first), before)][::-1],
        [*islice((message for message in newer if message.position > last), after)],
    )


def placed(points: Iterable[StoredPoint]) -> list[Placed]:
    """The messages of windows of any rooms, whole."""
    by_room = sorted(points, key=_room)
    messages = []
    for room, windows in groupby(by_room, key=_room):
        of_room = list(windows)
        alias = of_room[0].payload["alias"]
        messages += [Placed(room, None if alias is None else str(alias), line) for line in lines_of(of_room)]
    return messages


def _room(point: StoredPoint) -> str:
    return str(point.payload["source"])


def _slices(index: Reader, place: Place, low: int, high: int, *, newest_first: bool) -> Iterator[tuple[int, int]]:
    """Spans of time that hold all there is, in order. Narrower where much was said, wider where little was."""
    width = _DAY
    while low < high:
        start, end = (max(low, high - width), high) if newest_first else (low, min(low + width, high))
        windows = index.count(_between(place, start, end))
        if windows > MOST_WINDOWS and end - start > 1:
            width = (end - start) // 2
            continue
        if windows:
            yield start, end
        elif not index.count(_between(place, low, high)):
            return
        if windows <= MOST_WINDOWS // 2:
            width *= 2
        low, high = (low, start) if newest_first else (end, high)


def _between(place: Place, start: int, end: int) -> Place:
    return replace(place, after=moment_of(start), before=moment_of(end) if end < END else None)
