"""How far the sources are that a run is at work on, for whoever watches it.

In: each source that is begun, and where its count can be read. Out: steps (done, left, rate), ids and counts only.
Nothing is pushed: whoever works counts anyway, and whoever watches reads as often as it likes, from another thread.
"""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

TELL_EVERY_SECONDS = 30.0
"""How often a run that nobody looks at on a terminal tells where it is."""


@dataclass(frozen=True)
class Step:
    """How far one source is. `done` of `total` are paths of a repository, or events of a room, whose number nobody
    knows (None). `seconds` since its counting began.
    """

    source: str
    done: int
    total: int | None
    seconds: float

    @property
    def left(self) -> int | None:
        """How many are still to come."""
        return None if self.total is None else self.total - self.done

    @property
    def rate(self) -> float:
        """How many are done in a second."""
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def is_counting(self) -> bool:
        """Whether there is anything to count yet: before that, upstream is asked and looked at."""
        return self.done > 0 or self.total is not None

    def told(self) -> str:
        """In words for a person."""
        if not self.is_counting:
            return f"{self.source}: begun {self.seconds:.0f} s ago"
        of_all = "done" if self.total is None else f"of {self.total} done, {self.left} left"
        return f"{self.source}: {self.done} {of_all}, {self.rate:.0f} a second"


@dataclass(frozen=True)
class _Followed:
    done: Callable[[], int]
    total: int | None
    since: float


class Progress:
    """The sources that are at work now. Safe for threads."""

    def __init__(self) -> None:
        self._sources: dict[str, _Followed] = {}
        self._lock = threading.Lock()

    @contextmanager
    def at_work_on(self, source: str) -> Iterator[None]:
        """A source is at work inside; who knows more of it calls `follow`."""
        self.follow(source, lambda: 0)
        try:
            yield
        finally:
            with self._lock:
                self._sources.pop(source, None)

    def follow(self, source: str, done: Callable[[], int], total: int | None = None) -> None:
        """From now on `done()` tells how many of `total` are done; it never goes back."""
        with self._lock:
            self._sources[source] = _Followed(done, total, time.monotonic())

    def steps(self) -> list[Step]:
        """How far each source is that is at work now, in the order of their beginning."""
        now = time.monotonic()
        with self._lock:
            return [Step(source, each.done(), each.total, now - each.since) for source, each in self._sources.items()]


@contextmanager
def watched(progress: Progress, tell: Callable[[Sequence[Step]], None], *, every: float) -> Iterator[None]:
    """Give `tell` the steps each `every` seconds while there is work inside, from a thread in the caller's context."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(every):
            if steps := progress.steps():
                tell(steps)

    watcher = threading.Thread(target=contextvars.copy_context().run, args=(watch,), name="progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
