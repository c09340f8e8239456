"""Gets items before they are asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def read_ahead(items: Iterator[Item], most: int) -> Iterator[Item]:
    """The same items in the same order, of which a thread gets up to `most` while the caller works on one.

    What goes wrong is raised in its place. When the caller stops, what is under way is not waited for.
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
