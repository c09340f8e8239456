"""The small files of the shelf: `label.json` and `shard.json` beside each shard, and the pointer.

Each is replaced atomically.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, Field, ValidationError

from huginn.embed.probe import Witness
from huginn.errors import Refused
from huginn.index.disk import replace_file
from huginn.index.label import Label
from huginn.index.shelf import Collection

_Model = TypeVar("_Model", bound=BaseModel)


class Described(BaseModel):
    """What `label.json` says of a collection."""

    id: str
    label: Label
    witness: Witness = Field(default_factory=Witness)


class ShardInUse(BaseModel):
    """What `shard.json` says: which folder of a collection holds its shard, and how it stands with the graph.

    `indexed` is the engine's count of indexed vectors when the graph was built (0 without one); `failed` when building
    it failed last. `holds_removed`: its files may hold text that must be in no file (see `huginn.index.rewriting`).
    Without the file it is the folder that was made first.
    """

    folder: str = "shard"
    indexed: int = 0
    failed: datetime | None = None
    holds_removed: bool = False


def shard_in_use(collection: Path) -> ShardInUse:
    """Which shard of a collection's folder is in use."""
    return read(collection / "shard.json", ShardInUse) or ShardInUse()


def describe(folder: Path, collection: Collection) -> None:
    """Write `label.json` in the folder of a collection."""
    write(folder / "label.json", Described(id=collection.id, label=collection.label, witness=collection.witness))


def read(path: Path, model: type[_Model]) -> _Model | None:
    """What a file says; None if there is none. Raises `Refused` for a damaged one."""
    try:
        return model.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError:
        raise Refused(
            "index",
            f"{path} is damaged",
            next_step=f"delete the folder {path.parent} and run 'huginn refresh': the index is built anew",
        ) from None


def write(path: Path, content: BaseModel) -> None:
    """Write a file in one step, through to the disk."""
    replace_file(path, content.model_dump_json(indent=1))
