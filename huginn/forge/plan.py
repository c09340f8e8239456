"""What must be written so that the index holds what upstream says: wanted and stored points in, a plan out. Pure.

A point is written whole if it is new or its embedded text has changed, its payload alone if only that has changed
(lines that moved, a newer commit), and removed if nobody wants it any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from huginn.index.payload import ForgePayload
from huginn.index.port import Payload, StoredPoint
from huginn.scrub import Clean


@dataclass(frozen=True)
class WantedPoint:
    """A point as it should be: the text that its vectors are made of, and its payload."""

    id: str
    payload: ForgePayload
    embedded: Clean


@dataclass(frozen=True)
class Plan:
    """The difference. `remove` has the path of each id.

    `words_only` are paths of wanted points that are stored without a vector, and stay so.
    """

    write: tuple[WantedPoint, ...]
    update: Mapping[str, Payload]
    remove: Mapping[str, str]
    words_only: frozenset[str]


def plan(wanted: Iterable[WantedPoint], stored: Iterable[StoredPoint]) -> Plan:
    """The plan that turns `stored` into `wanted`; both of the same files."""
    left = {point.id: point for point in stored}
    write: list[WantedPoint] = []
    update: dict[str, Payload] = {}
    words_only: set[str] = set()
    for point in wanted:
        there = left.pop(point.id, None)
        if there is None or there.payload.get("embedded_sha256") != point.payload.embedded_sha256:
            write.append(point)
            continue
        if not there.has_vector:
            words_only.add(point.payload.path)
        payload = point.payload.model_dump(mode="json")
        if there.payload != payload:
            update[point.id] = payload
    return Plan(
        tuple(write), update, {point.id: str(point.payload["path"]) for point in left.values()}, frozenset(words_only)
    )
