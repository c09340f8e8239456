"""When somebody who waits for an answer is told that there is none."""

from __future__ import annotations

import time
from dataclasses import dataclass

from huginn.errors import Unavailable


@dataclass(frozen=True)
class Deadline:
    """So many `seconds` after something began; `ends` is on the clock of `time.monotonic`."""

    seconds: float
    ends: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """That many seconds from now."""
        return cls(seconds, time.monotonic() + seconds)

    def require(self) -> None:
        """Raise `Unavailable` when it is over."""
        if time.monotonic() > self.ends:
            raise Unavailable("index", f"no answer within {self.seconds:g} s", next_step="try again")
