"""A reader that stays, in a process that answers people all day: it lets go of the shard when a writer wants it.

Afterwards it asks through the new holder, and takes the shard again when nobody holds it. What is current is looked
up before each use, so that a switch to another index is followed. A server's collection is kept open in the same way.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from huginn.index.embedded import EmbeddedIndex
from huginn.index.folder import Folders
from huginn.index.opening import NoIndex
from huginn.index.port import Reader
from huginn.index.remote import RemoteReader, connect
from huginn.index.shelf import Collection, Shelf

_POLL_SECONDS = 0.02
_STANDS_BACK_SECONDS = 1.0  # a writer tries again every 50 ms, on a host that may be busy


class LastingReader:
    """Hands out readers of the index in use; safe for threads, which take turns."""

    def __init__(self, shelf: Shelf, *, wait: float) -> None:
        self._shelf = shelf
        self._wait = wait
        self._lock = threading.RLock()
        self._reader: Reader | None = None
        self._name: str | None = None
        self._stands_back_until = 0.0

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        """A reader for one use. Raises `NoIndex` when there is none, `Busy` when it cannot be had in time."""
        with self._lock:
            collection = self._shelf.current()
            if collection is None:
                self.let_go()
                raise NoIndex
            if collection.name != self._name or self._is_wanted():
                self.let_go()
            if self._reader is None:
                self._open(collection)
            assert self._reader is not None
            try:
                yield self._reader
            finally:
                if isinstance(self._reader, RemoteReader):  # which is good for one question: its holder may go
                    self.let_go()

    def let_go(self) -> None:
        """Close what is open; the next use opens again."""
        with self._lock:
            reader, self._reader = self._reader, None
            if reader is not None:
                reader.close()

    def _open(self, collection: Collection) -> None:
        self._reader = self._through_writer(collection) or self._shelf.read(collection, wait=self._wait)
        self._name = collection.name
        if isinstance(self._reader, EmbeddedIndex) and isinstance(self._shelf, Folders):
            socket = self._shelf.socket(collection.name)
            self._reader.answer_at(socket, is_writing=False, hand_over=self._hand_over)

    def _hand_over(self) -> None:
        """A writer has asked. Who has many questions would take the shard again before the writer sees it free."""
        self._stands_back_until = time.monotonic() + _STANDS_BACK_SECONDS
        self.let_go()

    def _is_wanted(self) -> bool:
        return time.monotonic() < self._stands_back_until

    def _through_writer(self, collection: Collection) -> Reader | None:
        """A reader through the writer that has asked for the shard; None if nobody has, or if it never came."""
        while self._is_wanted() and isinstance(self._shelf, Folders):
            reader = connect(self._shelf.socket(collection.name), timeout=max(self._wait, 1.0))
            if reader is not None:
                return reader
            time.sleep(_POLL_SECONDS)
        return None
