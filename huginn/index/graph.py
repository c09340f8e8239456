"""The graph (HNSW) of a large embedded index: when it is built, where, and how it is put into use.

Without one every search by meaning looks at every point that the filter leaves. From `FROM_POINTS` points on that takes
too long, so a graph is built at the end of a run, and again when as many points stand outside of it; until then those
are looked at one by one. It is built on a copy of the shard's folder, by a process of its own, while the original
answers; then `shard.json` is replaced, and the copy is in use. The collection, its id and its label stay, so cursors do
too. A kill anywhere leaves the one shard or the other in use, whole; what else there is then, the next writer sweeps.

What goes wrong here fails no run: searches go on without the graph, only slower, and the run tells so.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from huginn.index.convert import MEANING, WORDS
from huginn.index.described import shard_in_use, write
from huginn.report import now

FROM_POINTS = 100_000
"""So many points outside of a graph are worth one; a filter that leaves fewer is answered without it, exactly."""

EDGES, CANDIDATES = 16, 100  # the engine's own defaults (m, ef_construct)
_RETRY = timedelta(hours=24)
_DISK_FACTOR = 2.5  # of the shard's size: 2.1 was seen with a million points, beside the original
_MEMORY_FACTOR = 2.0  # 1.6 was seen, beside the files, which the system keeps in memory as it can
_SPARE_MEMORY = 512 << 20
_CHILD = Path(__file__).with_name("graph_child.py")


@dataclass(frozen=True)
class Shard:
    """A shard that may want a graph: everything in it is flushed, and nobody writes to it."""

    folder: Path
    points: int
    dimensions: int
    min_free_bytes: int


class _NotBuilt(Exception):
    """Why there is no graph, in words for a person."""


def is_due(collection: Path, indexed: int) -> bool:
    """Whether the collection in this folder wants a graph. `indexed`: how many indexed vectors the engine counts now.

    The engine counts a point's vector of words as indexed at once, its vector of meaning when a graph takes it in; it
    never counts those that are replaced. So what was counted since the last graph are the points outside of it.
    """
    in_use = shard_in_use(collection)
    if in_use.failed is not None and now() - in_use.failed < _RETRY:
        return False
    return indexed - in_use.indexed >= FROM_POINTS


def build(shard: Shard) -> tuple[bool, str]:
    """Build the graph. Gives whether a copy with it is now in use instead of `shard`, and what to tell a person."""
    began = time.monotonic()
    collection = shard.folder.parent
    draft = collection / f"shard-{uuid.uuid4().hex[:12]}"
    try:
        _require_room(shard)
        shutil.copytree(shard.folder, draft)
        indexed = _indexed(draft, shard)
        os.sync()  # what the child has copied or written must not be lost after the switch
        copied = shard_in_use(collection).model_copy(update={"folder": draft.name, "indexed": indexed, "failed": None})
        write(collection / "shard.json", copied)
    except (_NotBuilt, OSError) as error:
        why = str(error) if isinstance(error, _NotBuilt) else error.strerror or type(error).__name__
        return False, f"searches by meaning look at all {shard.points} points: {why}"
    finally:
        if shard_in_use(collection).folder != draft.name:
            shutil.rmtree(draft, ignore_errors=True)
    minutes = (time.monotonic() - began) / 60
    return True, f"searches by meaning go through a graph over {shard.points} points, built in {minutes:.1f} min"


def _require_room(shard: Shard) -> None:
    size = sum(path.stat().st_blocks * 512 for path in shard.folder.rglob("*") if path.is_file())
    disk = int(size * _DISK_FACTOR) + shard.min_free_bytes
    memory = int(size * _MEMORY_FACTOR) + _SPARE_MEMORY
    free, available = shutil.disk_usage(shard.folder).free, available_memory()
    if free < disk:
        raise _NotBuilt(f"a graph needs {disk >> 20} MiB of free disk for a while, and {free >> 20} MiB are free")
    if available is not None and available < memory:
        raise _NotBuilt(f"a graph needs {memory >> 20} MiB of memory for a while, and {available >> 20} MiB are free")


def available_memory() -> int | None:
    """How many bytes of memory a process may take without harm to others; None where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")), None)


def _indexed(draft: Path, shard: Shard) -> int:
    """Have the child build the graph of the copy; gives how many indexed vectors the engine counts then."""
    answer, exit_code = _run_child(draft, shard.dimensions)
    told = {"points": 0} if exit_code else json.loads(answer)
    if told["points"] != shard.points:
        in_use = shard_in_use(draft.parent)
        write(draft.parent / "shard.json", in_use.model_copy(update={"failed": now()}))
        hours = _RETRY.total_seconds() / 3600
        ended = f"its process ended with {exit_code}" if exit_code else f"the copy has {told['points']} points"
        raise _NotBuilt(f"building a graph failed ({ended}); it is tried again in {hours:.0f} hours")
    return int(told["indexed"])


def _run_child(draft: Path, dimensions: int) -> tuple[bytes, int]:
    settings = {
        "vectors": MEANING,
        "sparse_vectors": WORDS,
        "dimensions": dimensions,
        "hnsw": {"m": EDGES, "ef_construct": CANDIDATES, "full_scan_threshold": _kilobytes(FROM_POINTS, dimensions)},
        "optimizers": {"indexing_threshold": _kilobytes(FROM_POINTS // 10, dimensions)},
    }
    command = [sys.executable, "-P", str(_CHILD), str(os.getpid()), str(draft), json.dumps(settings)]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as child:
        try:
            answer, _ = child.communicate()
        finally:
            child.kill()
    return answer, child.returncode


def _kilobytes(points: int, dimensions: int) -> int:
    """The engine measures its thresholds by the size of the vectors."""
    return max(1, points * dimensions * 4 >> 10)
