"""`open_index`: questions one after the other, or from many threads, with index and embedder kept open in between.

A refresh that wants the embedded index is given it, and answers for it meanwhile. A new index, another model and
changed settings are followed from one question to the next.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from huginn import settings as settings_file
from huginn.embed import Embedder, Identity
from huginn.embedder_settings import EmbedderSettings
from huginn.index.lasting import LastingReader
from huginn.index.opening import open_shelf
from huginn.index.port import Reader
from huginn.search.access import INDEX_WAIT_SECONDS, Access
from huginn.search.answer import answer
from huginn.search.listing import listing
from huginn.search.query import ListQuery, Query
from huginn.search.result import Listing, MessageWindow, SearchResult
from huginn.search.window import window
from huginn.settings import Settings

Answer = TypeVar("Answer")

_MOST_THREADS = 4  # the embedded engine answers one question at a time; embedding and citing go on beside it


def open_index(settings: Settings | Path | str | None = None) -> OpenIndex:
    """An index to ask again and again: a context manager, for `with` and for `async with`.

    `settings` are settings, or the path of a settings file; None: the file that the command line would take. A file is
    read anew when it has changed, settings that are given are not. Nothing is opened before the first question; what is
    wrong with the settings is `Refused` at once.

    >>> from huginn.search import Query, open_index
    >>> with open_index(settings) as index:
    ...     result = index.search(Query(texts=("where does the heron stand",)))
    >>> print(result.hits[0].citation.path, result.hits[0].citation.start_line)
    birds/heron.md 1

    In a coroutine, where the work is done in a thread:

    >>> async def ask(text):
    ...     async with open_index(settings) as index:
    ...         return await index.asearch(Query(texts=(text,)))
    >>> import asyncio
    >>> asyncio.run(ask("where does the heron stand")).hits == result.hits
    True
    """
    return OpenIndex(settings)


class OpenIndex:
    """What `open_index` gives. It may be asked from several threads, and coroutines.

    The index itself is asked by one thread at a time, behind a lock; embedding, scrubbing and citing go on beside it.
    Coroutines share four threads, and wait for one of them. Errors are those of the functions of the same names in
    `huginn.search`; settings that have become wrong are `Refused` (field `config`) until they are mended.
    """

    def __init__(self, settings: Settings | Path | str | None) -> None:
        self._current = _given(settings) if isinstance(settings, Settings) else _File(settings).settings
        self._lock = threading.Lock()
        self._reader: tuple[Settings, LastingReader] | None = None
        self._embedders: dict[tuple[EmbedderSettings, Identity], Embedder] = {}
        self._threads = ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="huginn")
        self._is_closed = False

    @property
    def settings(self) -> Settings:
        """The settings as they are now. Raises `Refused` when their file has become wrong."""
        return self._current()

    def search(self, query: Query) -> SearchResult:
        """See `huginn.search.search`."""
        return answer(self._access(), query)

    def list_messages(self, query: ListQuery) -> Listing:
        """See `huginn.search.list_messages`."""
        return listing(self._access(), query)

    def show_window(self, event_id: str, *, before: int = 5, after: int = 5) -> MessageWindow:
        """See `huginn.search.show_window`."""
        return window(self._access(), event_id, before=before, after=after)

    async def asearch(self, query: Query) -> SearchResult:
        """`search`, in a thread."""
        return await self._in_thread(lambda: self.search(query))

    async def alist_messages(self, query: ListQuery) -> Listing:
        """`list_messages`, in a thread."""
        return await self._in_thread(lambda: self.list_messages(query))

    async def ashow_window(self, event_id: str, *, before: int = 5, after: int = 5) -> MessageWindow:
        """`show_window`, in a thread."""
        return await self._in_thread(lambda: self.show_window(event_id, before=before, after=after))

    def close(self) -> None:
        """Let go of everything, once the questions under way have their answers. Afterwards nothing can be asked."""
        with self._lock:
            self._is_closed = True
            kept, self._reader = self._reader, None
        self._threads.shutdown()
        if kept is not None:
            kept[1].let_go()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    async def _in_thread(self, work: Callable[[], Answer]) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _access(self) -> Access:
        settings = self.settings
        return _Kept(settings, self._reader_for(settings), self._embedders)

    def _reader_for(self, settings: Settings) -> LastingReader:
        """The reader, another one if the settings have moved the index."""
        with self._lock:
            if self._is_closed:
                raise ValueError("the index was closed")
            kept = self._reader
            if kept is None or (kept[0].state, kept[0].index) != (settings.state, settings.index):
                if kept is not None:
                    kept[1].let_go()
                shelf = open_shelf(settings, is_searching=True)
                kept = self._reader = settings, LastingReader(shelf, wait=INDEX_WAIT_SECONDS)
            return kept[1]


class _Kept(Access):
    """The index and the embedders that stay open between questions."""

    def __init__(
        self,
        settings: Settings,
        reader: LastingReader,
        embedders: dict[tuple[EmbedderSettings, Identity], Embedder],
    ) -> None:
        super().__init__(settings)
        self._lasting = reader
        self._embedders = embedders

    def embedder(self, identity: Identity) -> Embedder | None:
        """One that was opened before, as long as it is of this model."""
        key = self.settings.embedder, identity
        kept = self._embedders.get(key)
        if kept is None or kept.identity != identity:
            kept = super().embedder(identity)
            if kept is not None:
                self._embedders[key] = kept
        return kept

    @contextmanager
    def _reader(self) -> Iterator[Reader]:
        with self._lasting.reader() as reader:
            yield reader


def _given(settings: Settings) -> Callable[[], Settings]:
    return lambda: settings


class _File:
    """Settings in a file, read anew when it has changed."""

    def __init__(self, path: Path | str | None) -> None:
        self._path = settings_file.locate(None if path is None else Path(path))
        self._lock = threading.Lock()
        self._seen: tuple[int, ...] | None = None
        self._settings = self.settings()

    def settings(self) -> Settings:
        """The settings as they are now."""
        with self._lock:
            seen = _state_of(self._path)
            if seen is None or seen != self._seen:
                self._settings, self._seen = settings_file.load(self._path), seen
            return self._settings


def _state_of(path: Path) -> tuple[int, ...] | None:
    """What differs when a file has been written or replaced; None if it cannot be looked at."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
