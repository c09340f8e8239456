"""Making and opening a shard of the embedded engine."""

from __future__ import annotations

from pathlib import Path

from qdrant_edge import (
    DatetimeIndexParams,
    Distance,
    EdgeConfig,
    EdgeShard,
    EdgeSparseVectorParams,
    EdgeVectorParams,
    KeywordIndexParams,
    Modifier,
    UpdateOperation,
)

from huginn.errors import Unavailable
from huginn.index.convert import MEANING, WORDS
from huginn.index.embedded import EmbeddedIndex
from huginn.index.engine import engine, first_line, is_the_engines
from huginn.index.shelf import Collection

_FIELDS: dict[str, KeywordIndexParams | DatetimeIndexParams] = {
    "corpus": KeywordIndexParams(enable_hnsw=True),
    "source": KeywordIndexParams(enable_hnsw=True),
    "path": KeywordIndexParams(prefix=True, enable_hnsw=True),
    "text_sha256": KeywordIndexParams(enable_hnsw=False),
    "embedded_sha256": KeywordIndexParams(enable_hnsw=False),
    "alias": KeywordIndexParams(enable_hnsw=False),
    "messages[].event_id": KeywordIndexParams(enable_hnsw=False),
    "messages[].sender": KeywordIndexParams(enable_hnsw=True),
    "time": DatetimeIndexParams(enable_hnsw=True),
    "end_time": DatetimeIndexParams(enable_hnsw=True),
}
"""The indexed fields. `enable_hnsw`: searches are filtered by it, so a graph has edges within each large part of it."""


def make_shard(path: Path, dimensions: int) -> None:
    """Make an empty shard with all its indexes, and close it again."""
    path.mkdir(parents=True)
    config = EdgeConfig(
        vectors={MEANING: EdgeVectorParams(size=dimensions, distance=Distance.Cosine)},
        sparse_vectors={WORDS: EdgeSparseVectorParams(modifier=Modifier.Idf)},
    )
    shard = engine(EdgeShard.create, str(path), config)
    for name, schema in _FIELDS.items():
        engine(shard.update, UpdateOperation.create_field_index(name, schema))
    engine(shard.flush)
    shard.close()


def open_shard(path: Path, collection: Collection, min_free_bytes: int) -> EmbeddedIndex | None:
    """Open a shard; None if another process holds it. Raises `Unavailable` if it cannot be opened at all."""
    try:
        return EmbeddedIndex(path, collection, EdgeShard.load(str(path)), min_free_bytes)
    except BaseException as error:
        if not is_the_engines(error):
            raise
        if "WouldBlock" in str(error):
            return None
        raise Unavailable(
            "index",
            f"{path} cannot be opened ({first_line(error)})",
            next_step=f"delete the folder {path.parent} and run 'huginn refresh'",
        ) from None
