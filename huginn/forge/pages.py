"""Pages of a forge's interface over HTTP: how each is asked for, how often, and where the next one is.

In: a path below the root. Out: the JSON of each page, or `ListingFailed`. The token goes to the root's own host alone:
no redirect is followed, and a next page elsewhere is refused. Tried again are broken connections, 429 and 5xx, and a
403 that names a limit; waits that the forge asks for are kept, up to a bound. Nothing that it says is repeated.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from huginn.errors import Refused
from huginn.forge.found import ListingFailed

try:
    import httpx
except ImportError:
    raise Refused(
        "forge.discover", "the client for forges is not installed", next_step="run: pip install 'huginn[discover]'"
    ) from None

TIMEOUT_SECONDS = 30.0
LONGEST_WAIT = 120.0
"""Seconds that a listing waits in all, for pauses between attempts and for the forge's limits."""
MOST_PAGES = 2_000
LARGEST_PAGE = 32 << 20  # bytes
_ATTEMPTS = 5
_FIRST_PAUSE = 0.5
_LOOK = "it is tried again in the next run; look at the forge if it stays"


class Missing(Exception):
    """404: there is no such path, or nobody may know of it."""


class _MayPass(Exception):
    """Worth another try, after `wait` seconds if the forge asks for that."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        self.reason, self.wait = reason, wait


class Pages:
    """Asks one forge, until the context ends."""

    def __init__(self, root: str, token: str | None) -> None:
        self._root = root
        self._left = LONGEST_WAIT
        headers = {"Accept": "application/json", "User-Agent": "huginn"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._http = httpx.Client(headers=headers, timeout=TIMEOUT_SECONDS, follow_redirects=False, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._http.close()

    def of(self, path: str, query: Mapping[str, str]) -> Iterator[object]:
        """The pages from the first to the last, which names no next one (RFC 8288, `rel="next"`). Raises `Missing`."""
        address = f"{self._root}{path}?{httpx.QueryParams(query)}"
        seen = set[str]()
        while address:
            if address in seen or len(seen) >= MOST_PAGES:
                raise ListingFailed("the pages of the forge lead round for ever", next_step=_LOOK)
            seen.add(address)
            page, address = self._patiently(address)
            yield page

    def _patiently(self, address: str) -> tuple[object, str]:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._once(address)
            except _MayPass as fault:
                pause = max(fault.wait, _FIRST_PAUSE * 2 ** (attempt - 1))
                if attempt == _ATTEMPTS or pause > self._left:
                    asks = f" and asks to wait {math.ceil(fault.wait)} s" if fault.wait else ""
                    raise ListingFailed(f"the forge {fault.reason}{asks}", next_step=_LOOK) from None
                self._left -= pause
                time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def _once(self, address: str) -> tuple[object, str]:
        try:
            with self._http.stream("GET", address) as answer:
                body = _read(answer) if answer.status_code == 200 else b""
        except httpx.TimeoutException:
            raise _MayPass("did not answer in time") from None
        except httpx.InvalidURL:
            raise ListingFailed("the forge has no address that can be asked", next_step="check url") from None
        except (httpx.HTTPError, OSError):
            raise _MayPass("cannot be reached, or broke the connection off") from None
        _judge(answer)
        try:
            page = json.loads(body)
        except (ValueError, RecursionError):
            raise _MayPass("gives an answer that cannot be read") from None
        return page, self._next(answer)

    def _next(self, answer: httpx.Response) -> str:
        named = answer.links.get("next", {}).get("url")
        if not named:
            return ""
        try:
            address = str(answer.url.join(named))
            here, there = urlsplit(self._root), urlsplit(address)
            is_here = (here.scheme, here.hostname, here.port) == (there.scheme, there.hostname, there.port)
        except (httpx.InvalidURL, ValueError):
            is_here = False
        if not is_here:
            raise ListingFailed("the forge names a next page on another host", next_step="check url")
        return address


def _read(answer: httpx.Response) -> bytes:
    body = bytearray()
    for piece in answer.iter_bytes():
        body += piece
        if len(body) > LARGEST_PAGE:
            raise ListingFailed(f"the forge gives a page of more than {LARGEST_PAGE} bytes", next_step=_LOOK)
    return bytes(body)


def _judge(answer: httpx.Response) -> None:
    """Nothing for 200; else raises what the status means."""
    status = answer.status_code
    wait = _wait(answer.headers)
    if status == 200:
        return
    if status == 404:
        raise Missing
    if status == 429 or (status == 403 and wait):
        raise _MayPass(f"has its limit of requests reached (HTTP {status})", wait)
    if status >= 500 or status == 408:
        raise _MayPass(f"fails (HTTP {status})", wait)
    if status in (401, 403):
        raise ListingFailed(f"the forge does not let us in (HTTP {status})", next_step="check owner and token_file")
    if 300 <= status < 400:
        raise ListingFailed("the forge sends us on to another address", next_step="set url to where the forge is")
    raise ListingFailed(f"the forge answers with HTTP {status}", next_step=_LOOK)


def _wait(headers: httpx.Headers) -> float:
    """Seconds that the forge asks to wait: Retry-After, or until its limit begins anew, where none is left."""
    after = _number(headers.get("Retry-After"))
    if after is not None:
        return after
    if headers.get("X-RateLimit-Remaining", headers.get("RateLimit-Remaining")) != "0":
        return 0.0
    reset = _number(headers.get("X-RateLimit-Reset", headers.get("RateLimit-Reset")))
    return 0.0 if reset is None else max(1.0, reset - time.time())


def _number(text: str | None) -> float | None:
    return float(text) if text and text.isascii() and text.isdigit() and len(text) < 12 else None
