"""Writes the points of one source to a Qdrant server.

Every write waits until the server has applied it, and goes through one leader for each shard, so that a write that is
repeated after a broken connection cannot overtake a later one. Requests are bounded: 256 points, and bytes well below
what a server takes. A point that is too large by itself is told, not raised: all others are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TypeVar

from qdrant_client import QdrantClient
from qdrant_client.http import models

from huginn.errors import Unavailable
from huginn.index.port import RECEIPT_KEY, NewPoint, Payload, Place, Reader, Receipt
from huginn.index.server_connection import Connection
from huginn.index.server_convert import to_point
from huginn.index.server_retry import TooLarge, Written
from huginn.report import Corpus

_BATCH = 256
_MOST_BYTES = 15_000_000
_ORDERING = models.WriteOrdering.MEDIUM

Item = TypeVar("Item")


class ServerWriter:
    """See `huginn.index.port.Writer`."""

    def __init__(self, index: Reader, connection: Connection, collection: str, corpus: Corpus, source: str) -> None:
        self._index = index
        self._connection = connection
        self._collection = collection
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
