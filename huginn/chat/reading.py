"""Reads a room's events batch by batch and brings the index to what they say.

Fold -> what must disappear -> days that are touched -> windows -> plan -> write. The bodies of messages are kept
nowhere but in the index: a day that is touched is put together from its stored windows and from what is new. What must
disappear is removed first, from every index on disk, and acknowledged before anything is embedded.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from huginn import scrub
from huginn.apply import Tally, carry_out, rehearse
from huginn.chat.days import Days
from huginn.chat.elsewhere import Elsewhere
from huginn.chat.events import Message, parse, struck
from huginn.chat.fold import Folded, fold, restored, wanted_ids
from huginn.chat.homeserver import Homeserver
from huginn.chat.known import KnownEvents
from huginn.chat.scope import Refusal, Rules, ScopedRoom, sign_in
from huginn.chat.window import Line
from huginn.errors import HuginnError
from huginn.index.port import Place, StoredPoint, Writer
from huginn.parts import Parts

_PAGES_AT_ONCE = 5  # what is held in memory: five pages of 1,000 events, and the days they touch


class SignSeen(Exception):
    """While a room was read, something showed that it must not be."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal


class UnknownRedaction(Exception):
    """Something was redacted of which nothing is known: only reading the room anew tells what it was."""


@dataclass
class RoomTally(Tally):
    """What was done with a room, in numbers. `places` are those that were looked at.

    `rewritten` points went first, for a text that had to disappear, and came again with another.
    """

    messages: int = 0
    edits: int = 0
    redactions: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    places: set[str] = field(default_factory=set)
    rewritten: int = 0

    @property
    def foreign(self) -> int:
        """How many points were there that nobody wants."""
        return self.removed - self.rewritten


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
        self._days = Days(room, parts.index, parts.purged, is_whole=is_whole, ask_again=parts.compare_all)
        self._elsewhere = Elsewhere(room, parts)
        parts.progress.follow(room.id, lambda: self.tally.done)
        self._away: HuginnError | None = None

    def read(self, since: str | None, writer: Writer) -> HuginnError | None:
        """Take in all events after `since`; None: all there are.

        Gives the embedder's error if it was away: what had to be removed is removed then, and the rest is missing.
        Raises `SignSeen`, `UnknownRedaction`, what the homeserver raises, and `Unavailable` when the index fails.
        """
        for events, is_last in self._batches(since):
            self._take(events, writer, is_last=is_last)
            if not self._dry_run:
                self.known.keep()
        if self._is_whole:
            self._remove_unwanted(writer)
        self.tally.chunks, self.tally.places = self._days.chunks, self._days.places
        self.tally.rewritten = self._days.rewritten
        return self._away

    def _batches(self, since: str | None) -> Iterator[tuple[list[object], bool]]:
        """The events in batches, and whether one is the last.

        Each page is checked for a sign that the room is out of scope before any of it is used.
        """
        events: list[object] = []
        pages = 0
        for page in self._homeserver.messages(self._room, since):
            refusal = sign_in(page.events, self._room.id, self._rules)
            if refusal is not None:
                raise SignSeen(refusal)
            if page.events and pages == _PAGES_AT_ONCE:
                yield events, False
                events, pages = [], 0
            events += page.events
            pages += bool(page.events)
        yield events, True

    def _take(self, events: Sequence[object], writer: Writer, *, is_last: bool) -> None:
        parsed = [one for event in events for one in parse(event, self._room.id)]
        known, about = self.known.look_up(wanted_ids(parsed))
        folded = fold(parsed, known, about, is_whole=self._is_whole)
        if folded.rebuild:
            raise UnknownRedaction
        self.known.learn(folded.learned)
        self.tally.done += len(events)
        changed = folded.gone | folded.restore | struck(parsed)
        touched = self._windows_with(changed)
        if not self._dry_run:
            self._remove_everywhere(changed, touched, writer)
        texts = self._texts(folded)
        fresh = {one.id for one in parsed if isinstance(one, Message) and one.id not in known}
        self._count(folded, fresh, len(touched))
        plans = self._days.plans(self._lines(texts), changed, touched, is_last=is_last)
        if self._dry_run:
            rehearse(plans, self._parts, self.tally)
        elif self._away is not None:
            deque(plans, maxlen=0)  # only to find what is there already as it should be
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
        self._elsewhere.remove(events)

    def _texts(self, folded: Folded) -> dict[str, Message]:
        """What each new or changed message says now; for a body that is nowhere any more the homeserver is asked."""
        texts = dict(folded.texts)
        known, _ = self.known.look_up(folded.restore)
        for event_id in sorted(event.id for event in known.values() if event.kind == "message"):
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

    def _remove_unwanted(self, writer: Writer) -> None:
        """After a whole reading: remove the windows that nobody wants, here and in the other indexes."""
        unwanted = list(self._days.unwanted(is_written=self._away is None))
        self.tally.removed += len(unwanted)
        if not self._dry_run:
            writer.remove(unwanted)
            self._elsewhere.remove_vanished(self.known)

    def _count(self, folded: Folded, fresh: Collection[str], removed: int) -> None:
        """Count what came in. `fresh`: the messages that nobody knew, of which those that are purged are left out."""
        covers = partial(self._parts.purged.covers, self._room.id)
        purged = sum(one.id in fresh and covers(one.time) for one in folded.texts.values())
        self.tally.messages += folded.messages - purged
        self.tally.skipped.update({"purged": purged} if purged else {})
        self.tally.edits += folded.edits
        self.tally.redactions += folded.redactions
        self.tally.skipped.update(folded.skipped)
        self.tally.removed += removed
