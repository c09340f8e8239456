"""What must be written so that the index holds what upstream says: wanted and stored points in, a plan out. Pure.

A point is written whole if it is new or its embedded text has changed, its payload alone if only that has changed
(lines that moved, a newer commit), and removed if nobody wants it any more. The same for every corpus.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from huginn.index.port import Payload, StoredPoint
from huginn.scrub import Clean


class PointPayload(Protocol):
    """A payload model of `huginn.index.payload`."""

    @property
    def embedded_sha256(self) -> str:
        """The digest of the text that the point's vectors are made of."""
        ...

    def model_dump(self, *, mode: str) -> dict[str, Any]:
        """The payload as it is stored."""
        ...


@dataclass(frozen=True)
class WantedPoint:
    """A point as it should be: the text that its vectors are made of, its payload, and its place.

    `place` is what reports list it under if something is odd about it: the path of a file, the id of an event.
    """

    id: str
    place: str
    payload: PointPayload
    embedded: Clean


@dataclass(frozen=True)
class Plan:
    """The difference, all of it ids and whole points.

    `keep` are points that are there with the embedded text they should have; `update` has the payloads of those of
    them in which something else has changed, `words_only` the places of those that are stored without a vector, and
    stay so. `remove` goes after the new points are written; `vanished` are those of `remove` that nothing takes the
    place of: they go also when nothing can be embedded. `remove_first` holds text that must disappear: it goes before
    anything of this plan is embedded, whatever happens then. An id in it may be in `write` as well.
    Of the ids in `write`, `missing` are not there, and `stale` are there with another text; the rest are asked of the
    embedder again. `covers`: how many places of the source are level with it, for whoever watches.
    """

    write: tuple[WantedPoint, ...]
    keep: tuple[WantedPoint, ...]
    update: Mapping[str, Payload]
    remove: frozenset[str]
    words_only: frozenset[str]
    vanished: frozenset[str] = frozenset()
    remove_first: frozenset[str] = frozenset()
    missing: frozenset[str] = frozenset()
    stale: frozenset[str] = frozenset()
    covers: int = 0

    def pieces(self, size: int) -> Iterator[Plan]:
        """The same in pieces that write at most `size` points each: what must go first is in the first, all else last.

        So memory does not grow with what one plan writes, and new points still come before stale ones go.
        """
        if len(self.write) <= size:
            yield self
            return
        cuts = [self.write[start : start + size] for start in range(0, len(self.write), size)]
        first = self.remove_first
        for cut in cuts[:-1]:
            yield Plan(cut, (), {}, remove=frozenset(), words_only=frozenset(), remove_first=first)
            first = frozenset()
        yield replace(self, write=cuts[-1], remove_first=first)


def plan(
    wanted: Iterable[WantedPoint],
    stored: Iterable[StoredPoint],
    *,
    remove_first: Collection[str] = (),
    ask_again: bool = False,
) -> Plan:
    """The plan that turns `stored` into `wanted`; both of the same places.

    Stored points in `remove_first` count as not there: what is wanted under their ids is written whole. `ask_again`:
    a point without a vector is written again, in case the embedder takes its text by now.
    """
    left = {point.id: point for point in stored if point.id not in remove_first}
    write: list[WantedPoint] = []
    keep: list[WantedPoint] = []
    update: dict[str, Payload] = {}
    words_only: set[str] = set()
    missing: set[str] = set()
    stale: set[str] = set()
    for point in wanted:
        there = left.pop(point.id, None)
        if there is None:
            missing.add(point.id)
        elif there.payload.get("embedded_sha256") != point.payload.embedded_sha256:
            stale.add(point.id)
        if there is None or point.id in stale or (ask_again and not there.has_vector):
            write.append(point)
            continue
        keep.append(point)
        if not there.has_vector:
            words_only.add(point.place)
        payload = point.payload.model_dump(mode="json")
        if there.payload != payload:
            update[point.id] = payload
    return Plan(
        tuple(write),
        tuple(keep),
        update,
        remove=frozenset(left),
        words_only=frozenset(words_only),
        remove_first=frozenset(remove_first),
        missing=frozenset(missing),
        stale=frozenset(stale),
    )
