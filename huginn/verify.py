"""Whether index, checkpoint store and settings agree. Reads only; nothing upstream is asked.

It works while a refresh does: a source that is being written, or was written meanwhile, is told as unsettled instead of
wrong. An embedded index is let go of between two sources when a writer wants it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime
from functools import partial
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from huginn.chat.known import KnownEvents
from huginn.chat.notes import RoomNotes, upstream_of
from huginn.chat.purge import purged_windows
from huginn.checkpoints import Checkpoints, Cursor, Ledger
from huginn.forge.found import known_names
from huginn.index.opening import NoIndex, open_shelf
from huginn.index.port import Place, Reader
from huginn.index.shelf import Collection
from huginn.index.turns import Turns, turns_with
from huginn.lock import holder
from huginn.purges import PurgeRecord, standing
from huginn.report import Corpus, now
from huginn.rules import current_label
from huginn.settings import Settings
from huginn.soundness import PointFault, faults_of

FaultKind = (
    PointFault
    | Literal["points_differ", "no_cursor", "open_cursor", "not_in_settings", "no_source"]
    | Literal["refused_room", "redacted", "purged"]
)

_CORPORA: tuple[Corpus, ...] = get_args(Corpus)
_IDS_TOLD = 20
_EVENTS_AT_ONCE = 1000
_WAIT_SECONDS = 30.0


class Fault(BaseModel):
    """What is wrong with a source in an index (`index`: its id): how many points it is about, and the first of them.

    `corpus` and `source` are null for points that belong to none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: FaultKind
    corpus: Corpus | None
    source: str | None
    index: str
    count: int
    ids: list[str] = Field(default_factory=list)
    detail: str | None = None


