"""What the stand-in server stores and finds: the real engine, one shard for each collection.

So search, filters, IDF and facets mean what they mean on a server. On top of the engine it is as strict as a server in
strict mode: filters and facets need a payload index, a prefix one of that kind; a write without `wait` says only that
it was taken in; numbers go out as a server writes them, 32 bits in their shortest form.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import qdrant_edge as edge
from qdrant_client.http import models


class Refusal(Exception):
    """What a server answers with 4xx."""

    def __init__(self, status: int, reason: str) -> None:
        self.status = status
        self.reason = reason
        super().__init__(reason)


class Collection:
    """One collection: the shard, and what the server keeps beside it."""

    def __init__(self, folder: Path, created: models.CreateCollection) -> None:
        self.created = created
        self.metadata: dict[str, Any] = dict(created.metadata or {})
        self.indexes: dict[str, Any] = {}
        assert isinstance(created.vectors, dict)
        self.folder = folder
        folder.mkdir(parents=True)
        self.shard = edge.EdgeShard.create(
            str(folder),
            edge.EdgeConfig(
                vectors={
                    name: edge.EdgeVectorParams(size=params.size, distance=getattr(edge.Distance, params.distance))
                    for name, params in created.vectors.items()
                },
                sparse_vectors={
                    name: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf if params.modifier == "idf" else None)
                    for name, params in (created.sparse_vectors or {}).items()
                },
            ),
        )

    def reopen(self) -> None:
        self.shard.close()
        self.shard = edge.EdgeShard.load(str(self.folder))

    def info(self) -> models.CollectionInfo:
        created = self.created
        return models.CollectionInfo(
            status=models.CollectionStatus.GREEN,
            optimizer_status=models.OptimizersStatusOneOf.OK,
            segments_count=1,
            points_count=self.shard.count(edge.CountRequest(exact=True)),
            payload_schema={
                name: models.PayloadIndexInfo(data_type=models.PayloadSchemaType(params.type), params=params, points=0)
                for name, params in self.indexes.items()
            },
            config=models.CollectionConfig(
                params=models.CollectionParams(
                    vectors=created.vectors,
                    sparse_vectors=created.sparse_vectors,
                    shard_number=created.shard_number or 1,
                    replication_factor=created.replication_factor or 1,
                    write_consistency_factor=created.write_consistency_factor or 1,
                ),
                hnsw_config=models.HnswConfig(m=16, ef_construct=100, full_scan_threshold=10000),
                optimizer_config=models.OptimizersConfig(
                    deleted_threshold=0.2,
                    vacuum_min_vector_number=1000,
                    default_segment_number=2,
                    flush_interval_sec=5,
                ),
                metadata=self.metadata or None,
            ),
        )

    def add_index(self, asked: models.CreateFieldIndex) -> None:
        params = asked.field_schema
        if isinstance(params, models.KeywordIndexParams):
            engine: Any = edge.KeywordIndexParams(prefix=params.prefix or False)
        elif isinstance(params, models.DatetimeIndexParams):
            engine = edge.PayloadSchemaType.Datetime
        else:
            raise Refusal(400, "this stand-in has indexes of keywords and times alone")
        self._apply(edge.UpdateOperation.create_field_index(asked.field_name, engine))
        self.indexes[asked.field_name] = params

    def upsert(self, points: Sequence[models.PointStruct]) -> None:
        made = []
        for point in points:
            assert isinstance(point.vector, dict)
            vector: dict[str, Any] = {
                name: edge.SparseVector(value.indices, value.values)
                if isinstance(value, models.SparseVector)
                else value
                for name, value in point.vector.items()
            }
            made.append(edge.Point(_id(point.id), vector, point.payload or {}))
        self._apply(edge.UpdateOperation.upsert_points(made))

    def delete(self, ids: Sequence[Any]) -> None:
        self._apply(edge.UpdateOperation.delete_points([_id(point_id) for point_id in ids]))

    def overwrite(self, change: models.SetPayload) -> None:
        ids: list[Any] = [_id(point_id) for point_id in change.points or ()]
        if len(self.shard.retrieve(ids, False, False)) != len(ids):
            raise Refusal(404, "no such point")
        self._apply(edge.UpdateOperation.overwrite_payload(ids, change.payload))

    def retrieve(self, asked: models.PointRequest) -> list[models.Record]:
        records = self.shard.retrieve(
            [_id(point_id) for point_id in asked.ids], _selected(asked.with_payload), asked.with_vector or False
        )
        return [_record(record) for record in records]

    def scroll(self, asked: models.ScrollRequest) -> models.ScrollResult:
        records, following = self.shard.scroll(
            edge.ScrollRequest(
                offset=_id(asked.offset) if asked.offset is not None else None,
                limit=asked.limit or 10,
                filter=self._filter(asked.filter),
                with_payload=_selected(asked.with_payload),
                with_vector=asked.with_vector or False,
            )
        )
        following = str(following) if following is not None else None
        return models.ScrollResult(points=[_record(record) for record in records], next_page_offset=following)

    def count(self, asked: models.CountRequest) -> models.CountResult:
        exact = asked.exact is not False
        return models.CountResult(
            count=self.shard.count(edge.CountRequest(exact=exact, filter=self._filter(asked.filter)))
        )

    def facet(self, asked: models.FacetRequest) -> models.FacetResponse:
        self._require_index(asked.key)
        request = edge.FacetRequest(
            asked.key, limit=asked.limit or 10, exact=asked.exact or False, filter=self._filter(asked.filter)
        )
        hits = self.shard.facet(request).hits
        return models.FacetResponse(hits=[models.FacetValueHit(value=hit.value, count=hit.count) for hit in hits])

    def query(self, searches: Sequence[models.QueryRequest]) -> list[models.QueryResponse]:
        requests = []
        for asked in searches:
            assert isinstance(asked.query, models.NearestQuery)
            nearest: Any = asked.query.nearest
            if isinstance(nearest, models.SparseVector):
                nearest = edge.SparseVector(nearest.indices, nearest.values)
            exact = bool(asked.params and asked.params.exact)
            requests.append(
                edge.QueryRequest(
                    limit=asked.limit or 10,
                    query=edge.Query.Nearest(nearest, using=asked.using),
                    filter=self._filter(asked.filter),
                    params=edge.SearchParams(exact=exact),
                )
            )
        try:
            answers = self.shard.query_batch(edge.QueryBatchRequest(requests))
        except Exception as error:  # the engine has no class of its own
            raise Refusal(400, str(error)) from None
        return [
            models.QueryResponse(
                points=[
                    models.ScoredPoint(id=str(point.id), version=0, score=_shortest(point.score)) for point in answer
                ]
            )
            for answer in answers
        ]

    def _apply(self, operation: edge.UpdateOperation) -> None:
        try:
            self.shard.update(operation)
        except Exception as error:  # the engine has no class of its own
            raise Refusal(400, str(error)) from None

    def _require_index(self, key: str, *, prefix: bool = False) -> None:
        params = self.indexes.get(key)
        if params is None or (prefix and not getattr(params, "prefix", None)):
            raise Refusal(400, f"there is no index for {key}")

    def _filter(self, asked: models.Filter | None) -> edge.Filter | None:
        if asked is None:
            return None
        assert asked.must_not is None
        assert asked.min_should is None
        sides: dict[str, Any] = {
            name: [self._condition(condition) for condition in getattr(asked, name)]
            for name in ("must", "should")
            if getattr(asked, name) is not None
        }
        return edge.Filter(**sides)

    def _condition(self, asked: Any) -> Any:
        if isinstance(asked, models.Filter):
            return self._filter(asked)
        if isinstance(asked, models.HasIdCondition):
            return edge.HasIdCondition({_id(point_id) for point_id in asked.has_id})
        assert isinstance(asked, models.FieldCondition)
        self._require_index(asked.key, prefix=isinstance(asked.match, models.MatchPrefix))
        if isinstance(asked.range, models.DatetimeRange):
            span = {name: moment.isoformat() for name, moment in asked.range if moment is not None}
            return edge.FieldCondition(asked.key, range=edge.RangeDateTime(**span))
        if isinstance(asked.match, models.MatchValue):
            return edge.FieldCondition(asked.key, match=edge.MatchValue(asked.match.value))
        if isinstance(asked.match, models.MatchAny):
            return edge.FieldCondition(asked.key, match=edge.MatchAny(asked.match.any))
        assert isinstance(asked.match, models.MatchPrefix)
        return edge.FieldCondition(asked.key, match=edge.MatchPrefix(asked.match.prefix))


def _id(point_id: Any) -> uuid.UUID:
    return uuid.UUID(str(point_id))


def _selected(with_payload: Any) -> Any:
    return with_payload if isinstance(with_payload, list) else bool(with_payload)


def _record(record: edge.Record) -> models.Record:
    vector: Any = record.vector
    if isinstance(vector, dict):
        vector = {name: [_shortest(number) for number in numbers] for name, numbers in vector.items()}
    return models.Record(id=str(record.id), payload=record.payload, vector=vector)


def _shortest(number: float) -> float:
    return float(str(np.float32(number)))
