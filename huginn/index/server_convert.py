"""From the port's words to those of the Qdrant client, and back: the server's side of `huginn.index.convert`.

The vectors of words are made by the same code as for the embedded engine; only their class differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
from qdrant_client.http import models

from huginn.embed.port import Vector
from huginn.index.convert import MEANING, WORDS, ends_in
from huginn.index.port import Ask, NewPoint, Place
from huginn.index.words import words_of_document, words_of_query

if TYPE_CHECKING:
    from qdrant_edge import SparseVector

INDEXES: dict[str, models.KeywordIndexParams | models.DatetimeIndexParams] = {
    "corpus": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD),
    "source": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD),
    "path": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, prefix=True),
    "text_sha256": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD),
    "embedded_sha256": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD),
    "alias": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD),
    "messages[].event_id": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD),
    "messages[].sender": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD),
    "time": models.DatetimeIndexParams(type=models.DatetimeIndexType.DATETIME),
    "end_time": models.DatetimeIndexParams(type=models.DatetimeIndexType.DATETIME),
}
"""The payload indexes: one for each field that `to_filter` and the facet over sources name."""


def means_nothing(place: Place) -> bool:
    """Whether an empty choice leaves no point: then nobody has to be asked."""
    choices = (
        *(place.sources, place.paths, place.within, place.text_sha256, place.embedded_sha256),
        *(place.ids, place.events, place.senders, place.aliases, place.commits),
    )
    return any(choice is not None and not choice for choice in choices)


def to_filter(place: Place) -> models.Filter | None:
    """The server's filter for a place; None for everywhere."""
    must: list[models.Condition] = []
    if place.corpus:
        must.append(models.FieldCondition(key="corpus", match=models.MatchValue(value=place.corpus)))
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
            must.append(models.FieldCondition(key=key, match=models.MatchAny(any=list(values))))
    if place.within is not None:
        must.append(_within(place.within))
    if place.commits is not None:
        starts = [
            models.FieldCondition(key="commit", match=models.MatchPrefix(prefix=start)) for start in place.commits
        ]
        must.append(models.Filter(should=starts))
    if place.ids is not None:
        must.append(models.HasIdCondition(has_id=list(place.ids)))
    if place.after:
        must.append(models.FieldCondition(key=ends_in(place), range=models.DatetimeRange(gte=_moment(place.after))))
    if place.before:
        must.append(models.FieldCondition(key="time", range=models.DatetimeRange(lt=_moment(place.before))))
    return models.Filter(must=must) if must else None


def to_point(point: NewPoint) -> models.PointStruct:
    """The server's point, with both of its vectors, or with the words alone."""
    vector: dict[str, list[float] | models.SparseVector] = {WORDS: _sparse(words_of_document(point.embedded))}
    if point.vector is not None:
        vector[MEANING] = point.vector.tolist()
    return models.PointStruct(id=point.id, vector=vector, payload=dict(point.payload))


def to_request(ask: Ask, limit: int) -> models.QueryRequest:
    """The server's question for one list, without payloads, exact (no approximate index)."""
    query: list[float] | models.SparseVector
    if isinstance(ask.by, str):
        query, using = _sparse(words_of_query(ask.by)), WORDS
    else:
        query, using = ask.by.tolist(), MEANING
    return models.QueryRequest(
        query=models.NearestQuery(nearest=query),
        using=using,
        filter=to_filter(ask.place),
        params=models.SearchParams(exact=True),
        limit=limit,
        with_payload=False,
        with_vector=False,
    )


def to_vector(record: models.Record) -> Vector | None:
    """The vector of meaning of a record that was asked for with it."""
    if not isinstance(record.vector, dict) or MEANING not in record.vector:
        return None
    return np.asarray(record.vector[MEANING], dtype=np.float32)


def _sparse(words: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=list(words.indices), values=list(words.values))


def _within(folders: Sequence[str]) -> models.Filter:
    names = [folder.rstrip("/") for folder in folders]
    conditions: list[models.Condition] = [models.FieldCondition(key="path", match=models.MatchAny(any=names))]
    conditions += [models.FieldCondition(key="path", match=models.MatchPrefix(prefix=name + "/")) for name in names]
    return models.Filter(should=conditions)


def _moment(moment: datetime | None) -> datetime | None:
    return moment.astimezone(UTC) if moment else None
