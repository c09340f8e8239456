"""How everything stands: from the checkpoint store and what is noted of the index on disk alone.

Nothing is fetched, embedded or opened for it, so that it answers at once, also while a refresh is at work.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from huginn.checkpoints import Checkpoints, ItemKind, Ledger, SourceState
from huginn.embed import open_embedder
from huginn.errors import Refused, Unavailable
from huginn.forge.listing import RefusedSource, list_sources
from huginn.index.label import Label
from huginn.index.noted import noted
from huginn.report import EmbedderStatus, IndexStatus, ItemStatus, SourceStatus, StatusReport, now
from huginn.settings import Settings

_CLOCKS_DIFFER = timedelta(minutes=5)  # what clocks may be apart, or be put right by, without a word
_KINDS: tuple[ItemKind, ...] = ("skipped", "failed", "words_only", "shortened")


def status(settings: Settings, *, max_age: timedelta | None = None) -> StatusReport:
    """Every source of the settings; `stale` are those without a success in the last `max_age`.

    A success that lies in the future by more than clocks differ tells nothing (the clock was ahead and has been put
    back): its age stays negative, and counts as too old.

    Raises `Refused` or `Unavailable` when the checkpoint store cannot be read.
    """
    collection = noted(settings)
    checkpoints = Checkpoints(settings.state)
    ledger, states, items = Ledger({}), dict[str, SourceState](), dict[ItemKind, dict[str, list[ItemStatus]]]()
    if checkpoints.store.exists():
        states = checkpoints.states("forge")
        if collection is not None:
            ledger = checkpoints.ledger(collection.id, "forge")
            items = {kind: checkpoints.items(collection.id, "forge", kind) for kind in _KINDS}
    moment = now()
    sources = []
    for source in list_sources(settings):
        state = states.get(source.name, SourceState())
        refusal = source.reason if isinstance(source, RefusedSource) else None
        sources.append(_source(source.name, state, refusal, ledger, items, moment, max_age))
    points = sum(cursor.points or 0 for cursor in ledger.cursors.values()) if collection else None
    return StatusReport(
        sources=sources,
        index=IndexStatus(label=collection.label.model_dump() if collection else None, points=points),
        embedder=_embedder(settings, collection.label if collection else None),
    )


def _source(
    name: str,
    state: SourceState,
    refusal: str | None,
    ledger: Ledger,
    items: dict[ItemKind, dict[str, list[ItemStatus]]],
    moment: datetime,
    max_age: timedelta | None,
) -> SourceStatus:
    age = _age(state.last_success, moment)
    cursor = ledger.cursor(name)
    of_kind = {kind: items.get(kind, {}).get(name, []) for kind in _KINDS}
    return SourceStatus(
        source=name,
        corpus="forge",
        cursor=cursor.position,
        points=cursor.points,
        last_success=state.last_success,
        age_s=None if age is None else round(age.total_seconds(), 1),
        stale=max_age is not None and (age is None or age > max_age or age < timedelta(0)),
        failing_since=state.failing_since,
        reason=refusal or state.reason,
        skipped=of_kind["skipped"],
        failed=of_kind["failed"],
        words_only=of_kind["words_only"],
        shortened=of_kind["shortened"],
    )


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
