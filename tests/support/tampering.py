"""Makes an index drift by hand, through its own port: as a restored backup, a defect or a stranger would leave it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from huginn.index.opening import open_shelf
from huginn.index.port import Index, NewPoint, Place, StoredPoint
from huginn.report import Corpus
from huginn.scrub import scrub
from tests.support.workspace import Workspace


@contextmanager
def opened(workspace: Workspace) -> Iterator[Index]:
    """The index in use, for writing."""
    shelf = open_shelf(workspace.settings)
    collection = shelf.current()
    assert collection is not None
    index = shelf.open(collection, wait=5)
    try:
        yield index
    finally:
        index.close()


def points_of(workspace: Workspace, source: str) -> list[StoredPoint]:
    """The stored points of a source, in order of id."""
    with workspace.index() as index:
        return list(index.stored(Place(sources=[source])))


def remove(workspace: Workspace, *points: StoredPoint) -> None:
    """Remove points; no cursor hears of it."""
    with opened(workspace) as index:
        for point in points:
            writer = index.writer(_corpus(point), str(point.payload["source"]))
            writer.remove([point.id])
            writer.acknowledge()


def change(workspace: Workspace, point: StoredPoint, **fields: Any) -> None:
    """Change fields of a point's payload."""
    with opened(workspace) as index:
        writer = index.writer(_corpus(point), str(point.payload["source"]))
        writer.update({point.id: {**point.payload, **fields}})
        writer.acknowledge()


def add(workspace: Workspace, like: StoredPoint, point_id: str, *, vector: bool = True, **fields: Any) -> None:
    """Add a point as another one is, with another id and other fields."""
    payload = {**like.payload, **fields}
    with opened(workspace) as index:
        sha = str(like.payload["embedded_sha256"])
        given = index.vectors([sha]).get(sha) if vector else None
        writer = index.writer(_corpus(like), str(payload["source"]))
        writer.upsert([NewPoint(point_id, payload, scrub(str(payload["text"])).clean, given)])
        writer.acknowledge()


def without_vector(workspace: Workspace, point: StoredPoint) -> None:
    """Write a point anew by its words alone, as one whose text the embedder has refused."""
    add(workspace, replace(point), point.id, vector=False)


def _corpus(point: StoredPoint) -> Corpus:
    return "chat" if point.payload["corpus"] == "chat" else "forge"


Tamper = Callable[[Workspace, str], None]
