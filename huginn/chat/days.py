"""The days of a room that a reading touches: stored windows and new messages in, plans out.

A window never leaves its UTC day, so a day is all that has to be looked at around a message. The last window of a batch
goes on in the next one: it is held back until then, so that it is not embedded half and then once more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from huginn.chat.points import points_of
from huginn.chat.scope import ScopedRoom
from huginn.chat.stored import day_of, day_of_point, lines_of
from huginn.chat.window import Line, windows
from huginn.index.port import Index, Place, StoredPoint
from huginn.plan import Plan, plan
from huginn.purges import Purged


class Days:
    """The days of one reading. `places` are the first events of all windows that were looked at, `chunks` their number,
    `rewritten` those windows that went first and come again.

    `is_whole`: the room is read from its beginning, so what was stored before counts only as far as it comes again;
    what does not is `unwanted` in the end. A message that the record says is `purged` is in no plan, whoever wants it.
    `ask_again`: see `huginn.plan.plan`.
    """

    def __init__(
        self, room: ScopedRoom, index: Index, purged: Purged, *, is_whole: bool, ask_again: bool = False
    ) -> None:
        self.places: set[str] = set()
        self.chunks = 0
        self.rewritten = 0
        self._room = room
        self._index = index
        self._purged = purged
        self._is_whole = is_whole
        self._ask_again = ask_again
        self._wanted: dict[date, set[str]] = {}
        self._there: dict[date, set[str]] = {}
        self._held: dict[str, Line] = {}
        self._is_new = is_whole and index.count(Place(corpus="chat", sources=[room.id])) == 0

    def plans(
        self, new: Sequence[Line], changed: Collection[str], touched: Sequence[StoredPoint], *, is_last: bool
    ) -> Iterator[Plan]:
        """A plan for each day that `new` messages or `touched` windows lie in.

        `changed` are messages whose text in the index counts no more; the windows that held it, `touched`, are gone
        from the index by now, or will be. `is_last`: no batch comes after this one.
        """
        lines = {event: line for event, line in self._held.items() if event not in changed}
        lines |= {line.event_id: line for line in new}
        self._held = {}
        by_day: dict[date, list[Line]] = {day_of_point(point): [] for point in touched}
        for line in lines.values():
            by_day.setdefault(day_of(line.time), []).append(line)
        for day in sorted(by_day):
            is_held = not is_last and day == max(by_day)
            yield self._plan(day, by_day[day], changed, touched, is_held=is_held)

    def unwanted(self, *, is_written: bool) -> Iterator[str]:
        """After a whole reading: the stored windows that nobody wants.

        If not all is written, only those stay that were there already as they should be: another one may hold the text
        of an edit that was redacted while nobody looked.
        """
        wanted = set[str]().union(*(self._wanted if is_written else self._there).values())
        stored = self._index.stored(Place(corpus="chat", sources=[self._room.id]), ["source"])
        return (point.id for point in stored if point.id not in wanted)

    def _plan(
        self, day: date, new: Sequence[Line], changed: Collection[str], touched: Sequence[StoredPoint], *, is_held: bool
    ) -> Plan:
        gone = {point.id for point in touched}
        start = datetime.combine(day, datetime.min.time(), UTC)
        place = Place(corpus="chat", sources=[self._room.id], after=start, before=start + timedelta(days=1))
        is_empty = self._is_new and day not in self._wanted
        stored = [] if is_empty else [point for point in self._index.stored(place) if point.id not in gone]
        told = [*stored, *(point for point in touched if day_of_point(point) == day)]
        if self._is_whole:  # all else is from before this reading, and will come by again if it is still so
            told = [point for point in told if point.id in self._wanted.get(day, ())]
        lines = {line.event_id: line for line in lines_of(told) if line.event_id not in changed}
        lines |= {line.event_id: line for line in new}
        cut = windows(line for line in lines.values() if not self._purged.covers(self._room.id, line.time))
        wanted = points_of(self._room, cut)
        held = set[str]()
        if is_held and cut and cut[-1].part == 0:  # a long message is cut into parts, and complete
            held = {wanted[-1].id}
            self._held = {line.event_id: line for line in cut[-1].lines}
        self.chunks += len(wanted) - len(held)
        self.places |= {point.place for point in wanted} | {str(point.payload["event_id"]) for point in stored}
        difference = plan(wanted, stored, ask_again=self._ask_again)
        rewritten = (difference.missing & gone) - held
        self.rewritten += len(rewritten)
        difference = replace(difference, missing=difference.missing - rewritten, stale=difference.stale | rewritten)
        if self._is_whole:
            self._wanted[day] = {point.id for point in wanted} - held
            self._there[day] = {point.id for point in wanted} - difference.missing - difference.stale
            difference = replace(difference, remove=frozenset())  # the day may go on in the next batch
        return _without(difference, held)


def _without(difference: Plan, held: Collection[str]) -> Plan:
    """The plan without what is held back."""
    return replace(
        difference,
        write=tuple(point for point in difference.write if point.id not in held),
        keep=tuple(point for point in difference.keep if point.id not in held),
        missing=difference.missing.difference(held),
        stale=difference.stale.difference(held),
        update={point_id: payload for point_id, payload in difference.update.items() if point_id not in held},
    )
