"""A homeserver over real HTTP whose faults can be switched on.

It stands before a real one and passes on what it is asked (`upstream`), or gives canned answers by the end of the path.
`requests` keeps what it was asked (where that is no GET with the method in front), `tokens` the tokens that came with
that, and `bodies` what it passed on.
"""

from __future__ import annotations

import http.client
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

HTML = b"<html><body>Here is a page for people</body></html>"


@dataclass
class Fault:
    """What goes wrong, how often, and in which paths (all that hold `only`).

    `kind`: reset, slow (nothing after `seconds`), cut_off, garbage, html (status 200), answer (status 200 and `body` as
    JSON), or an HTTP status, with `body` as JSON, or with a page for people where there is none.
    """

    kind: str | int
    times: int = 1_000_000
    only: str = ""
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0


class FaultyHomeserver:
    """The server. `url` is its address."""

    def __init__(self, *, upstream: str | None = None, answers: Mapping[str, Any] | None = None) -> None:
        self.upstream = upstream
        self.answers = dict(answers or {})
        self.faults: list[Fault] = []
        self.requests: list[str] = []
        self.tokens: list[str] = []
        self.bodies: list[bytes] = []
        self.lock = threading.Lock()
        self._listen(0)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def _listen(self, port: int) -> None:
        self._server = _Server(("127.0.0.1", port), type("Handler", (_Handler,), {"standin": self}))
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Nobody listens, until the context ends."""
        self.stop()
        yield
        self._listen(self._port)

    def fault_of(self, request: str) -> Fault | None:
        with self.lock:
            fault = next((fault for fault in self.faults if fault.times and fault.only in request), None)
            if fault:
                fault.times -= 1
            return fault

    def answer(self, path: str, headers: Mapping[str, str]) -> tuple[int, str, bytes]:
        """The answer without a fault: status, content type, body."""
        if self.upstream is not None:
            answer = _passed_on(self.upstream, path, headers)
            self.bodies.append(answer[2])
            return answer
        for end, answer in self.answers.items():
            if path.partition("?")[0].endswith(end):
                return 200, "application/json", json.dumps(answer).encode()
        return 404, "application/json", b'{"errcode": "M_NOT_FOUND", "error": "not here"}'


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True


class _Handler(BaseHTTPRequestHandler):
    standin: FaultyHomeserver
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(self.path)

    def do_POST(self) -> None:
        self._answer(f"POST {self.path}")

    def do_PUT(self) -> None:
        self._answer(f"PUT {self.path}")

    def _answer(self, request: str) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with self.standin.lock:
            self.standin.requests.append(request)
            self.standin.tokens.append(self.headers.get("Authorization", "").removeprefix("Bearer "))
        fault = self.standin.fault_of(request)
        if fault is None:
            headers = {"Authorization": self.headers.get("Authorization", "")}
            if self.command == "GET":
                self._send(*self.standin.answer(self.path, headers))
            else:
                assert self.standin.upstream is not None
                self._send(*_passed_on(self.standin.upstream, self.path, headers, self.command, sent))
        elif fault.kind == "reset":
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.close()
            self.close_connection = True
        elif fault.kind == "slow":
            time.sleep(fault.seconds)
            self.close_connection = True
        elif fault.kind == "cut_off":
            status, kind, body = self.standin.answer(self.path, {})
            self._send(status, kind, body[: len(body) // 2], length=len(body))
            self.close_connection = True
        elif fault.kind == "garbage":
            self._send(200, "application/json", b'{"rooms": [}')
        elif fault.kind == "html":
            self._send(200, "text/html", HTML)
        elif fault.kind == "answer":
            self._send(200, "application/json", json.dumps(fault.body).encode(), fault.headers)
        elif fault.body is None:
            self._send(int(fault.kind), "text/html", HTML, fault.headers)
        else:
            self._send(int(fault.kind), "application/json", json.dumps(fault.body).encode(), fault.headers)

    def _send(
        self,
        status: int,
        kind: str,
        body: bytes,
        headers: Mapping[str, str] | None = None,
        *,
        length: int | None = None,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing: tests look at `requests`."""


def _passed_on(
    upstream: str, path: str, headers: Mapping[str, str], method: str = "GET", body: bytes = b""
) -> tuple[int, str, bytes]:
    connection = http.client.HTTPConnection(urlsplit(upstream).netloc, timeout=60)
    try:
        connection.request(method, path, body or None, headers=dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.headers.get_content_type(), answer.read()
    finally:
        connection.close()
