"""Which host may serve now. Holds what is known of each host, and the one lock of a fleet.

Words: a host is *left out* after a failure, for a pause that doubles with each further one; then it is tried again. It
is *given up* for as long as the pause lasts when trying again at once is no use. A busy host pauses too, but counts as
one that can serve. Reserve hosts serve only while every other one is left out. One batch at a time on each host.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from huginn.embed.host import Host
from huginn.errors import Unavailable

_TRIES = 3
_MOST_DOUBLINGS = 6


@dataclass
class Seat:
    """A host and how it fares. `away` tells why it is left out; `failures` and `pauses` are in a row."""

    host: Host
    name: str
    is_reserve: bool = False
    in_use: bool = False
    not_before: float = 0.0
    failures: int = 0
    pauses: int = 0
    busy_since: float | None = None
    away: str | None = None


class Roster:
    """Hands out hosts, one caller to each, and takes them back with what became of them."""

    def __init__(
        self,
        seats: Sequence[Seat],
        *,
        retry_seconds: float,
        patience_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.seats = seats
        self._retry = retry_seconds
        self._patience = patience_seconds
        self._clock = clock
        self._changed = threading.Condition()

    def take(self, deadline: float | None = None) -> Seat:
        """The next host that may serve, when it is free. Raises `Unavailable` when there is none, and none to wait for.

        `deadline`: on the clock; None waits as long as some host is at work or about to be tried again.
        """
        with self._changed:
            while True:
                now = self._clock()
                seat = self._choose(now)
                if seat is not None:
                    seat.in_use = True
                    return seat
                if not self._is_worth_waiting() or (deadline is not None and now >= deadline):
                    raise self.unavailable()
                moments = [seat.not_before for seat in self.seats if not seat.in_use and seat.not_before > now]
                moments += [deadline] if deadline is not None else []
                self._changed.wait(min(moments) - now if moments else None)

    def served(self, seat: Seat) -> None:
        """It has answered well."""
        with self._changed:
            self._free(seat)
        self.confirmed(seat)

    def confirmed(self, seat: Seat) -> None:
        """It is well, whoever may be using it now."""
        with self._changed:
            seat.failures, seat.pauses, seat.busy_since, seat.away, seat.not_before = 0, 0, None, None, 0.0
            self._changed.notify_all()

    def give_back(self, seat: Seat) -> None:
        """Nothing is known of it that was not known before."""
        with self._changed:
            self._free(seat)

    def pause(self, seat: Seat) -> None:
        """It is busy: wait, and go on. When that lasts too long it is left out."""
        now = self._clock()
        with self._changed:
            seat.busy_since = now if seat.busy_since is None else seat.busy_since
            is_too_long = now - seat.busy_since > self._patience
            if not is_too_long:
                seat.not_before = now + self._retry * 2 ** min(seat.pauses, _MOST_DOUBLINGS) / 4
                seat.pauses += 1
                self._free(seat)
        if is_too_long:
            self.leave_out(seat, "has been too busy for too long", for_long=True)

    def leave_out(
        self, seat: Seat, reason: str, *, for_long: bool, cost: float = 0.0, is_given_back: bool = False
    ) -> None:
        """It has failed. `cost`: how long that took; a host that costs much is not asked again soon.

        `is_given_back`: it failed after that, and another may be using it now.
        """
        with self._changed:
            seat.failures = max(seat.failures + 1, _TRIES if for_long else 0)
            seat.away = reason
            pause = self._retry * 2 ** min(seat.failures - 1, _MOST_DOUBLINGS)
            seat.not_before = self._clock() + max(pause, cost)
            seat.busy_since = None
            if is_given_back:
                self._changed.notify_all()
            else:
                self._free(seat)

    def unavailable(self) -> Unavailable:
        """The error that tells of each host why it does not serve."""
        told = "; ".join(f"{seat.name} {seat.away or 'is busy'}" for seat in self.seats)
        return Unavailable(
            "embedder",
            f"no host can embed now: {told}",
            next_step="see that Ollama runs on them ('huginn doctor' asks each), then try again; "
            "'huginn search --mode words' answers without them",
        )

    def _choose(self, now: float) -> Seat | None:
        """Well before on trial, and reserve only if no other is well; of equals the one that failed least."""
        is_someone_well = any(seat.away is None and not seat.is_reserve for seat in self.seats)
        free = [
            seat
            for seat in self.seats
            if not seat.in_use and seat.not_before <= now and not (seat.is_reserve and is_someone_well)
        ]
        return min(free, key=lambda seat: (seat.is_reserve, seat.away is not None, seat.failures), default=None)

    def _is_worth_waiting(self) -> bool:
        return any(seat.in_use or seat.away is None or seat.failures < _TRIES for seat in self.seats)

    def _free(self, seat: Seat) -> None:
        seat.in_use = False
        self._changed.notify_all()
