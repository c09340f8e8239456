"""How agents reach the server: standard input and output, or HTTP with a token.

Over HTTP every request needs the token, on this host too: other people's processes and pages in a browser reach a
loopback address as well. The names of hosts and origins are checked against DNS rebinding.
"""

from __future__ import annotations

import hmac
import socket
from collections.abc import Sequence
from typing import Any

import anyio
import uvicorn
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import SecretStr
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"
_MOST_BODY = 1 << 18  # a brief of 64 KiB, escaped


def serve_stdio(server: Server[Any]) -> None:
    """Answer the host that has started this process, until it closes standard input."""

    async def answer() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(answer)


def serve_http(server: Server[Any], listener: socket.socket, token: SecretStr, names: Sequence[str]) -> None:
    """Answer whoever has the token, until Ctrl-C. `names`: of this host, as it is reached."""
    port = listener.getsockname()[1]
    shown = [f"[{name}]" if ":" in name else name for name in (*names, "127.0.0.1", "localhost", "::1")]
    hosts = [form for name in shown for form in (name, f"{name}:{port}")]
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        json_response=True,
        max_request_body_size=_MOST_BODY,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=hosts,
            allowed_origins=[f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts],
        ),
    )
    config = uvicorn.Config(_Guarded(app, token), log_config=None, access_log=False, server_header=False)
    uvicorn.Server(config).run(sockets=[listener])


class _Guarded:
    """Lets in who has the token; compared in constant time."""

    def __init__(self, app: ASGIApp, token: SecretStr) -> None:
        self._app = app
        self._expected = f"Bearer {token.get_secret_value()}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        given = Headers(scope=scope).get("authorization", "").encode("latin-1")
        if scope["type"] == "http" and hmac.compare_digest(given, self._expected):
            return await self._app(scope, receive, send)
        refusal = PlainTextResponse("a token is needed\n", 401, {"WWW-Authenticate": "Bearer"})
        return await refusal(scope, receive, send)
