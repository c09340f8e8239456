"""How everything stands: from the checkpoint store and what is noted of the index on disk alone.

Nothing is fetched, embedded or opened for it, so that it answers at once, also while a refresh is at work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from huginn.chat.notes import RoomNote, RoomNotes, upstream_of
from huginn.checkpoints import Checkpoints, ItemKind, Ledger, SourceState
from huginn.embed import open_embedder
from huginn.errors import Refused, Unavailable
from huginn.forge.discovery import discover, key_of
from huginn.forge.listing import RefusedSource, list_sources
from huginn.index.label import Label
from huginn.index.noted import noted
from huginn.report import Corpus, EmbedderStatus, IndexStatus, ItemStatus, SourceStatus, StatusReport, now
from huginn.settings import Settings

_CLOCKS_DIFFER = timedelta(minutes=5)  # what clocks may be apart, or be put right by, without a word
_CORPORA: tuple[Corpus, ...] = ("forge", "chat")
_KINDS: tuple[ItemKind, ...] = ("skipped", "failed", "words_only", "shortened")


def status(settings: Settings, *, max_age: timedelta | None = None) -> StatusReport:
    """Every repository of the settings, or listed last by a place in them, and every room that has been judged;
    `stale` are those without a success in the last `max_age`.

    A success that lies in the future by more than clocks differ tells nothing (the clock was ahead and has been put
    back): its age stays negative, and counts as too old.

    Raises `Refused` or `Unavailable` when the checkpoint store cannot be read.
    """
    collection = noted(settings)
    index_id = collection.id if collection else None
    checkpoints = Checkpoints(settings.state)
    of_forge, of_chat = (_Noted.read(checkpoints, index_id, corpus, max_age) for corpus in _CORPORA)
    sources = [
        of_forge.source(source.name, refusal=source.reason if isinstance(source, RefusedSource) else None)
        for source in list_sources(settings, discover(settings, is_asking=False))
    ]
    places = map(key_of, range(len(settings.forge.discover)))
    sources += [of_forge.source(key) for key in places if key in of_forge.states]
    sources += _rooms(settings, checkpoints, of_chat)
    cursors = [*of_forge.ledger.cursors.values(), *of_chat.ledger.cursors.values()]
    points = sum(cursor.points or 0 for cursor in cursors) if collection else None
    return StatusReport(
        sources=sources,
        index=IndexStatus(label=collection.label.model_dump() if collection else None, points=points),
        embedder=_embedder(settings, collection.label if collection else None),
    )


def _rooms(settings: Settings, checkpoints: Checkpoints, noted: _Noted) -> list[SourceStatus]:
    """The rooms of the reader: those taken in, then those out of scope, each with its reason."""
    if settings.chat is None or not checkpoints.store.exists():
        return []
    notes, _ = RoomNotes(checkpoints.store, upstream_of(settings.chat), "").all()
    rooms = {room: notes.get(room) for room in sorted(notes.keys() | noted.ledger.cursors.keys() | noted.states.keys())}
    told = [noted.source(room, note=note) for room, note in rooms.items()]
    return sorted(told, key=lambda source: (source.out_of_scope, source.name or source.source))


@dataclass(frozen=True)
class _Noted:
    """What is noted of the sources of one corpus, in the index in use."""

    corpus: Corpus
    ledger: Ledger
    states: Mapping[str, SourceState]
    items: Mapping[ItemKind, Mapping[str, list[ItemStatus]]]
    moment: datetime
    max_age: timedelta | None

    @classmethod
    def read(cls, checkpoints: Checkpoints, index_id: str | None, corpus: Corpus, max_age: timedelta | None) -> _Noted:
        """Read it; nothing, if there is no store yet."""
        ledger, states, items = Ledger({}), dict[str, SourceState](), dict[ItemKind, dict[str, list[ItemStatus]]]()
        if checkpoints.store.exists():
            states = checkpoints.states(corpus)
            if index_id is not None:
                ledger = checkpoints.ledger(index_id, corpus)
                items = {kind: checkpoints.items(index_id, corpus, kind) for kind in _KINDS}
        return cls(corpus, ledger, states, items, now(), max_age)

    def source(self, name: str, *, refusal: str | None = None, note: RoomNote | None = None) -> SourceStatus:
        """How a source stands; `refusal`: the settings that name it are wrong, `note`: the verdict on a room."""
        state, cursor = self.states.get(name, SourceState()), self.ledger.cursor(name)
        out_of_scope = note is not None and note.reason is not None
        if note is not None and out_of_scope:
            refusal, state = _why(note), SourceState()
        age = _age(state.last_success, self.moment)
        is_old = age is None or self.max_age is None or age > self.max_age or age < timedelta(0)
        of_kind = {str(kind): self.items.get(kind, {}).get(name, []) for kind in _KINDS}
        return SourceStatus(
            source=name,
            corpus=self.corpus,
            name=note.alias if note else None,
            out_of_scope=out_of_scope,
            cursor=cursor.position,
            points=cursor.points,
            last_success=state.last_success,
            age_s=None if age is None else round(age.total_seconds(), 1),
            stale=self.max_age is not None and is_old and not out_of_scope,
            failing_since=state.failing_since,
            reason=refusal or state.reason,
            **of_kind,
        )


def _why(note: RoomNote) -> str:
    """Why a room must not be read, as its refresh told it."""
    return ": ".join(part for part in (note.reason, note.detail) if part)


def _age(last_success: datetime | None, moment: datetime) -> timedelta | None:
    if last_success is None:
        return None
    age = moment - last_success
    return timedelta(0) if -_CLOCKS_DIFFER <= age < timedelta(0) else age


def _embedder(settings: Settings, label: Label | None) -> EmbedderStatus | None:
    """Who the model is; of hosts that would have to be asked, what the index says that was made with it."""
    try:
        embedder = open_embedder(settings.embedder)
        if settings.embedder.kind == "ollama":
            identity = label.identity if label else None
            if identity is None or identity.model != embedder.model:
                return None
        else:
            identity = embedder.identity
    except (Unavailable, Refused):
        return None  # `doctor` says why
    return EmbedderStatus(model=identity.model, digest=identity.digest, dimensions=identity.dimensions)
