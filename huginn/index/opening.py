"""Opening the embedded index: for a refresh (made if there is none) and for a search.

An index whose label differs from what the code and the settings say now is refused, with what to do.
"""

from __future__ import annotations

import time
from pathlib import Path

from qdrant_edge import (
    Distance,
    EdgeConfig,
    EdgeShard,
    EdgeSparseVectorParams,
    EdgeVectorParams,
    KeywordIndexParams,
    Modifier,
    PayloadSchemaType,
    UpdateOperation,
)

from huginn.errors import Busy, Refused, Unavailable
from huginn.index import folder
from huginn.index.convert import MEANING, WORDS
from huginn.index.embedded import EmbeddedIndex, first_line
from huginn.index.label import Label
from huginn.settings import Settings

_POLL_SECONDS = 0.05
_FIELDS: dict[str, PayloadSchemaType | KeywordIndexParams] = {
    "corpus": PayloadSchemaType.Keyword,
    "source": PayloadSchemaType.Keyword,
    "path": KeywordIndexParams(prefix=True),
    "text_sha256": PayloadSchemaType.Keyword,
    "embedded_sha256": PayloadSchemaType.Keyword,
    "time": PayloadSchemaType.Datetime,
}


def open_for_refresh(settings: Settings, label: Label, *, wait: float) -> EmbeddedIndex:
    """The index, made if there is none. Only under the writer's lock."""
    collection = folder.current(settings.state)
    if collection is None:
        return _create(settings.state, label, settings.index.min_free_bytes)
    _require_label(collection, label)
    return _open(settings.state, collection, settings.index.min_free_bytes, wait)


def open_for_search(settings: Settings, label: Label | None, *, wait: float) -> EmbeddedIndex:
    """The index, for reading. `label` None: whatever it is (for status). Raises `Unavailable` when there is none."""
    collection = folder.current(settings.state)
    if collection is None:
        raise Unavailable("index", "there is none yet", next_step="run 'huginn refresh'")
    if label is not None:
        _require_label(collection, label)
    return _open(settings.state, collection, settings.index.min_free_bytes, wait)


def known_label(settings: Settings) -> Label | None:
    """The label of the index in use; None if there is none."""
    collection = folder.current(settings.state)
    return collection.label if collection else None


def _require_label(collection: folder.Collection, label: Label) -> None:
    differences = collection.label.differences(label)
    if differences:
        raise Refused(
            "index",
            f"it was made by other rules or another model: {'; '.join(differences)}",
            next_step=f"delete the folder {collection.shard.parent} and run 'huginn refresh': the index is built anew",
        )


def _create(state: Path, label: Label, min_free_bytes: int) -> EmbeddedIndex:
    """Make a new, empty collection and put it into use. Only under the writer's lock."""
    folder.root(state).mkdir(parents=True, exist_ok=True)
    folder.require_space(state, min_free_bytes)
    path = folder.begin(state)
    config = EdgeConfig(
        vectors={MEANING: EdgeVectorParams(size=label.dimensions, distance=Distance.Cosine)},
        sparse_vectors={WORDS: EdgeSparseVectorParams(modifier=Modifier.Idf)},
    )
    shard = EdgeShard.create(str(path), config)
    for name, schema in _FIELDS.items():
        shard.update(UpdateOperation.create_field_index(name, schema))
    shard.flush()
    return EmbeddedIndex(state, folder.finish(state, path, label), shard, min_free_bytes)


def _open(state: Path, collection: folder.Collection, min_free_bytes: int, wait: float) -> EmbeddedIndex:
    """Open a collection; raises `Busy` when another process holds it longer than `wait` seconds."""
    folder.require_space(state, min_free_bytes)
    deadline = time.monotonic() + wait
    while True:
        try:
            return EmbeddedIndex(state, collection, EdgeShard.load(str(collection.shard)), min_free_bytes)
        except Exception as error:  # the engine has no class of its own
            if "WouldBlock" not in str(error):
                raise Unavailable(
                    "index",
                    f"{collection.shard} cannot be opened ({first_line(error)})",
                    next_step=f"delete the folder {collection.shard.parent} and run 'huginn refresh'",
                ) from None
            if time.monotonic() >= deadline:
                raise Busy(
                    "another process holds the embedded index", next_step="wait until it has ended, then try again"
                ) from None
        time.sleep(_POLL_SECONDS)
