"""Making a shard of the embedded engine."""

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

from huginn.index.convert import MEANING, WORDS
from huginn.index.engine import engine

_FIELDS: dict[str, KeywordIndexParams | DatetimeIndexParams] = {
    "corpus": KeywordIndexParams(enable_hnsw=True),
    "source": KeywordIndexParams(enable_hnsw=True),
    "path": KeywordIndexParams(prefix=True, enable_hnsw=False),
    "text_sha256": KeywordIndexParams(enable_hnsw=False),
    "embedded_sha256": KeywordIndexParams(enable_hnsw=False),
    "alias": KeywordIndexParams(enable_hnsw=False),
    "messages[].event_id": KeywordIndexParams(enable_hnsw=False),
    "messages[].sender": KeywordIndexParams(enable_hnsw=False),
    "time": DatetimeIndexParams(enable_hnsw=False),
    "end_time": DatetimeIndexParams(enable_hnsw=False),
}
"""The indexed fields. `enable_hnsw`: a graph has further edges within each large part of the points that has one value.

These edges are dear (those by path and time would double the time of building): only the filter that people use most
has them. The others live by how a graph is searched under a filter, see `huginn.index.convert.to_request`.
"""


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
