"""The folders of the embedded index: which one is in use, and what it is.

`index/current.json` names the folder in use and is replaced atomically; beside each shard stands `label.json` with the
collection's random id, its label and its witness (`huginn.embed.probe`), written last, so that a folder without it is
half-made. A shard's folder is never renamed, and never deleted while it is in use: the engine keeps absolute paths.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import ValidationError

from huginn.embed.probe import Witness
from huginn.errors import Refused, Unavailable
from huginn.index.label import Label


@dataclass(frozen=True)
class Collection:
    """A collection on disk: its random id, its label, the folder of its shard, and what it keeps of its model."""

    id: str
    label: Label
    shard: Path
    witness: Witness = field(default_factory=Witness)


def root(state: Path) -> Path:
    """The folder of all collections of a state folder."""
    return state / "index"


def current(state: Path) -> Collection | None:
    """The collection in use; None if there is none, or if its folder is gone."""
    pointer = _read(root(state) / "current.json")
    if pointer is None:
        return None
    folder = root(state) / str(pointer.get("folder"))
    described = _read(folder / "label.json")
    shard = folder / "shard"
    if described is None or not shard.is_dir() or not any(shard.iterdir()):
        return None
    try:
        label, witness = Label.model_validate(described["label"]), Witness.model_validate(described.get("witness", {}))
        return Collection(str(described["id"]), label, shard, witness)
    except (KeyError, ValidationError):
        raise _broken(folder / "label.json") from None


def begin(state: Path) -> Path:
    """A new, empty folder for a shard; half-made ones from before are swept away."""
    for folder in root(state).glob("*/"):
        if not (folder / "label.json").exists():
            shutil.rmtree(folder)
    shard = root(state) / uuid.uuid4().hex / "shard"
    shard.mkdir(parents=True)
    return shard


def finish(state: Path, shard: Path, label: Label) -> Collection:
    """Describe a shard that has been made, and put it into use."""
    collection = Collection(uuid.uuid4().hex, label, shard)
    folder = shard.parent
    _describe(collection)
    _write(root(state) / "current.json", {"folder": folder.name})
    return collection


def keep_witness(collection: Collection, witness: Witness) -> Collection:
    """Keep another witness beside the label."""
    collection = replace(collection, witness=witness)
    _describe(collection)
    return collection


def require_space(state: Path, min_free_bytes: int) -> None:
    """Raise `Unavailable` if the disk is nearly full: the engine would be killed by the kernel, not fail."""
    free = shutil.disk_usage(state if state.exists() else state.parent).free
    if free < min_free_bytes:
        raise Unavailable(
            "disk",
            f"{free >> 20} MiB are free where the index is kept, and {min_free_bytes >> 20} MiB are asked for",
            next_step="make room, or lower index.min_free_bytes",
        )


def _describe(collection: Collection) -> None:
    described: dict[str, object] = {"id": collection.id, "label": collection.label.model_dump()}
    described["witness"] = collection.witness.model_dump(mode="json")
    _write(collection.shard.parent / "label.json", described)


def _read(path: Path) -> dict[str, object] | None:
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError:
        raise _broken(path) from None
    if not isinstance(content, dict):
        raise _broken(path)
    return content


def _write(path: Path, content: dict[str, object]) -> None:
    draft = path.with_suffix(".draft")
    with draft.open("w") as file:
        json.dump(content, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def _broken(path: Path) -> Refused:
    return Refused(
        "index",
        f"{path} is damaged",
        next_step=f"delete the folder {path.parent} and run 'huginn refresh': the index is built anew",
    )
