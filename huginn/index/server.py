"""The index on a Qdrant server, through `qdrant-client`. There is no fallback to anything local.

Every question is exact, as the embedded engine's are. An empty choice in a place leaves no point: then the server is
not asked. Writing is in `server_writer`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from qdrant_client.http import models

from huginn.embed.port import Vector
from huginn.embed.probe import Witness
from huginn.errors import Refused, Unavailable
from huginn.index.convert import MEANING
from huginn.index.port import Ask, Found, Payload, Place, StoredPoint
from huginn.index.ranking import ranked_by
from huginn.index.server_connection import Connection
from huginn.index.server_convert import means_nothing, to_filter, to_request, to_vector
from huginn.index.server_writer import ServerWriter
from huginn.index.shelf import Collection
from huginn.report import Corpus

_BATCH = 256
_SOURCES = 1000


class ServerIndex:
    """See `huginn.index.port.Index`."""

    def __init__(self, connection: Connection, collection: Collection, describe: Callable[[Collection], None]) -> None:
        self.id = collection.id
        self.label = collection.label
        self._collection = collection
        self._describe = describe
        self.connection = connection
        self.collection = collection.name
        connection.hold()

    @property
    def witness(self) -> Witness:
        """What is kept beside the label of the model that fills this collection."""
        return self._collection.witness

    def keep_witness(self, witness: Witness) -> None:
        """Keep another one, in the metadata of the collection."""
        self._collection = replace(self._collection, witness=witness)
        self._describe(self._collection)

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
        return ServerWriter(self, self.connection, self.collection, corpus, source)

    def build_graph(self) -> str | None:
        """A server builds its graphs by itself."""
        return None

    def mark_for_rewriting(self) -> None:
        """Refused: a server's files are its own."""
        raise Refused(
            "hard",
            "the index is on a Qdrant server, which alone can write its files anew",
            next_step="purge without it. The words go from the server's files when its optimiser rewrites their "
            "segments; snapshots that were taken before keep them: delete those",
        )

    def rewrite_if_marked(self) -> bool:
        """Nothing is ever marked."""
        return False

    def close(self) -> None:
        """Let go of the connection."""
        self.connection.release()

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
            answers[number] = [Found(str(point.id), _single(point.score)) for point in response.points]
        return answers


def _single(score: float) -> float:
    """A score with the 32 bits that the engine gave it: on its way it is written as the shortest decimal."""
    return float(np.float32(score))
