"""The shelf of the embedded index: a folder for each collection, and a pointer to the one in use.

`index/current.json` names the folder in use and since when others are retired; it is replaced atomically. Beside each
shard stands `label.json` with the collection's random id, its label and its witness, written last, so that a folder
without it is half-made. A shard's folder is never renamed, and never deleted while it is in use: the engine keeps
absolute paths. So a collection may have further shards in its folder (see `graph` and `rewriting`): `shard.json` names
the one in use, and whoever opens the collection to write sweeps the others away.
"""

from __future__ import annotations

import re
import shutil
import time
import uuid
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, Field
from qdrant_edge import EdgeShard

from huginn.errors import Busy, Unavailable
from huginn.index.described import Described, describe, read, shard_in_use, write
from huginn.index.disk import require_space
from huginn.index.embedded import EmbeddedIndex
from huginn.index.engine import first_line, is_the_engines
from huginn.index.label import Label
from huginn.index.port import Reader
from huginn.index.remote import ask_to_hand_over, connect
from huginn.index.shard import make_shard
from huginn.index.shelf import Collection
from huginn.report import now

_POLL_SECONDS = 0.05
_OUR_NAME = re.compile(r"[0-9a-f]{32}")  # whatever else lies in the folder is somebody else's


class _Pointer(BaseModel):
    folder: str
    retired: dict[str, datetime] = Field(default_factory=dict)


class Folders:
    """See `huginn.index.shelf.Shelf`."""

    def __init__(self, state: Path, min_free_bytes: int) -> None:
        self.root = state / "index"
        self._min_free_bytes = min_free_bytes

    def current(self) -> Collection | None:
        """The collection in use; None if there is none, or if its folder is gone."""
        pointer = self._pointer()
        return self._collection(pointer.folder) if pointer else None

    def others(self) -> list[Collection]:
        """Building and retired ones, by name."""
        pointer = self._pointer()
        names = sorted(folder.name for folder in self.root.glob("*/") if _OUR_NAME.fullmatch(folder.name))
        found = [self._collection(name) for name in names if pointer is None or name != pointer.folder]
        return [collection for collection in found if collection is not None]

    def create(self, label: Label) -> Collection:
        """Make a new shard, and describe it when it is complete; half-made ones from before are swept away."""
        self.root.mkdir(parents=True, exist_ok=True)
        require_space(self.root, self._min_free_bytes)
        self._sweep_half_made()
        name = uuid.uuid4().hex
        make_shard(self.shard(name), label.dimensions)
        collection = Collection(name, uuid.uuid4().hex, label)
        describe(self.root / name, collection)
        return collection

    def open(self, collection: Collection, *, wait: float) -> EmbeddedIndex:
        """Open a shard; one process at a time can. It answers the searches of others while it is open."""
        require_space(self.root, self._min_free_bytes)
        self._sweep_half_made()
        self._sweep(collection.name)
        for _ in _tries(wait):
            index = self._try_open(collection)
            if index is not None:
                index.answer_at(self.socket(collection.name), is_writing=True)
                return index
            ask_to_hand_over(self.socket(collection.name), timeout=1.0)  # each time: another may have taken it
        raise _held()

    def read(self, collection: Collection, *, wait: float) -> Reader:
        """Read through the process that holds the shard, or open the shard if nobody does."""
        require_space(self.root, self._min_free_bytes)
        for _ in _tries(wait):
            reader = connect(self.socket(collection.name), timeout=max(wait, 1.0)) or self._try_open(collection)
            if reader is not None:
                return reader
        raise _held()

    def switch(self, collection: Collection) -> None:
        """Point to another folder, in one step."""
        pointer = self._pointer()
        retired = (
            {name: since for name, since in pointer.retired.items() if self.shard(name).is_dir()} if pointer else {}
        )
        if pointer and pointer.folder != collection.name:
            retired[pointer.folder] = now()
        retired.pop(collection.name, None)
        write(self.root / "current.json", _Pointer(folder=collection.name, retired=retired))

    def drop(self, collection: Collection) -> None:
        """Delete a folder; its description goes first, so that what a kill leaves is swept away."""
        pointer = self._pointer()
        if pointer is not None and pointer.folder == collection.name:
            raise ValueError(f"{collection.name} is in use")
        (self.root / collection.name / "label.json").unlink(missing_ok=True)
        shutil.rmtree(self.root / collection.name, ignore_errors=True)

    def shard(self, name: str) -> Path:
        """The folder of a collection's shard that is in use."""
        return self.root / name / shard_in_use(self.root / name).folder

    def socket(self, name: str) -> Path:
        """Where the holder of a collection answers."""
        return self.root.parent / "sockets" / name[:16]

    def _try_open(self, collection: Collection) -> EmbeddedIndex | None:
        """Open the shard in use; None if another process holds it, or if another shard has just taken its place."""
        path = self.shard(collection.name)
        try:
            index = open_shard(path, collection, self._min_free_bytes)
        except Unavailable:
            if self.shard(collection.name) == path:
                raise
            return None
        if index is not None and self.shard(collection.name) != path:
            index.close()
            return None
        return index

    def _sweep(self, name: str) -> None:
        """Delete the shards that are not in use: what a kill has left of building a graph, or of writing anew."""
        in_use = self.shard(name)
        for folder in in_use.parent.glob("shard*/"):
            if folder != in_use:
                shutil.rmtree(folder)

    def _sweep_half_made(self) -> None:
        """Delete what a kill has left of making or dropping a collection."""
        for folder in self.root.glob("*/"):
            if _OUR_NAME.fullmatch(folder.name) and not (folder / "label.json").exists():
                shutil.rmtree(folder)

    def _pointer(self) -> _Pointer | None:
        return read(self.root / "current.json", _Pointer)

    def _collection(self, name: str) -> Collection | None:
        described = read(self.root / name / "label.json", Described)
        shard = self.shard(name)
        if described is None or not shard.is_dir() or not any(shard.iterdir()):
            return None
        pointer = self._pointer()
        retired = pointer.retired.get(name) if pointer else None
        return Collection(name, described.id, described.label, retired, described.witness)


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


def _tries(seconds: float) -> Iterator[None]:
    """One try at once, and further ones until the time is over."""
    deadline = time.monotonic() + seconds
    yield
    while time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        yield


def _held() -> Busy:
    return Busy("another process holds the embedded index", next_step="wait until it has ended, then try again")
