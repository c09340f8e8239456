"""The bare baselines: the library's own embedder and a bare shard, nothing of Huginn. Run by `tests.bench.child`."""

from __future__ import annotations

import json
import subprocess
import time
import uuid
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import qdrant_edge as engine
import wordllama

_BATCH = 64
_POINTS = 256


def load_embedder() -> Any:
    """WordLlama, from the files in its package."""
    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)


def embed(texts: str) -> float:
    """The seconds that the library takes for all texts of a file, in batches of 64; not counting its loading."""
    wanted = json.loads(Path(texts).read_text(encoding="utf-8"))
    model = load_embedder()
    model.embed(["warm"])
    began = time.monotonic()
    for start in range(0, len(wanted), _BATCH):
        model.embed(wanted[start : start + _BATCH])
    return time.monotonic() - began


def embed_and_store(points: str, shard: str) -> float:
    """Embed the texts of all points and upsert them into a shard, batch by batch, read from a file piece by piece."""
    began = time.monotonic()
    model = load_embedder()
    words = engine.Bm25(engine.Bm25Config(tokenizer=engine.TokenizerType.Code, avg_len=256))
    target = engine.EdgeShard.load(shard)
    with Path(points).open(encoding="utf-8") as lines:
        while batch := [json.loads(line) for line in islice(lines, _POINTS)]:
            vectors = [vector for texts in _cut(batch) for vector in model.embed(texts)]
            made: Any = [
                engine.Point(
                    uuid.UUID(point["id"]),
                    {"meaning": vector.tolist(), "words": words.embed_document(point["embedded"])},
                    point["payload"],
                )
                for point, vector in zip(batch, vectors, strict=True)
            ]
            target.update(engine.UpdateOperation.upsert_points(made))
    target.flush()
    target.close()
    return time.monotonic() - began


def _cut(batch: list[Any]) -> Iterator[list[str]]:
    for start in range(0, len(batch), _BATCH):
        yield [point["embedded"] for point in batch[start : start + _BATCH]]


def seconds_of(command: list[str]) -> float:
    """The seconds of a command, the second time."""
    subprocess.run(command, check=True, capture_output=True)
    began = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    return time.monotonic() - began
