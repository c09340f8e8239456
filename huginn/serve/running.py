"""The server around the application. It keeps no log of what is asked."""

from __future__ import annotations

import socket

import uvicorn
from starlette.types import ASGIApp

_IDLE_SECONDS = 75  # longer than clients keep a connection: none is closed while a question is on its way
_END_SECONDS = 5  # for what is being answered, after Ctrl-C


def run(app: ASGIApp, listener: socket.socket) -> None:
    """Serve until Ctrl-C or SIGTERM, at a socket that listens. A proxy on this host may say whom it asks for."""
    config = uvicorn.Config(
        app,
        access_log=False,
        log_level="warning",
        server_header=False,
        lifespan="on",
        forwarded_allow_ips="127.0.0.1,::1",
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_END_SECONDS,
        h11_max_incomplete_event_size=1 << 17,  # a brief in an address; a longer one goes into the body
    )
    uvicorn.Server(config).run(sockets=[listener])
