"""Reads a room's events batch by batch and brings the index to what they say.

Fold -> what must disappear -> days that are touched -> windows -> plan -> write. The bodies of messages are kept
nowhere but in the index: a day that is touched is put together from its stored windows and from what is new. A window
never leaves its day, so nothing else can change. What must disappear is removed first, from every index on disk, and
acknowledged before anything is embedded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from itertools import islice

from huginn import scrub
from huginn.apply import Tally, carry_out, rehearse
from huginn.chat.events import Message, parse
from huginn.chat.fold import Folded, fold, restored, wanted_ids
from huginn.chat.homeserver import Homeserver
from huginn.chat.known import KnownEvents
from huginn.chat.points import points_of
from huginn.chat.scope import Refusal, Rules, ScopedRoom, sign_in
from huginn.chat.stored import day_of, day_of_point, events_of, lines_of
from huginn.chat.window import Line, windows
from huginn.errors import HuginnError
from huginn.index.port import Place, Reader, StoredPoint, Writer
from huginn.parts import Parts
from huginn.plan import Plan, plan

_PAGES_AT_ONCE = 5  # what is held in memory: five pages of 1,000 events, and the days they touch
_WINDOWS_AT_ONCE = 256


class SignSeen(Exception):
    """While a room was read, something showed that it must not be."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal


class UnknownRedaction(Exception):
    """Something was redacted of which nothing is known: only reading the room anew tells what it was."""


@dataclass
class RoomTally(Tally):
    """What was done with a room, in numbers. `places` are those that were looked at."""

    messages: int = 0
    edits: int = 0
    redactions: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    places: set[str] = field(default_factory=set)


