"""Embeds ahead in threads: for an embedder that is waited for, such as a fleet of hosts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from huginn.embed.checked import embed_all
from huginn.embed.port import Answer, Embedder
from huginn.scrub import Clean

_AT_ONCE = 3  # callers' batches: while the last texts of one are embedded, those of the next keep the other hosts busy


class Threads:
    """See `huginn.embed.port.Ahead`. To be used in a `with` block: what has not begun at its end is given up."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="embed-ahead")

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *raised: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def submit(self, texts: Sequence[Clean]) -> Callable[[], Sequence[Answer]]:
        """Begin to embed `texts`."""
        return self._pool.submit(partial(embed_all, self._embedder, texts)).result
