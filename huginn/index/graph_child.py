"""The process that builds the graph: it holds the engine for minutes, which would hold the whole of any other process.

Run by its path, with nothing of Huginn loaded. In: the folder of a copy of a shard, which nobody else uses, and JSON
with the engine's settings. Out, on standard output: JSON with the numbers of points and of indexed vectors afterwards;
or an exit code other than 0. It ends with the process that started it (on Linux, by the kernel: while the engine works
no signal handler and no thread of Python's has a turn), and is the first to go when memory runs out.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from qdrant_edge import (
    Distance,
    EdgeConfig,
    EdgeOptimizersConfig,
    EdgeShard,
    EdgeSparseVectorParams,
    EdgeVectorParams,
    HnswIndexConfig,
    Modifier,
)

_PR_SET_PDEATHSIG = 1
_NICE = 10


def _end_with(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended before the kernel was asked
        sys.exit(1)


def _step_back() -> None:
    os.nice(_NICE)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")


def _config(wanted: Mapping[str, Any]) -> EdgeConfig:
    return EdgeConfig(
        vectors={wanted["vectors"]: EdgeVectorParams(size=wanted["dimensions"], distance=Distance.Cosine)},
        sparse_vectors={wanted["sparse_vectors"]: EdgeSparseVectorParams(modifier=Modifier.Idf)},
        hnsw_config=HnswIndexConfig(**wanted["hnsw"]),
        optimizers=EdgeOptimizersConfig(**wanted["optimizers"]),
    )


def build(folder: str, wanted: Mapping[str, Any]) -> dict[str, int]:
    """Index what is large enough in the shard at `folder`, and write all of it to the disk."""
    shard = EdgeShard.load(folder, _config(wanted))
    shard.optimize()
    shard.flush()
    info = shard.info()
    shard.close()
    return {"points": info.points_count, "indexed": info.indexed_vectors_count}


if __name__ == "__main__":
    _end_with(int(sys.argv[1]))
    _step_back()
    sys.stdout.write(json.dumps(build(sys.argv[2], json.loads(sys.argv[3]))))
