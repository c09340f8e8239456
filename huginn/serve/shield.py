"""Around every answer: which hosts are served, headers that keep a browser from loading or running anything else, and
what becomes of a defect.

The `Host` header is checked on loopback too: a page of somebody else may give a name of its own the address 127.0.0.1,
and would then read the answers as its own (DNS rebinding). An address cannot be taken over like that, a name must be
known.
"""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Collection
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from huginn.errors import unforeseen

_MOST_BODY = 1 << 18  # bytes; a brief has at most 64 KiB
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Shield:
    """The outermost part of the application. `names`: by which it is known beside addresses and `localhost`."""

    def __init__(self, app: ASGIApp, names: Collection[str] = (), *, is_loopback: bool = True) -> None:
        self._app = app
        self._names = {"localhost", *(name.lower() for name in names)}
        self._is_loopback = is_loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, has_begun = Headers(scope=scope), False

        async def shielded(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                kept = MutableHeaders(scope=message)
                kept.update(HEADERS)
                kept.setdefault("cache-control", "no-store")
            await send(message)

        try:
            refusal = self._refusal(scope["method"], headers)
            await (refusal or self._app)(scope, receive, shielded)
        except Exception as error:  # a defect: its kind and line are told, never its text, which may repeat a query
            told = unforeseen(error, next_step="report it")
            sys.stderr.write(f"huginn: {told.reason}\n")
            if not has_begun:
                await PlainTextResponse("internal error\n", HTTPStatus.INTERNAL_SERVER_ERROR)(scope, receive, shielded)

    def _refusal(self, method: str, headers: Headers) -> PlainTextResponse | None:
        host = headers.get("host", "")
        if not self._is_ours(host):
            words = "unknown host: add it with --name\n"
            return PlainTextResponse(words, HTTPStatus.BAD_REQUEST)
        if method not in ("GET", "HEAD") and _is_from_elsewhere(headers, host):
            return PlainTextResponse("not from another site\n", HTTPStatus.FORBIDDEN)
        size = headers.get("content-length", "0")
        if "transfer-encoding" in headers or not size.isdigit() or int(size) > _MOST_BODY:
            return PlainTextResponse("too large, or of unknown size\n", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        return None

    def _is_ours(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name.lower() in self._names:
            return True
        try:
            return ipaddress.ip_address(name).is_loopback or not self._is_loopback
        except ValueError:
            return False


def _is_from_elsewhere(headers: Headers, host: str) -> bool:
    """Whether a page of another site sends this; with our referrer policy our own have the origin `null`."""
    origin = headers.get("origin", "null")
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return True
    return origin != "null" and urlsplit(origin).netloc.lower() != host.lower()
