"""The embedded index: the Qdrant engine in this process, one shard on disk, no server.

One process holds a shard at a time (the engine's own file lock, freed by the kernel). The write-ahead log is on: what
a call has returned from survives a kill. The engine raises bare `Exception`s; they become `Unavailable` here, without
their text where they could repeat a payload.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from qdrant_edge import (
    CountRequest,
    EdgeShard,
    FacetRequest,
    QueryBatchRequest,
    Record,
    ScrollRequest,
    UpdateOperation,
)

from huginn.embed.port import Vector
from huginn.embed.probe import Witness
from huginn.errors import Unavailable
from huginn.index import graph, rewriting, shelf
from huginn.index.answering import Answering
from huginn.index.convert import MEANING, WORDS, to_filter, to_point, to_request
from huginn.index.described import describe
from huginn.index.disk import require_space
from huginn.index.engine import engine
from huginn.index.port import RECEIPT_KEY, Ask, Found, NewPoint, Payload, Place, Receipt, StoredPoint
from huginn.index.ranking import ranked_by
from huginn.report import Corpus

if TYPE_CHECKING:
    from qdrant_edge import PointId

_BATCH = 256  # the engine holds the interpreter's lock during a call


class EmbeddedIndex:
    """See `huginn.index.port.Index`."""

    def __init__(self, folder: Path, collection: shelf.Collection, shard: EdgeShard, min_free_bytes: int) -> None:
        self.id = collection.id
        self.label = collection.label
        self._folder = folder
        self._collection = collection
        self._shard = shard
        self._min_free_bytes = min_free_bytes
        self._answering: Answering | None = None
        self._is_outlived = False

    def count(self, place: Place) -> int:
        """How many points are in `place`."""
        return engine(self._shard.count, CountRequest(exact=True, filter=to_filter(place)))

    def sources(self, corpus: Corpus) -> dict[str, int]:
        """Every source that has points, with their number."""
        everything = 1 << 31
        request = FacetRequest("source", limit=everything, exact=True, filter=to_filter(Place(corpus=corpus)))
        return {str(hit.value): hit.count for hit in engine(self._shard.facet, request).hits}

    def stored(
        self, place: Place, fields: Sequence[str] | None = None, *, after: str | None = None
    ) -> Iterator[StoredPoint]:
        """Every point of `place`, in order of id; only those behind `after`."""
        for record in self._scroll(place, fields, vectors=[MEANING] if fields is None else [], start=after):
            if str(record.id) == after:
                continue  # the engine's offset is the first point of a page
            has_vector = isinstance(record.vector, dict) and MEANING in record.vector
            yield StoredPoint(str(record.id), record.payload or {}, has_vector)

    def query(self, asks: Sequence[Ask]) -> list[list[Found]]:
        """One ranked list for each ask: best first, equal scores by id."""
        return ranked_by(self._query, asks)

    def fetch(self, ids: Sequence[str]) -> dict[str, Payload]:
        """The payloads of these points."""
        records = engine(self._shard.retrieve, list(ids), True, False)
        return {str(record.id): record.payload or {} for record in records}

    def vectors(self, embedded_sha256: Sequence[str]) -> dict[str, Vector]:
        """The vectors that are here already for these embedded texts."""
        known: dict[str, Vector] = {}
        for start in range(0, len(embedded_sha256), _BATCH):
            place = Place(embedded_sha256=embedded_sha256[start : start + _BATCH])
            for record in self._scroll(place, ["embedded_sha256"], vectors=[MEANING]):
                if isinstance(record.vector, dict) and MEANING in record.vector and record.payload:
                    vector = np.asarray(record.vector[MEANING], dtype=np.float32)
                    known[str(record.payload["embedded_sha256"])] = vector
        return known

    def writer(self, corpus: Corpus, source: str) -> EmbeddedWriter:
        """Begin to write the points of one source."""
        return EmbeddedWriter(self, corpus, source)

    @property
    def witness(self) -> Witness:
        """What is kept beside the label of the model that fills this collection."""
        return self._collection.witness

    def keep_witness(self, witness: Witness) -> None:
        """Keep another one; it is on disk when this returns."""
        self._collection = replace(self._collection, witness=witness)
        describe(self._folder.parent, self._collection)

    def answer_at(self, path: Path, *, is_writing: bool, hand_over: Callable[[], None] | None = None) -> None:
        """Answer the searches of other processes at this socket, until the index is closed."""
        self._answering = Answering(self, path, is_writing=is_writing, hand_over=hand_over)

    def close(self) -> None:
        """Let go of the shard; it goes if another has taken its place."""
        if self._answering is not None:
            self._answering.close()
        self._shard.close()
        if self._is_outlived:
            shutil.rmtree(self._folder, ignore_errors=True)

    def build_graph(self) -> str | None:
        """Put a copy with a graph in the place of this shard, which answers until it is closed."""
        info = engine(self._shard.info)
        if self._is_outlived or not graph.is_due(self._folder.parent, info.indexed_vectors_count):
            return None
        self.flush()
        shard = graph.Shard(self._folder, info.points_count, self.label.dimensions, self._min_free_bytes)
        self._is_outlived, note = graph.build(shard)
        return note

    def mark_for_rewriting(self) -> None:
        """Note that this shard is to be written anew."""
        rewriting.mark(self._folder.parent)

    def rewrite_if_marked(self) -> bool:
        """Put a shard written anew in the place of this one, which answers until it is closed."""
        if self._is_outlived or not rewriting.is_marked(self._folder.parent):
            return False
        everything = self._scroll(Place(), None, vectors=[MEANING, WORDS])
        points, dimensions = self.count(Place()), self.label.dimensions
        rewriting.rewrite(self._folder.parent, everything, points, dimensions, self._min_free_bytes)
        self._is_outlived = True
        return True

    def _scroll(
        self, place: Place, fields: Sequence[str] | None, *, vectors: Sequence[str] = (), start: str | None = None
    ) -> Iterator[Record]:
        offset: PointId | None = uuid.UUID(start) if start else None
        where = to_filter(place)
        while True:
            request = ScrollRequest(
                offset=offset,
                limit=_BATCH,
                filter=where,
                with_payload=True if fields is None else list(fields),
                with_vector=list(vectors) or False,
            )
            records, offset = engine(self._shard.scroll, request)
            yield from records
            if offset is None:
                return

    def _query(self, asks: Sequence[Ask], limits: Sequence[int]) -> list[list[Found]]:
        exact = engine(self._shard.info).points_count < graph.FROM_POINTS
        requests = [to_request(ask, limit, exact=exact) for ask, limit in zip(asks, limits, strict=True)]
        answers = engine(self._shard.query_batch, QueryBatchRequest(requests))
        return [[Found(str(point.id), point.score) for point in answer] for answer in answers]

    def write(self, *batch: UpdateOperation) -> None:
        """Apply operations on at most 256 points; they are in the write-ahead log when this returns."""
        require_space(self._folder, self._min_free_bytes)
        for operation in batch:
            engine(self._shard.update, operation)

    def flush(self) -> None:
        """Write everything through to the disk."""
        engine(self._shard.flush)


class EmbeddedWriter:
    """See `huginn.index.port.Writer`."""

    def __init__(self, index: EmbeddedIndex, corpus: Corpus, source: str) -> None:
        self._index = index
        self._corpus: Corpus = corpus
        self._source = source
        self._failed = False

    def upsert(self, points: Sequence[NewPoint]) -> dict[str, str]:
        """Write points whole, in batches of 256; nothing is too large for a store in this process."""
        for start in range(0, len(points), _BATCH):
            batch = [to_point(point) for point in points[start : start + _BATCH]]
            self._write(UpdateOperation.upsert_points(batch))
        return {}

    def update(self, payloads: Mapping[str, Payload]) -> dict[str, str]:
        """Replace payloads; vectors stay."""
        left = list(payloads.items())
        for start in range(0, len(left), _BATCH):
            batch = left[start : start + _BATCH]
            self._write(*(UpdateOperation.overwrite_payload([uuid.UUID(key)], dict(payload)) for key, payload in batch))
        return {}

    def remove(self, ids: Collection[str]) -> None:
        """Remove points by id, in batches."""
        left = sorted(ids)
        for start in range(0, len(left), _BATCH):
            batch: list[PointId] = [uuid.UUID(point_id) for point_id in left[start : start + _BATCH]]
            self._write(UpdateOperation.delete_points(batch))

    def acknowledge(self) -> Receipt:
        """Flush, and give the receipt."""
        if self._failed:
            raise Unavailable("index", f"a write to {self._source} has failed before")
        self._index.flush()
        points = self._index.count(Place(corpus=self._corpus, sources=[self._source]))
        return Receipt(self._index.id, self._corpus, self._source, points, RECEIPT_KEY)

    def _write(self, *batch: UpdateOperation) -> None:
        try:
            self._index.write(*batch)
        except BaseException:
            self._failed = True
            raise
