"""From the port's words to the embedded engine's classes, which are not those of the Qdrant client."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from qdrant_edge import (
    AcornSearchParams,
    FieldCondition,
    Filter,
    HasIdCondition,
    MatchAny,
    MatchPrefix,
    MatchValue,
    Point,
    Query,
    QueryRequest,
    RangeDateTime,
    SearchParams,
)

from huginn.index.port import Ask, NewPoint, Place
from huginn.index.words import words_of_document, words_of_query

if TYPE_CHECKING:
    from qdrant_edge import ConditionType

MEANING = "meaning"
WORDS = "words"
HNSW_EF = 128
"""How many candidates a search through a graph keeps: measured, see `tests/bench/million.py`."""


def to_filter(place: Place) -> Filter | None:
    """The engine's filter for a place; None for everywhere."""
    must: list[ConditionType] = []
    if place.corpus:
        must.append(FieldCondition("corpus", match=MatchValue(place.corpus)))
    for key, values in (
        ("source", place.sources),
        ("path", place.paths),
        ("text_sha256", place.text_sha256),
        ("embedded_sha256", place.embedded_sha256),
        ("messages[].event_id", place.events),
        ("messages[].sender", place.senders),
        ("alias", place.aliases),
    ):
        if values is not None:
            must.append(FieldCondition(key, match=MatchAny(list(values))))
    if place.within is not None:
        must.append(_within(place.within))
    if place.commits is not None:
        must.append(Filter(should=[FieldCondition("commit", match=MatchPrefix(start)) for start in place.commits]))
    if place.ids is not None:
        must.append(HasIdCondition(set(place.ids)))
    if place.after:
        must.append(FieldCondition(ends_in(place), range=RangeDateTime(gte=_moment(place.after))))
    if place.before:
        must.append(FieldCondition("time", range=RangeDateTime(lt=_moment(place.before))))
    return Filter(must=must) if must else None


def ends_in(place: Place) -> str:
    """The field with the moment that `after` is held against: a window lasts, a chunk has one moment."""
    return "end_time" if place.corpus == "chat" else "time"


def to_point(point: NewPoint) -> Point:
    """The engine's point, with both of its vectors, or with the words alone."""
    vector: dict[str, object] = {WORDS: words_of_document(point.embedded)}
    if point.vector is not None:
        vector[MEANING] = point.vector.tolist()
    return Point(uuid.UUID(point.id), vector, dict(point.payload))  # type: ignore[arg-type] # its stub forgets sparse


def to_request(ask: Ask, limit: int, *, exact: bool) -> QueryRequest:
    """The engine's question for one list, without payloads. `exact`: look at every point, even if there is a graph.

    Through a graph, a filter that leaves less than two fifths of the points (the engine's own bar) would cut it into
    pieces; there the search looks over points that are filtered out to those behind them (ACORN).
    """
    if isinstance(ask.by, str):
        query = Query.Nearest(words_of_query(ask.by), using=WORDS)
    else:
        query = Query.Nearest(ask.by.tolist(), using=MEANING)
    params = SearchParams(exact=exact, hnsw_ef=HNSW_EF, acorn=AcornSearchParams(enable=True))
    return QueryRequest(limit=limit, query=query, filter=to_filter(ask.place), params=params)


def _within(folders: Sequence[str]) -> Filter:
    names = [folder.rstrip("/") for folder in folders]
    files = FieldCondition("path", match=MatchAny(names))
    return Filter(should=[files, *(FieldCondition("path", match=MatchPrefix(name + "/")) for name in names)])


def _moment(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat() if moment else None
