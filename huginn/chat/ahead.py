"""Gets answers before they are asked for, and breaks off what is under way when nobody wants it any more."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


class Asking:
    """Questions one after the other, by `begin`, which another thread may end: `CancelledError` is raised then."""

    def __init__(self, begin: Callable[[dict[str, str]], Future[object]]) -> None:
        self._begin = begin
        self._lock = threading.Lock()
        self._coming: Future[object] | None = None
        self._is_ended = False

    def ask(self, query: dict[str, str]) -> Future[object]:
        """Begin the next question."""
        with self._lock:
            if self._is_ended:
                raise CancelledError
            self._coming = self._begin(query)
            return self._coming

    def end(self) -> None:
        """Break off the one that is under way; no other begins."""
        with self._lock:
            self._is_ended = True
            if self._coming is not None:
                self._coming.cancel()


def read_ahead(items: Iterator[Item], most: int) -> Iterator[Item]:
    """The same items in the same order, of which a thread gets up to `most` while the caller works on one.

    What goes wrong is raised in its place. When the caller stops, what is under way is not waited for, and has to be
    broken off by whoever began it.
    """
    end = object()
    pool = ThreadPoolExecutor(1, thread_name_prefix="read-ahead")
    try:
        coming = deque(pool.submit(next, items, end) for _ in range(most))
        while (item := coming.popleft().result()) is not end:
            coming.append(pool.submit(next, items, end))
            yield item  # type: ignore[misc] # it is an item, where it is not the end
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
