"""Which faults of a Qdrant server are tried again, how often and how long; and the words for those that stay.

In: something to send. Out: its answer, or `Unavailable`. The client itself retries nothing. Tried again are
connections that are refused, broken or silent, 5xx, and 429 (after what the server asks for); never another 4xx, and
never an answer that cannot be read: that is no Qdrant. A connection that broke may mean that a write was applied:
repeating it is harmless, because every write names its points by id and says all of what they are to be.

No message repeats what was sent or answered: it could hold text of a file, or the key.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic, sleep
from typing import TypeVar

import httpx
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http import models
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from huginn.errors import Unavailable

Answer = TypeVar("Answer")
Written = models.UpdateResult | Sequence[models.UpdateResult]

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 15.0
_LOOK_AT_SERVER = "look at the server and its log, then try again"


@dataclass(frozen=True)
class Patience:
    """At most so many attempts, the last begun at most so many seconds after the first fault."""

    attempts: int
    seconds: float


REFRESHING = Patience(attempts=8, seconds=90.0)
SEARCHING = Patience(attempts=3, seconds=2.0)


class TooLarge(Unavailable):
    """The server takes no body of this size (413)."""


class _Unfinished(Exception):
    """The server took a write in but does not say that it is done."""


@dataclass(frozen=True)
class _Fault:
    """A fault in words. `wait`: what the server asks for in seconds, if it is worth trying again; None: it is not."""

    reason: str
    next_step: str
    wait: float | None = None
    is_size: bool = False


@dataclass(frozen=True)
class Sender:
    """Sends to one server, `shown` in messages, with patience."""

    shown: str
    patience: Patience

    def send(self, request: Callable[[], Answer]) -> Answer:
        """The answer to a request, tried again as long as that may help."""
        deadline: float | None = None
        attempt = 1
        while True:
            try:
                return request()
            except (ApiException, QdrantException, json.JSONDecodeError, UnicodeDecodeError, _Unfinished) as error:
                fault = _fault_of(error)
            except AssertionError:  # what the client makes of an answer with "result": null
                fault = _UNREADABLE
            if fault.wait is None:
                raise self._gives_up(fault) from None
            now = monotonic()
            deadline = now + self.patience.seconds if deadline is None else deadline
            pause = max(fault.wait, _pause(attempt))
            if attempt >= self.patience.attempts or now + pause > deadline:
                raise self._gives_up(fault, attempt) from None
            sleep(pause)
            attempt += 1

    def write(self, request: Callable[[], Written]) -> None:
        """Send a write, and return when the server says that it is applied."""

        def completed() -> None:
            written = request()
            for result in [written] if isinstance(written, models.UpdateResult) else written:
                if result.status is not models.UpdateStatus.COMPLETED:
                    raise _Unfinished

        self.send(completed)

    def _gives_up(self, fault: _Fault, attempts: int = 1) -> Unavailable:
        kind = TooLarge if fault.is_size else Unavailable
        tries = f", tried {attempts} times" if attempts > 1 else ""
        return kind("index", f"{self.shown} {fault.reason}{tries}", next_step=fault.next_step)


def _pause(attempt: int) -> float:
    """Longer after each attempt, and never the same for two clients."""
    longest = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2.0 ** (attempt - 1))
    return longest * random.uniform(0.5, 1.0)


def _fault_of(error: Exception) -> _Fault:
    if isinstance(error, _Unfinished):
        return _Fault("does not say that a write is done", _LOOK_AT_SERVER, wait=0.0)
    if isinstance(error, ResourceExhaustedResponse):
        wait = max(0.0, float(error.retry_after_s))
        return _Fault(f"has too much to do and asks to wait {wait:g} s", "try again later", wait)
    if isinstance(error, QdrantException):  # its Retry-After is no number of seconds
        return _Fault("has too much to do", "try again later", wait=0.0)
    if isinstance(error, UnexpectedResponse):
        return _fault_of_status(error.status_code or 0)
    if isinstance(error, ResponseHandlingException):
        return _fault_of_connection(error.source)
    return _UNREADABLE


def _fault_of_status(status: int) -> _Fault:
    if status == 429:
        return _Fault("has too much to do", "try again later", wait=0.0)
    if status >= 500:
        return _Fault(f"fails (HTTP {status})", _LOOK_AT_SERVER, wait=0.0)
    if status in (401, 403):
        return _Fault(f"does not let us in (HTTP {status})", "check the key in the file that index.api_key_file names")
    if status == 404:
        return _Fault("does not have what was asked for (HTTP 404)", "check index.url, and run 'huginn doctor'")
    if status == 413:
        return _Fault(
            "takes no request of that size (HTTP 413)", "raise the server's max_request_size_mb", is_size=True
        )
    return _Fault(f"refused a request (HTTP {status})", "see its log, and run 'huginn doctor'")


def _fault_of_connection(error: Exception) -> _Fault:
    if isinstance(error, httpx.TimeoutException):
        return _Fault("did not answer in time", "see what it is doing, or raise index.timeout_seconds", wait=0.0)
    if isinstance(error, httpx.ConnectError):
        return _Fault("cannot be reached", "start it, or check index.url", wait=0.0)
    if isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError | httpx.ProxyError):
        return _Fault("broke the connection off", _LOOK_AT_SERVER, wait=0.0)
    if isinstance(error, httpx.TransportError | httpx.InvalidURL):
        return _Fault("cannot be asked", "check index.url")
    return _UNREADABLE


_UNREADABLE = _Fault(
    "gave an answer that Qdrant does not give", "check that index.url is the address of a Qdrant server"
)
