"""Reading a collection for long without standing in a writer's way: one use after the other.

Between two uses an embedded index is let go of when a writer wants it; the next use goes through that writer. A use
whose reader goes away in the middle is begun again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from typing import TypeVar

from huginn.errors import Unavailable
from huginn.index.folder import Folders
from huginn.index.lasting import LastingReader
from huginn.index.port import Reader
from huginn.index.remote import HolderGone
from huginn.index.shelf import Collection, Shelf

Answer = TypeVar("Answer")

_TRIES = 5


class Turns:
    """Asks one collection, each time with a reader that is good for one question."""

    def __init__(self, collection: Collection, reader: Callable[[], AbstractContextManager[Reader]]) -> None:
        self._collection = collection
        self._reader = reader

    def ask(self, question: Callable[[Reader], Answer]) -> Answer:
        """The answer to a question; raises `Unavailable` when it cannot be had, or another index is in use by now."""
        for _ in range(_TRIES):
            try:
                with self._reader() as reader:
                    if reader.id != self._collection.id:
                        raise Unavailable("index", "another one was put into use meanwhile", next_step="try again")
                    return question(reader)
            except HolderGone:
                continue
        raise Unavailable("index", "its holder has gone again and again", next_step="try again")


@contextmanager
def turns_with(shelf: Shelf, collection: Collection, *, wait: float) -> Iterator[Turns]:
    """Take turns with the collection in use; or with another one, which is opened for each question."""
    if not isinstance(shelf, Folders):
        with closing(shelf.read(collection, wait=wait)) as reader:
            yield Turns(collection, lambda: nullcontext(reader))
    elif shelf.current() != collection:
        yield Turns(collection, lambda: closing(shelf.read(collection, wait=wait)))
    else:
        lasting = LastingReader(shelf, wait=wait)
        try:
            yield Turns(collection, lasting.reader)
        finally:
            lasting.let_go()
