"""Opening the index, for a refresh (made if there is none) and for a search: on the server that the settings name, else
in the embedded engine. A server that is away is an error; nothing local ever takes its place.

An index whose label differs from what the code and the settings say now is refused, with what to do.
"""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from typing import TYPE_CHECKING

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
from huginn.index.port import Index
from huginn.settings import Settings

if TYPE_CHECKING:
    from huginn.index.server_opening import Examined

_POLL_SECONDS = 0.05
_FIELDS: dict[str, PayloadSchemaType | KeywordIndexParams] = {
    "corpus": PayloadSchemaType.Keyword,
    "source": PayloadSchemaType.Keyword,
    "path": KeywordIndexParams(prefix=True),
    "text_sha256": PayloadSchemaType.Keyword,
    "embedded_sha256": PayloadSchemaType.Keyword,
    "time": PayloadSchemaType.Datetime,
}


def open_for_refresh(settings: Settings, label: Label, *, wait: float) -> Index:
    """The index, made if there is none. Only under the writer's lock. `wait`: for the embedded engine's file lock."""
    if settings.index.url is not None:
        _require_client()
        from huginn.index.server_opening import open_on_server_for_refresh  # noqa: PLC0415 - it takes a second to load

        return open_on_server_for_refresh(settings, label)
    collection = folder.current(settings.state)
    if collection is None:
        return _create(settings.state, label, settings.index.min_free_bytes)
    _require_label(collection, label)
    return _open(settings.state, collection, settings.index.min_free_bytes, wait)


def open_for_search(settings: Settings, label: Label | None, *, wait: float) -> Index:
    """The index, for reading. `label` None: whatever it is (for status). Raises `Unavailable` when there is none."""
    if settings.index.url is not None:
        _require_client()
        from huginn.index.server_opening import open_on_server_for_search  # noqa: PLC0415 - it takes a second to load

        return open_on_server_for_search(settings, label)
    collection = folder.current(settings.state)
    if collection is None:
        raise Unavailable("index", "there is none yet", next_step="run 'huginn refresh'")
    if label is not None:
        _require_label(collection, label)
    return _open(settings.state, collection, settings.index.min_free_bytes, wait)


def examine_server(settings: Settings) -> Examined:
    """What the server of the settings says of itself, for `huginn doctor`."""
    _require_client()
    from huginn.index.server_opening import examine  # noqa: PLC0415 - it takes a second to load

    return examine(settings)


def _require_client() -> None:
    if importlib.util.find_spec("qdrant_client") is None:
        raise Refused(
            "index.url", "the client for a Qdrant server is not installed", next_step="pip install 'huginn[server]'"
        )


def _require_label(collection: folder.Collection, label: Label) -> None:
    step = f"delete the folder {collection.shard.parent} and run 'huginn refresh': the index is built anew"
    collection.label.require(label, next_step=step)


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
