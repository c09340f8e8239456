"""How often somebody may ask: a bucket of permits for each token or address, which fills up again evenly."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from huginn.errors import Busy

_MOST_KEPT = 10_000  # buckets; the one that was not used for longest goes first, and was full again long ago


class TooMany(Busy):
    """Somebody asks too often. `retry_after`: seconds until the next permit."""

    def __init__(self, retry_after: float) -> None:
        self.retry_after = retry_after
        super().__init__("too many requests", next_step="ask less often, and again in a while")


class Limit:
    """`per_second` requests on average, `burst` at once, for each key. Safe for threads."""

    def __init__(self, per_second: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str) -> None:
        """Take one permit. Raises `TooMany` when there is none."""
        with self._lock:
            left = self._left(key)
            self._buckets[key] = (left - 1 if left >= 1 else left, self._clock())
            self._buckets.move_to_end(key)
            if len(self._buckets) > _MOST_KEPT:
                self._buckets.popitem(last=False)
        if left < 1:
            raise TooMany((1 - left) / self._per_second)

    def _left(self, key: str) -> float:
        left, since = self._buckets.get(key, (self._burst, self._clock()))
        return min(self._burst, left + (self._clock() - since) * self._per_second)
