"""Rooms for tests of reading: messages, cut into windows in any way, and written through the index's port."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from huginn.chat.points import points_of
from huginn.chat.scope import accepted_before
from huginn.chat.window import Line, Window, windows
from huginn.embed.port import Embedder
from huginn.index.payload import moment_of
from huginn.index.port import Index, NewPoint, Place
from huginn.scrub import Clean
from tests.support.clean import clean

START = 1_772_600_400_000  # 2026-03-04T05:00:00Z
MINUTE = 60_000
HERONS, OWLS = "!herons:example.org", "!owls"
ANN, BOB = "@ann:example.org", "@bob:example.org"

Cut = Callable[[Iterable[Line]], list[Window]]


@dataclass(frozen=True)
class Room:
    """A room and what was said in it."""

    id: str
    lines: Sequence[Line]
    alias: str | None = None


def line(number: int, body: str = "", *, minute: float = 0, sender: str = ANN, prefix: str = "$e") -> Line:
    """A message, `minute` minutes after the start."""
    said: Clean = clean(body or f"message {number}")
    return Line(f"{prefix}{number}", sender, START + round(minute * MINUTE), said)


def write_room(index: Index, room: Room, *, cut: Cut = windows, embedder: Embedder | None = None) -> None:
    """Bring the index to these messages, as a refresh does: what is new first, then what is stale goes."""
    wanted = points_of(accepted_before(room.id, room.alias), cut(room.lines))
    vectors = embedder.embed([point.embedded for point in wanted]) if embedder else [None] * len(wanted)
    stored = [point.id for point in index.stored(Place(corpus="chat", sources=[room.id]), ["source"])]
    writer = index.writer("chat", room.id)
    writer.upsert(
        [
            NewPoint(point.id, point.payload.model_dump(mode="json"), point.embedded, vector)
            for point, vector in zip(wanted, vectors, strict=True)
        ]
    )
    writer.remove(set(stored) - {point.id for point in wanted})
    writer.acknowledge()


def in_pieces(size: int) -> Cut:
    """Cut into windows of so many messages, wherever that is."""

    def cut(lines: Iterable[Line]) -> list[Window]:
        ordered = sorted(lines, key=lambda line: (line.time, line.event_id))
        return [Window(tuple(ordered[start : start + size])) for start in range(0, len(ordered), size)]

    return cut


def at(minute: float) -> str:
    """A moment as it is written on the command line."""
    return moment_of(START + round(minute * MINUTE)).isoformat()
