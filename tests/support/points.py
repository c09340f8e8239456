"""Points for tests of an index, the label of the index that takes them, and a new one."""

from __future__ import annotations

from uuid import UUID

import numpy as np

from huginn.embed.port import Identity
from huginn.ids import digest
from huginn.index.label import make_label
from huginn.index.opening import open_shelf
from huginn.index.port import Index, NewPoint, Receipt
from huginn.scrub import scrub
from huginn.settings import Settings

LABEL = make_label("Test", Identity("test-model", "sha256:0", 4), {"chunker": "1"}, "scrub-1")


def make_index(settings: Settings) -> Index:
    """A new index, in use."""
    shelf = open_shelf(settings)
    collection = shelf.create(LABEL)
    shelf.switch(collection)
    return shelf.open(collection, wait=0)


def point_id(number: int) -> str:
    return str(UUID(int=number + 1))


def point(
    number: int, text: str = "some text", *, source: str = "a", path: str = "a.md", vector: bool = True
) -> NewPoint:
    embedded = scrub(text).clean
    direction = np.random.default_rng(number).normal(size=4).astype(np.float32)
    payload = {
        "corpus": "forge",
        "source": source,
        "path": path,
        "text": text,
        "text_sha256": digest(text),
        "embedded_sha256": digest(text),
        "time": f"2024-03-{number % 28 + 1:02d}T10:00:00Z",
    }
    return NewPoint(point_id(number), payload, embedded, direction / np.linalg.norm(direction) if vector else None)


def write(index: Index, *points: NewPoint, source: str = "a") -> Receipt:
    writer = index.writer("forge", source)
    writer.upsert(points)
    return writer.acknowledge()
