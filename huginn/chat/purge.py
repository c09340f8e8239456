"""Purged messages in the indexes: found, removed from all of them, and their surroundings written again.

A window that holds a purged message goes whole, with the intent before, and is acknowledged. What else it held is then
written again from what the window said, without the homeserver: in an index of the rules and the model of now. In one
of others, the next refresh does it when it builds the index anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from huginn.apply import Tally, carry_out
from huginn.chat.days import Days
from huginn.chat.scope import accepted_before
from huginn.chat.stored import lines_of
from huginn.chat.sync import fingerprint_of_texts
from huginn.checkpoints import Advance, Checkpoints, Cursor
from huginn.embed.port import Embedder
from huginn.embed.probe import Witnessed
from huginn.errors import HuginnError, Unavailable
from huginn.index.payload import moment_of
from huginn.index.port import Index, Place, Reader, StoredPoint
from huginn.parts import Parts
from huginn.purges import Purged

_FIELDS = ("messages", "part", "time", "alias")


@dataclass(frozen=True)
class Found:
    """What an index holds of a room: its messages, the covered ones of these, and the windows with one of those."""

    messages: frozenset[str]
    covered: frozenset[str]
    windows: Sequence[StoredPoint]


def find(index: Index, room: str, purged: Purged) -> Found:
    """Look through all windows of a room for messages that `purged` covers."""
    messages, covered = set[str](), set[str]()
    windows = []
    for point in index.stored(Place(corpus="chat", sources=[room]), _FIELDS):
        messages |= {line.event_id for line in lines_of([point])}
        if here := _covered(point, room, purged):
            covered |= here
            windows.append(point)
    return Found(frozenset(messages), frozenset(covered), windows)


def remove_purged(indexes: Iterable[Index], purged: Purged, checkpoints: Checkpoints) -> None:
    """Remove every window with a message that `purged` covers, of any room, from all these indexes."""
    for index in indexes:
        for room in sorted(purged.spans):
            remove(index, room, list(purged_windows(index, room, purged)), checkpoints)


def remove(index: Index, room: str, windows: Sequence[StoredPoint], checkpoints: Checkpoints) -> None:
    """Remove these windows of a room, with the intent before; they are gone, durably, when this returns."""
    if windows:
        checkpoints.begin(index.id, "chat", room)
        writer = index.writer("chat", room)
        writer.remove([window.id for window in windows])
        writer.acknowledge()


def rewrite_marked(indexes: Iterable[Index]) -> int:
    """Write those indexes anew for which a purge has asked for it; gives how many. They are only closed afterwards.

    Raises `Unavailable`; the next run of anything tries again.
    """
    try:
        return sum(index.rewrite_if_marked() for index in indexes)
    except Unavailable as error:
        raise Unavailable(
            error.part,
            f"purged words are in no answer any more, but still in files of the index: {error.reason}",
            next_step=f"{error.next_step or 'see what is wrong'}; the next run then writes them anew",
        ) from None


@dataclass(frozen=True)
class Mending:
    """What the surroundings of purged messages are written again with.

    `upstream` is the fingerprint of homeserver and reader (None: the settings name none), `before` and `after` are what
    the purge record said and says.
    """

    checkpoints: Checkpoints
    upstream: str | None
    before: Purged
    after: Purged

    def is_level(self, index: Index, room: str) -> bool:
        """Whether the room's cursor in this index can be relied on, by the record as it was before."""
        cursor = self._cursor(index, room)
        held = index.count(Place(corpus="chat", sources=[room]))
        return self._rest(cursor, room) is not None and not cursor.is_open and cursor.points == held

    def write_again(
        self, index: Index, room: str, removed: Sequence[StoredPoint], embedder: Embedder, *, was_level: bool
    ) -> tuple[int, HuginnError | None]:
        """Write the days of windows that were removed again; gives how many points that took, and who was away.

        Where all is written and the cursor could be relied on before (see `is_level`), it can be now. Else it stays
        open, and the next refresh compares the whole room.
        """
        intent = self.checkpoints.begin(index.id, "chat", room)
        ledger = self.checkpoints.ledger(index.id, "chat")
        parts = Parts(index, Witnessed(embedder, index), self.checkpoints, ledger, {}, purged=self.after)
        alias = removed[0].payload["alias"] if removed else None
        days = Days(accepted_before(room, str(alias) if alias else None), index, self.after, is_whole=False)
        writer, tally = index.writer("chat", room), Tally()
        away = carry_out(days.plans((), (), removed, is_last=True), writer, parts, tally)
        receipt = writer.acknowledge()
        rest = self._rest(intent, room)
        if away is None and was_level and rest is not None and intent.position and self.upstream:
            told = f"{fingerprint_of_texts(self.upstream, self.after, room)}{rest}"
            self.checkpoints.advance(intent, Advance(intent.position, told, 0, tally.items, days.places), receipt)
        return tally.written, away

    def _cursor(self, index: Index, room: str) -> Cursor:
        return self.checkpoints.ledger(index.id, "chat").cursor(room)

    def _rest(self, cursor: Cursor, room: str) -> str | None:
        """What stands in the cursor's fingerprint behind the first part; None if that is not as it was before."""
        first = fingerprint_of_texts(self.upstream, self.before, room) if self.upstream else None
        told = cursor.fingerprint or ""
        return told.removeprefix(first) if first and told.startswith(first) else None


def _covered(point: StoredPoint, room: str, purged: Purged) -> set[str]:
    return {line.event_id for line in lines_of([point]) if purged.covers(room, line.time)}


def purged_windows(reader: Reader, room: str, purged: Purged) -> Iterator[StoredPoint]:
    """The windows with a covered message, without looking through the whole room."""
    seen = set[str]()
    for start, end in purged.spans.get(room, ()):
        place = Place(corpus="chat", sources=[room], after=max(start, moment_of(0)), before=end)
        for point in reader.stored(place, _FIELDS):
            if point.id not in seen and _covered(point, room, purged):
                seen.add(point.id)
                yield point
