"""A reader that stays, in a process that answers people all day: it lets go of the shard when a writer wants it.

Afterwards it asks through the new holder, and takes the shard again when nobody holds it. What is current is looked
up before each use, so that a switch to another index is followed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from huginn.errors import Unavailable
from huginn.index.embedded import EmbeddedIndex
from huginn.index.folder import Folders
from huginn.index.port import Reader


class LastingReader:
    """Hands out readers of the index in use; safe for threads, which take turns."""

    def __init__(self, shelf: Folders, *, wait: float) -> None:
        self._shelf = shelf
        self._wait = wait
        self._lock = threading.RLock()
        self._reader: Reader | None = None
        self._name: str | None = None

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        """A reader for one use. Raises `Unavailable` when there is no index, `Busy` when it cannot be had in time."""
        with self._lock:
            collection = self._shelf.current()
            if collection is None:
                raise Unavailable("index", "there is none yet", next_step="run 'huginn refresh'")
            if self._reader is None or collection.name != self._name or not self._is_alive(self._reader):
                self.let_go()
                self._reader = self._shelf.read(collection, wait=self._wait)
                self._name = collection.name
                if isinstance(self._reader, EmbeddedIndex):
                    socket = self._shelf.socket(collection.name)
                    self._reader.answer_at(socket, is_writing=False, hand_over=self.let_go)
            yield self._reader

    def let_go(self) -> None:
        """Close what is open; the next use opens again."""
        with self._lock:
            reader, self._reader = self._reader, None
            if reader is not None:
                reader.close()

    @staticmethod
    def _is_alive(reader: Reader) -> bool:
        """A shard of one's own is; a holder elsewhere may have gone."""
        if isinstance(reader, EmbeddedIndex):
            return True
        try:
            reader.sources("forge")
        except Unavailable:
            return False
        return True
