"""Questions to a homeserver over HTTP: how often and how long each is tried.

The only file that knows nio, the client of Matrix, and what it brings. In: a path. Out: what the answer means, see
`huginn.chat.faults`. Tried again are connections that are refused, broken or silent, answers that are cut off, 408, 429
and 5xx, after what the server asks for. nio's own way of sending retries for ever and hides the status: only its raw
`send` is used. The token travels in a header alone: never in an address (as nio's builders have it), never to another
host.
"""

from __future__ import annotations

import asyncio
import logging
import random
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from time import monotonic
from urllib.parse import urlsplit

import aiohttp
from nio import Api, AsyncClient
from pydantic import SecretStr

from huginn.chat.faults import CHECK_ADDRESS, LOOK_AT_SERVER, Answer, Failing, MayPass, judged, redirected
from huginn.errors import Refused, Unavailable

CLIENT = "/_matrix/client/v3"
RELATIONS = "/_matrix/client/v1"

LARGEST_ANSWER = 256 << 20
"""Bytes. A page has up to 1,000 events of at most 64 KiB, each with up to three more bundled."""

# It logs bodies of events that it cannot validate.
logging.getLogger("nio").setLevel(logging.CRITICAL + 1)


@dataclass(frozen=True)
class Patience:
    """At most so many attempts, the last begun at most `seconds` after the first fault; pauses double from `first`."""

    attempts: int = 6
    seconds: float = 60.0
    first: float = 0.5


class _Redirected(Exception):
    """The answer names another address, where the token must not go."""


class Client:
    """Asks one homeserver; several threads may, at once. A thread of its own does the sending, until `close`.

    It only reads: what changes anything is sent by `huginn.chat.account` alone. `token_field` is the setting that
    gives the token.
    """

    def __init__(
        self,
        homeserver: str,
        token: SecretStr,
        *,
        timeout_seconds: float,
        patience: Patience | None = None,
        token_field: str = "chat.token_file",
    ) -> None:
        parts = urlsplit(homeserver)
        self.shown = parts.netloc + parts.path
        self._token = token
        self._token_field = token_field
        self._seconds = timeout_seconds
        self._patience = patience or Patience()
        self._nio = AsyncClient(homeserver)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="homeserver", daemon=True)
        self._thread.start()

    def get(self, path: Sequence[str], query: Mapping[str, str] | None = None, *, base: str = CLIENT) -> object:
        """The answer to a question."""
        return self.begin(path, query, base=base).result()

    def begin(
        self, path: Sequence[str], query: Mapping[str, str] | None = None, *, base: str = CLIENT
    ) -> Future[object]:
        """Ask, and go on meanwhile: the answer comes in the future."""
        return self._begin("GET", path, query, base=base)

    def close(self) -> None:
        """Break off what is under way and end the thread."""
        if not self._loop.is_closed():
            asyncio.run_coroutine_threadsafe(self._break_off(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _begin(
        self, method: str, path: Sequence[str], query: Mapping[str, str] | None, *, base: str, body: str | None = None
    ) -> Future[object]:
        # The builder of paths itself, because those on top of it write the token into the address.
        address: str = Api._build_path(list(path), dict(query or {}), base)
        return asyncio.run_coroutine_threadsafe(self._patiently(method, address, body), self._loop)

    async def _break_off(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._nio.close()

    async def _patiently(self, method: str, address: str, body: str | None) -> object:
        deadline = None
        attempt = 1
        while True:
            try:
                return await self._once(method, address, body)
            except MayPass as fault:
                now = monotonic()
                deadline = now + self._patience.seconds if deadline is None else deadline
                pause = max(fault.wait, self._patience.first * 2.0 ** (attempt - 1) * random.uniform(0.5, 1.0))
                if attempt >= self._patience.attempts or now + pause > deadline:
                    kind = Unavailable if fault.is_away else Failing
                    tries = f", tried {attempt} times" if attempt > 1 else ""
                    raise kind("homeserver", f"{self.shown} {fault.reason}{tries}", next_step=fault.next_step) from None
                await asyncio.sleep(pause)
                attempt += 1

    async def _once(self, method: str, address: str, sent: str | None) -> object:
        """One attempt: send, read to the end, judge. aiohttp sends at once again where a connection breaks off."""
        headers = {"Authorization": f"Bearer {self._token.get_secret_value()}"}
        if self._nio.client_session is None:
            self._nio.client_session = _session()
        try:
            response = await self._nio.send(method, address, sent, headers=headers, timeout=self._seconds)
            async with response:
                body = await self._read(response)
        except _Redirected:
            raise redirected(self.shown) from None
        except (TimeoutError, aiohttp.ClientError, OSError, UnicodeError) as error:
            raise self._fault_of_connection(error) from None
        retry_after = response.headers.get("Retry-After", "")
        return judged(Answer(response.status, response.content_type, retry_after, body), self.shown, self._token_field)

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        async for piece in response.content.iter_chunked(1 << 18):
            body += piece
            if len(body) > LARGEST_ANSWER:
                reason = f"{self.shown} gives an answer of more than {LARGEST_ANSWER} bytes"
                raise Failing("homeserver", reason, next_step=LOOK_AT_SERVER)
        return bytes(body)

    def _fault_of_connection(self, error: Exception) -> Exception:
        if isinstance(error, aiohttp.ClientSSLError | aiohttp.ClientConnectorCertificateError):
            reason = f"{self.shown} has a certificate that is not accepted, or speaks no TLS"
            next_step = "have it mended, or make its authority known to this machine"
            return Unavailable("homeserver", reason, next_step=next_step)
        if isinstance(error, aiohttp.InvalidURL | UnicodeError):  # the latter: no name that a host can have
            return Refused("chat.homeserver", "is no address that can be asked", next_step=CHECK_ADDRESS)
        if isinstance(error, TimeoutError):
            return MayPass("did not answer in time", "see what it is doing, or raise chat.timeout_seconds")
        if isinstance(error, aiohttp.ClientConnectorError):
            return MayPass("cannot be reached", "start it, or check chat.homeserver", is_away=True)
        return MayPass("broke the connection off")


def _session() -> aiohttp.ClientSession:
    """What nio would make, but without redirects and cookies."""
    return aiohttp.ClientSession(middlewares=[_refuse_redirects], cookie_jar=aiohttp.DummyCookieJar())


async def _refuse_redirects(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    response = await handler(request)
    if 300 <= response.status < 400:
        response.close()
        raise _Redirected
    return response
