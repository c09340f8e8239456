"""Writes the points of one source to a Qdrant server.

Every write waits until the server has applied it, and goes through one leader for each shard, so that a write that is
repeated after a broken connection cannot overtake a later one. Requests are bounded: 256 points, and bytes well below
what a server takes. A point that is too large by itself is told, not raised: all others are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TypeVar

from pydantic import BaseModel
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

Item = TypeVar("Item", bound=BaseModel)
Entry = TypeVar("Entry")


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
        """Write points whole; what cannot be sent is told."""
        return self._send({point.id: to_point(point) for point in points}, self._upsert)

    def update(self, payloads: Mapping[str, Payload]) -> dict[str, str]:
        """Replace payloads, vectors stay; what cannot be sent is told."""
        return self._send({point_id: _overwriting(point_id, new) for point_id, new in payloads.items()}, self._update)

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

    def _send(self, items: Mapping[str, Item], write: Callable[[list[Item]], None]) -> dict[str, str]:
        """Write what is there for each point, in batches bounded by number and bytes; gives what cannot be sent."""
        unstored: dict[str, str] = {}
        sized: list[tuple[tuple[str, Item], int]] = []
        for point_id, item in items.items():
            try:
                size = len(item.model_dump_json(exclude_none=True, exclude_unset=True).encode())
            except ValueError:  # half a surrogate pair
                unstored[point_id] = "its text cannot be sent to the index"
                continue
            if size > _MOST_BYTES:
                unstored[point_id] = f"{size} bytes are too many for one point of the index"
            else:
                sized.append(((point_id, item), size))
        for batch in _batches(sized):
            unstored |= _halved(batch, write)
        return unstored

    def _upsert(self, batch: list[models.PointStruct]) -> None:
        self._write(lambda client: client.upsert(self._collection, batch, wait=True, ordering=_ORDERING))

    def _update(self, batch: Sequence[models.UpdateOperation]) -> None:
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


def _overwriting(point_id: str, payload: Payload) -> models.OverwritePayloadOperation:
    change = models.SetPayload(payload=dict(payload), points=[point_id])
    return models.OverwritePayloadOperation(overwrite_payload=change)


def _halved(batch: list[tuple[str, Item]], write: Callable[[list[Item]], None]) -> dict[str, str]:
    """Write one batch; a server that takes less than we send at most is given halves. Gives what it does not take."""
    try:
        write([item for _, item in batch])
    except TooLarge:
        if len(batch) == 1:
            return {batch[0][0]: "the index's server takes no point of that size"}
        middle = len(batch) // 2
        return _halved(batch[:middle], write) | _halved(batch[middle:], write)
    return {}


def _batches(sized: Sequence[tuple[Entry, int]]) -> Iterator[list[Entry]]:
    """Groups of at most 256, and of at most so many bytes that a request stays well below what a server takes."""
    batch: list[Entry] = []
    total = 0
    for entry, size in sized:
        if batch and (len(batch) == _BATCH or total + size + 1 > _MOST_BYTES):
            yield batch
            batch, total = [], 0
        batch.append(entry)
        total += size + 1
    if batch:
        yield batch
