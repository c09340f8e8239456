"""The other indexes on disk, which nobody writes to: what must disappear disappears from them too.

One that is replaced goes on answering until the switch, one that was replaced is kept for a while. Each has its known
events: they tell whose text an edit is that comes without its content now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import islice

from huginn.chat.known import KnownEvents
from huginn.chat.scope import ScopedRoom
from huginn.chat.stored import events_of
from huginn.index.port import Index, Place
from huginn.parts import Parts

_WINDOWS_AT_ONCE = 256


class Elsewhere:
    """One room in all indexes but the one that is written to."""

    def __init__(self, room: ScopedRoom, parts: Parts) -> None:
        self._room = room
        self._parts = parts

    def remove(self, events: Collection[str]) -> None:
        """Remove every window with the text of one of these events, be it a message or an edit of one."""
        if not events:
            return
        for other in self._parts.others():
            known, _ = self._known_of(other).look_up(events)
            targets = {event.target for event in known.values() if event.target is not None}
            place = Place(corpus="chat", sources=[self._room.id], events=sorted({*events, *targets}))
            self._remove(other, (point.id for point in other.stored(place, ["source"])))

    def remove_vanished(self, read: KnownEvents) -> None:
        """After a whole reading: remove every window with a message that the homeserver has not given.

        Of an index whose known events are lost all goes: nobody knows which of its texts are those of redacted edits.
        """
        for other in self._parts.others():
            is_known = self._known_of(other).are_there()
            self._remove(other, self._vanished(other, read) if is_known else self._all(other))

    def _known_of(self, other: Index) -> KnownEvents:
        return KnownEvents(self._parts.checkpoints.store, other.id, self._room.id, is_whole=False)

    def _remove(self, other: Index, ids: Iterator[str]) -> None:
        writer = other.writer("chat", self._room.id)
        writer.remove(list(ids))
        writer.acknowledge()

    def _all(self, other: Index) -> Iterator[str]:
        return (point.id for point in other.stored(Place(corpus="chat", sources=[self._room.id]), ["source"]))

    def _vanished(self, other: Index, read: KnownEvents) -> Iterator[str]:
        stored = other.stored(Place(corpus="chat", sources=[self._room.id]), ["messages"])
        while page := list(islice(stored, _WINDOWS_AT_ONCE)):
            events: Mapping[str, set[str]] = {point.id: set(events_of(point)) for point in page}
            found, _ = read.look_up(set[str]().union(*events.values()))
            there = {event.id for event in found.values() if event.kind == "message"}
            yield from (point_id for point_id, ids in events.items() if not ids <= there)
