"""The index on a Qdrant server, through `qdrant-client`. There is no fallback to anything local.

Every write waits until the server has applied it, and goes through one leader for each shard, so that a write that is
repeated after a broken connection cannot overtake a later one. Requests are bounded: 256 points, and bytes well below
what a server takes. A point that is too large by itself is told, not raised: all others are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TypeVar

from qdrant_client import QdrantClient, models

from huginn.embed.port import Vector
from huginn.errors import Unavailable
from huginn.index.convert import MEANING
from huginn.index.port import RECEIPT_KEY, Ask, Found, NewPoint, Payload, Place, Receipt, StoredPoint
from huginn.index.ranking import ranked_by
from huginn.index.server_collection import Collection as ServerCollection
from huginn.index.server_connection import Connection
from huginn.index.server_convert import means_nothing, to_filter, to_point, to_request, to_vector
from huginn.index.server_retry import TooLarge, Written
from huginn.report import Corpus

_BATCH = 256
_MOST_BYTES = 15_000_000
_SOURCES = 1000
_ORDERING = models.WriteOrdering.MEDIUM

Item = TypeVar("Item")


class ServerIndex:
    """See `huginn.index.port.Index`."""

    def __init__(self, connection: Connection, collection: ServerCollection) -> None:
        self.id = collection.id
        self.label = collection.label
        self.connection = connection
        self.collection = collection.name

    def count(self, place: Place) -> int:
        """How many points are in `place`."""
        if means_nothing(place):
            return 0
        where = to_filter(place)
        return self.connection.ask(lambda client: client.count(self.collection, count_filter=where, exact=True)).count

    def sources(self, corpus: Corpus) -> dict[str, int]:
        """Every source that has points, with their number."""
        where, limit = to_filter(Place(corpus=corpus)), _SOURCES
        while True:
            hits = self._facet(where, limit)
            if len(hits) < limit:
                return {str(hit.value): hit.count for hit in hits if hit.count}
            limit *= 4

    def stored(self, place: Place, fields: Sequence[str] | None = None) -> Iterator[StoredPoint]:
        """Every point of `place`, in order of id."""
        for record in self._scroll(place, fields, with_vector=fields is None):
            yield StoredPoint(str(record.id), record.payload or {}, to_vector(record) is not None)

    def query(self, asks: Sequence[Ask]) -> list[list[Found]]:
        """One ranked list for each ask: best first, equal scores by id."""
        return ranked_by(self._query, asks)

    def fetch(self, ids: Sequence[str]) -> dict[str, Payload]:
        """The payloads of these points."""
        payloads: dict[str, Payload] = {}
        for start in range(0, len(ids), _BATCH):
            batch = ids[start : start + _BATCH]
            payloads |= {str(record.id): record.payload or {} for record in self._retrieve(batch)}
        return payloads

    def vectors(self, embedded_sha256: Sequence[str]) -> dict[str, Vector]:
        """The vectors that are here already for these embedded texts."""
        known: dict[str, Vector] = {}
        for start in range(0, len(embedded_sha256), _BATCH):
            place = Place(embedded_sha256=embedded_sha256[start : start + _BATCH])
            for record in self._scroll(place, ["embedded_sha256"], with_vector=True):
                vector = to_vector(record)
                if vector is not None and record.payload:
                    known[str(record.payload["embedded_sha256"])] = vector
        return known

    def writer(self, corpus: Corpus, source: str) -> ServerWriter:
        """Begin to write the points of one source."""
        return ServerWriter(self, corpus, source)

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def _scroll(self, place: Place, fields: Sequence[str] | None, *, with_vector: bool) -> Iterator[models.Record]:
        if means_nothing(place):
            return
        where, offset = to_filter(place), None
        while True:
            records, offset = self._page(where, fields, with_vector=with_vector, offset=offset)
            yield from records
            if offset is None:
                return

    def _page(
        self,
        where: models.Filter | None,
        fields: Sequence[str] | None,
        *,
        with_vector: bool,
        offset: models.ExtendedPointId | None,
    ) -> tuple[list[models.Record], models.ExtendedPointId | None]:
        return self.connection.ask(
            lambda client: client.scroll(
                self.collection,
                scroll_filter=where,
                limit=_BATCH,
                offset=offset,
                with_payload=True if fields is None else list(fields),
                with_vectors=[MEANING] if with_vector else False,
            )
        )

    def _retrieve(self, ids: Sequence[str]) -> list[models.Record]:
        return self.connection.ask(lambda client: client.retrieve(self.collection, ids, with_payload=True))

    def _facet(self, where: models.Filter | None, limit: int) -> list[models.FacetValueHit]:
        return self.connection.ask(
            lambda client: client.facet(self.collection, "source", facet_filter=where, limit=limit, exact=True)
        ).hits

    def _query(self, asks: Sequence[Ask], limits: Sequence[int]) -> list[list[Found]]:
        """One batch; an ask that can find nothing (an empty choice) is not sent."""
        answers: list[list[Found]] = [[] for _ in asks]
        sent = [number for number, ask in enumerate(asks) if not means_nothing(ask.place)]
        if not sent:
            return answers
        requests = [to_request(asks[number], limits[number]) for number in sent]
        responses = self.connection.ask(lambda client: client.query_batch_points(self.collection, requests))
        if len(responses) != len(sent):
            raise Unavailable("index", f"{self.connection.shown} gave {len(responses)} lists for {len(sent)} questions")
        for number, response in zip(sent, responses, strict=True):
            answers[number] = [Found(str(point.id), point.score) for point in response.points]
        return answers


class ServerWriter:
    """See `huginn.index.port.Writer`."""

    def __init__(self, index: ServerIndex, corpus: Corpus, source: str) -> None:
        self._index = index
        self._connection = index.connection
        self._collection = index.collection
        self._corpus: Corpus = corpus
        self._source = source
        self._failed = False

    def upsert(self, points: Sequence[NewPoint]) -> dict[str, str]:
        """Write points whole, in batches bounded by number and bytes; what cannot be sent is told."""
        unstored: dict[str, str] = {}
        sized: list[tuple[models.PointStruct, int]] = []
        for new in points:
            point = to_point(new)
            try:
                size = len(point.model_dump_json(exclude_none=True, exclude_unset=True).encode())
            except ValueError:  # half a surrogate pair
                unstored[new.id] = "its text cannot be sent to the index"
                continue
            if size > _MOST_BYTES:
                unstored[new.id] = f"{size} bytes are too many for one point of the index"
            else:
                sized.append((point, size))
        for batch in _batches(sized):
            unstored |= self._upsert(batch)
        return unstored

    def update(self, payloads: Mapping[str, Payload]) -> None:
        """Replace payloads; vectors stay."""
        sized: list[tuple[models.UpdateOperation, int]] = []
        for point_id, payload in payloads.items():
            change = models.SetPayload(payload=dict(payload), points=[point_id])
            operation = models.OverwritePayloadOperation(overwrite_payload=change)
            sized.append((operation, len(operation.model_dump_json().encode())))
        for batch in _batches(sized):
            self._update(batch)

    def remove(self, ids: Collection[str]) -> None:
        """Remove points by id, in bounded steps, each with the longer time limit."""
        left = sorted(ids)
        for start in range(0, len(left), _BATCH):
            self._remove(left[start : start + _BATCH])

    def acknowledge(self) -> Receipt:
        """Give the receipt: every write has been applied when its call returned."""
        if self._failed:
            raise Unavailable("index", f"a write to {self._source} has failed before")
        points = self._index.count(Place(corpus=self._corpus, sources=[self._source]))
        return Receipt(self._index.id, self._corpus, self._source, points, RECEIPT_KEY)

    def _upsert(self, batch: list[models.PointStruct]) -> dict[str, str]:
        """Write one batch; a server that takes less than we send at most is given halves."""
        try:
            self._write(lambda client: client.upsert(self._collection, batch, wait=True, ordering=_ORDERING))
        except TooLarge:
            if len(batch) == 1:
                return {str(batch[0].id): "the index's server takes no point of that size"}
            middle = len(batch) // 2
            return self._upsert(batch[:middle]) | self._upsert(batch[middle:])
        return {}

    def _update(self, batch: list[models.UpdateOperation]) -> None:
        self._write(lambda client: client.batch_update_points(self._collection, batch, wait=True, ordering=_ORDERING))

    def _remove(self, ids: list[str]) -> None:
        gone = models.PointIdsList(points=list(ids))
        self._write(
            lambda client: client.delete(
                self._collection, gone, wait=True, ordering=_ORDERING, timeout=self._connection.deletion_timeout
            )
        )

    def _write(self, request: Callable[[QdrantClient], Written]) -> None:
        try:
            self._connection.write(request)
        except TooLarge:
            raise  # nothing was written, and the caller says what becomes of it
        except BaseException:
            self._failed = True
            raise


def _batches(sized: Sequence[tuple[Item, int]]) -> Iterator[list[Item]]:
    """Groups of at most 256, and of at most so many bytes that a request stays well below what a server takes."""
    batch: list[Item] = []
    total = 0
    for item, size in sized:
        if batch and (len(batch) == _BATCH or total + size + 1 > _MOST_BYTES):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += size + 1
    if batch:
        yield batch