class VerifyReport(BaseModel):
    """What was found. `refreshing`: who was writing meanwhile; `unsettled`: sources that could not be judged for it.

    `notes`: what is no fault, such as an index that was made by other rules than those of now.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    index: str
    points: int
    sources: int
    started: datetime
    finished: datetime
    refreshing: str | None
    unsettled: list[str]
    notes: list[str]
    faults: list[Fault]


def verify(settings: Settings) -> VerifyReport:
    """Look at every point of the index in use, and at what must be in no other index on disk either.

    Raises `Unavailable` when there is no index, or index or checkpoint store cannot be read.
    """
    started = now()
    shelf = open_shelf(settings)
    current = shelf.current()
    if current is None:
        raise NoIndex
    writer = holder(settings.state)
    look = _Look(settings, current)
    with turns_with(shelf, current, wait=_WAIT_SECONDS) as turns:
        points, sources = look.at_all(turns, is_writing=writer is not None)
    for collection in (current, *shelf.others()):
        with turns_with(shelf, collection, wait=_WAIT_SECONDS) as turns:
            look.faults += turns.ask(look.of_what_must_be_nowhere)
    writer = writer or holder(settings.state)
    unsettled = look.unsettled(is_writing=writer is not None)
    differences = current.label.differences(current_label(settings, current.label.identity))
    return VerifyReport(
        index=current.id,
        points=points,
        sources=sources,
        started=started,
        finished=now(),
        refreshing=writer,
        unsettled=sorted(unsettled),
        notes=[f"it was made by other rules, and the next refresh builds it anew: {each}" for each in differences],
        faults=[fault for fault in look.faults if fault.source not in unsettled],
    )


class _Look:
    """One look at an index. `faults` may be of sources that were written meanwhile: `unsettled` tells which."""

    def __init__(self, settings: Settings, collection: Collection) -> None:
        self.faults: list[Fault] = []
        self._collection = collection
        self._checkpoints = Checkpoints(settings.state)
        self._repositories = known_names(settings)
        self._has_chat = settings.chat is not None
        self._refused = self._refused_rooms(settings)
        self._purged = standing(PurgeRecord(settings.state, self._checkpoints.store).entries())
        self._ledgers = self._read_ledgers()

    def at_all(self, turns: Turns, *, is_writing: bool) -> tuple[int, int]:
        """Look at all sources; gives the numbers of points and of sources."""
        points, held = turns.ask(_numbers)
        strays = points - sum(sum(counts.values()) for counts in held.values())
        if strays and not is_writing:
            self._add("no_source", None, None, strays)
        seen = 0
        for corpus, counts in held.items():
            cursors = self._ledgers[corpus].cursors
            for source in sorted(counts.keys() | cursors.keys()):
                seen += 1
                self._compare(corpus, source, counts.get(source, 0), cursors.get(source))
                if source in counts:
                    self.faults += turns.ask(partial(_of_points, corpus=corpus, source=source))
        return points, seen

    def of_what_must_be_nowhere(self, reader: Reader) -> list[Fault]:
        """Points of rooms that must not be read, and with messages that are known to be redacted or are purged."""
        faults = []
        for room, points in reader.sources("chat").items():
            about = partial(Fault, corpus="chat", source=room, index=reader.id)
            if room in self._refused:
                faults.append(about(kind="refused_room", count=points, detail=self._refused[room]))
            purged = sorted(point.id for point in purged_windows(reader, room, self._purged))
            for kind, ids in (("redacted", self._redacted(reader, room)), ("purged", purged)):
                if ids:
                    faults.append(about(kind=kind, count=len(ids), ids=ids[:_IDS_TOLD]))
        return faults

    def unsettled(self, *, is_writing: bool) -> set[str]:
        """The sources whose cursors have moved since, or are open while somebody writes."""
        moved = set[str]()
        for corpus, ledger in self._read_ledgers().items():
            before = self._ledgers[corpus]
            for source in ledger.cursors.keys() | before.cursors.keys():
                cursor = ledger.cursor(source)
                if cursor != before.cursor(source) or (cursor.is_open and is_writing):
                    moved.add(source)
        return moved

    def _compare(self, corpus: Corpus, source: str, points: int, cursor: Cursor | None) -> None:
        if cursor is None:
            self._add("no_cursor", corpus, source, points)
        elif cursor.is_open:
            self._add("open_cursor", corpus, source, points, "its last run was cut off or failed")
        elif cursor.points != points:
            self._add("points_differ", corpus, source, points, f"its cursor says {cursor.points}")
        if points and not (source in self._repositories if corpus == "forge" else self._has_chat):
            self._add("not_in_settings", corpus, source, points)

    def _redacted(self, reader: Reader, room: str) -> list[str]:
        """The points that hold a message which is known to be redacted."""
        found = set[str]()
        after = ""
        while self._checkpoints.store.exists():
            events = KnownEvents.struck(self._checkpoints.store, room, after=after, limit=_EVENTS_AT_ONCE)
            if not events:
                break
            place = Place(corpus="chat", sources=[room], events=events)
            found |= {point.id for point in reader.stored(place, ["source"])}
            after = events[-1]
        return sorted(found)

    def _add(
        self, kind: FaultKind, corpus: Corpus | None, source: str | None, count: int, detail: str | None = None
    ) -> None:
        index = self._collection.id
        self.faults.append(Fault(kind=kind, corpus=corpus, source=source, index=index, count=count, detail=detail))

    def _read_ledgers(self) -> dict[Corpus, Ledger]:
        if not self._checkpoints.store.exists():
            return {corpus: Ledger({}) for corpus in _CORPORA}
        return {corpus: self._checkpoints.ledger(self._collection.id, corpus) for corpus in _CORPORA}

    def _refused_rooms(self, settings: Settings) -> dict[str, str]:
        if settings.chat is None or not self._checkpoints.store.exists():
            return {}
        notes, _ = RoomNotes(self._checkpoints.store, upstream_of(settings.chat), self._collection.id).all()
        return {room: note.reason for room, note in notes.items() if note.reason is not None}


def _numbers(reader: Reader) -> tuple[int, dict[Corpus, dict[str, int]]]:
    """How many points there are, and how many of each source."""
    return reader.count(Place()), {corpus: reader.sources(corpus) for corpus in _CORPORA}


def _of_points(reader: Reader, *, corpus: Corpus, source: str) -> list[Fault]:
    """What is wrong with the points of a source themselves, by kind."""
    counts, ids = Counter[PointFault](), defaultdict[PointFault, list[str]](list)
    for kind, point_id in faults_of(reader, corpus, source):
        counts[kind] += 1
        if len(ids[kind]) < _IDS_TOLD:
            ids[kind].append(point_id)
    return [
        Fault(kind=kind, corpus=corpus, source=source, index=reader.id, count=count, ids=ids[kind])
        for kind, count in sorted(counts.items())
    ]