class Reading:
    """One reading of a room: whole, from its beginning, or of what came after a token.

    A whole reading finds out which stored points nobody wants any more, and removes them at its end.
    """

    def __init__(
        self, room: ScopedRoom, homeserver: Homeserver, parts: Parts, rules: Rules, *, is_whole: bool, dry_run: bool
    ) -> None:
        self.tally = RoomTally()
        self.known = KnownEvents(parts.checkpoints.store, parts.index.id, room.id, is_whole=is_whole)
        self._room = room
        self._homeserver = homeserver
        self._parts = parts
        self._rules = rules
        self._is_whole = is_whole
        self._dry_run = dry_run
        self._wanted: dict[date, set[str]] = {}
        self._away: HuginnError | None = None

    def read(self, since: str | None, writer: Writer) -> HuginnError | None:
        """Take in all events after `since`; None: all there are.

        Gives the embedder's error if it was away: what had to be removed is removed then, and the rest is missing.
        Raises `SignSeen`, `UnknownRedaction`, what the homeserver raises, and `Unavailable` when the index fails.
        """
        for events in self._batches(since):
            self._take(events, writer)
            if not self._dry_run:
                self.known.keep()
        if self._is_whole:
            self._remove_unwanted(writer)
        return self._away

    def _batches(self, since: str | None) -> Iterator[list[object]]:
        """The events in batches, each checked for a sign that the room is out of scope before any of it is used."""
        events: list[object] = []
        for number, page in enumerate(self._homeserver.messages(self._room, since), 1):
            refusal = sign_in(page.events, self._room.id, self._rules)
            if refusal is not None:
                raise SignSeen(refusal)
            events += page.events
            if number % _PAGES_AT_ONCE == 0:
                yield events
                events = []
        if events:
            yield events

    def _take(self, events: Sequence[object], writer: Writer) -> None:
        parsed = [one for event in events for one in parse(event, self._room.id)]
        known, about = self.known.look_up(wanted_ids(parsed))
        folded = fold(parsed, known, about, is_whole=self._is_whole)
        if folded.rebuild:
            raise UnknownRedaction
        self.known.learn(folded.learned)
        changed = folded.gone | folded.restore
        touched = self._windows_with(changed)
        if not self._dry_run:
            self._remove_everywhere(changed, touched, writer)
        texts = self._texts(folded)
        self._count(folded, len(touched))
        if self._away is not None:
            return
        new = self._lines(texts)
        days = sorted({day_of(line.time) for line in new} | {day_of_point(point) for point in touched})
        plans = (self._plan(day, changed, touched, [line for line in new if day_of(line.time) == day]) for day in days)
        if self._dry_run:
            rehearse(plans, self._parts, self.tally)
        else:
            self._away = carry_out(plans, writer, self._parts, self.tally)

    def _windows_with(self, events: Collection[str]) -> list[StoredPoint]:
        """The stored windows that hold one of these messages."""
        if not events:
            return []
        place = Place(corpus="chat", sources=[self._room.id], events=sorted(events))
        return list(self._parts.index.stored(place))

    def _remove_everywhere(self, events: Collection[str], touched: Sequence[StoredPoint], writer: Writer) -> None:
        """Remove every window that holds one of these messages: in the index, `touched`, and in all others."""
        if touched:
            writer.remove([point.id for point in touched])
            writer.acknowledge()
        if events:
            place = Place(corpus="chat", sources=[self._room.id], events=sorted(events))
            for other in self._parts.others():
                elsewhere = other.writer("chat", self._room.id)
                elsewhere.remove([point.id for point in other.stored(place, ["source"])])
                elsewhere.acknowledge()

    def _texts(self, folded: Folded) -> dict[str, Message]:
        """What each new or changed message says now; for a body that is nowhere any more the homeserver is asked."""
        texts = dict(folded.texts)
        for event_id in sorted(folded.restore):
            original = self._homeserver.event(self._room, event_id)
            edits = self._homeserver.edits(self._room, event_id)
            known, _ = self.known.look_up({event_id, *(str(edit.get("event_id")) for edit in edits)})
            answer = restored(event_id, original, edits, known, self._room.id)
            self.known.learn(answer.learned)
            if answer.message is not None:
                texts[event_id] = answer.message
        return texts

    def _lines(self, texts: Mapping[str, Message]) -> list[Line]:
        lines = []
        for message in texts.values():
            scrubbed = scrub.scrub(message.body)
            self.tally.masked.update(scrubbed.masked)
            lines.append(Line(message.id, message.sender, message.time, scrubbed.clean))
        return lines

    def _plan(self, day: date, changed: Collection[str], touched: Sequence[StoredPoint], new: Iterable[Line]) -> Plan:
        """What one day needs: its stored messages without those that have changed, and the new ones, in windows."""
        gone = {point.id for point in touched}  # gone from the index by now, unless this is a rehearsal
        start = datetime.combine(day, datetime.min.time(), UTC)
        place = Place(corpus="chat", sources=[self._room.id], after=start, before=start + timedelta(days=1))
        stored = [point for point in self._parts.index.stored(place) if point.id not in gone]
        told = [*stored, *(point for point in touched if day_of_point(point) == day)]
        if self._is_whole:  # all else is from before this reading, and will come by again if it is still so
            told = [point for point in told if point.id in self._wanted.get(day, ())]
        lines = {line.event_id: line for line in lines_of(told) if line.event_id not in changed}
        lines.update({line.event_id: line for line in new})
        wanted = points_of(self._room, windows(lines.values()))
        self.tally.chunks += len(wanted)
        self.tally.places |= {point.place for point in wanted} | {str(point.payload["event_id"]) for point in stored}
        difference = plan(wanted, stored)
        if not self._is_whole:
            return difference
        self._wanted[day] = {point.id for point in wanted}
        return replace(difference, remove=frozenset())  # the day may go on in the next batch

    def _remove_unwanted(self, writer: Writer) -> None:
        """After a whole reading: remove the windows that nobody wants, here and in the other indexes."""
        if self._away is None:
            wanted = set[str]().union(*self._wanted.values())
            place = Place(corpus="chat", sources=[self._room.id])
            unwanted = [point.id for point in self._parts.index.stored(place, ["source"]) if point.id not in wanted]
        else:  # what was read is not all written: only what has vanished upstream goes
            unwanted = list(self._vanished(self._parts.index))
        self.tally.removed += len(unwanted)
        if self._dry_run:
            return
        writer.remove(unwanted)
        for other in self._parts.others():
            elsewhere = other.writer("chat", self._room.id)
            elsewhere.remove(list(self._vanished(other)))
            elsewhere.acknowledge()

    def _vanished(self, index: Reader) -> Iterator[str]:
        """The windows of an index that hold a message which the homeserver has not given in this whole reading."""
        stored = index.stored(Place(corpus="chat", sources=[self._room.id]), ["messages"])
        while page := list(islice(stored, _WINDOWS_AT_ONCE)):
            ids = {point.id: {str(event) for event in events_of(point)} for point in page}
            known, _ = self.known.look_up(set[str]().union(*ids.values()))
            there = {event.id for event in known.values() if event.kind == "message"}
            yield from (point_id for point_id, events in ids.items() if not events <= there)

    def _count(self, folded: Folded, removed: int) -> None:
        self.tally.messages += folded.messages
        self.tally.edits += folded.edits
        self.tally.redactions += folded.redactions
        self.tally.skipped.update(folded.skipped)
        self.tally.removed += removed
