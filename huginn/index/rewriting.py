"""Writing a shard anew, so that what was removed from it is in no file any more.

The engine keeps removed points in its segments until it has reason to tidy up, and in its write-ahead log. So all
points that are there are copied into a shard made fresh beside it, with both vectors; then `shard.json` names that one,
and the old one is deleted when it is closed. The collection, its id and its label stay, so cursors do too; a graph does
not, and the next run that finds one due builds it. What is to be written anew is marked in `shard.json` before anything
is removed: a kill anywhere leaves the mark, or the new shard in use, and what else is there the next writer sweeps.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from qdrant_edge import EdgeShard, Point, Record, UpdateOperation

from huginn.errors import Unavailable
from huginn.index.described import ShardInUse, shard_in_use, write
from huginn.index.disk import require_space
from huginn.index.engine import engine
from huginn.index.shard import make_shard

_BATCH = 256


def mark(collection: Path) -> None:
    """Note durably that the shard of the collection in this folder is to be written anew."""
    write(collection / "shard.json", shard_in_use(collection).model_copy(update={"holds_removed": True}))


def is_marked(collection: Path) -> bool:
    """Whether it is to be written anew."""
    return shard_in_use(collection).holds_removed


def rewrite(collection: Path, records: Iterator[Record], points: int, dimensions: int, min_free_bytes: int) -> None:
    """Put a new shard into use that holds these records, which have their vectors; `points`: how many there must be.

    Raises `Unavailable`; the old shard is in use then, and marked as it was.
    """
    draft = collection / f"shard-{uuid.uuid4().hex[:12]}"
    try:
        require_space(collection, min_free_bytes)
        make_shard(draft, dimensions)
        copied = _copy(records, draft, min_free_bytes)
        if copied != points:
            raise Unavailable("index", f"{copied} of {points} points were copied", next_step="try once more")
        os.sync()  # what the engine has written must not be lost after the switch
        write(collection / "shard.json", ShardInUse(folder=draft.name))
    except OSError as error:
        raise Unavailable("disk", error.strerror or type(error).__name__, next_step="make room") from None
    finally:
        if shard_in_use(collection).folder != draft.name:
            shutil.rmtree(draft, ignore_errors=True)


def _copy(records: Iterator[Record], draft: Path, min_free_bytes: int) -> int:
    """Copy the records into an empty shard; gives how many points it has then."""
    shard = engine(EdgeShard.load, str(draft))
    try:
        while page := list(islice(records, _BATCH)):
            require_space(draft, min_free_bytes)
            copies = [Point(one.id, one.vector or {}, one.payload or {}) for one in page]
            engine(shard.update, UpdateOperation.upsert_points(copies))
        engine(shard.flush)
        return engine(shard.info).points_count
    finally:
        shard.close()
