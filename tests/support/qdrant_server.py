"""A stand-in for a Qdrant server over real HTTP, as small as it can be, with faults that can be switched on.

Python's own HTTP server, because a connection can be reset in it at any point. What it stores and finds is in
`qdrant_engine`; every request and answer is held against the client's models and the published interface
(`qdrant_interface`), and what does not hold is kept in `violations`.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from qdrant_client.http import models

from tests.support import qdrant_interface
from tests.support.qdrant_engine import Refusal
from tests.support.qdrant_store import OPERATIONS, Operation, Store

INTERFACE = qdrant_interface.Interface()
_WRITES = {"index", "upsert", "delete", "batch"}


@dataclass
class Fault:
    """What goes wrong, how often, and in which operation (in all of them without one).

    `kind`: reset_before (nothing is applied), reset_after (it is), slow, garbage, wrong_shape, null, cut_off,
    shorter (a list lacks its last), unfinished (a write that is said to be under way), or an HTTP status.
    """

    kind: str | int
    times: int = 1
    only: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    reason: str = "switched on"


@dataclass(frozen=True)
class Asked:
    """One request that came in."""

    operation: str
    collection: str
    parameters: dict[str, str]
    size: int
    body: Any


class StandIn:
    """The server. `url` is its address; it keeps what it stores while it is `away`."""

    def __init__(self, folder: Path, *, api_key: str | None = None) -> None:
        self.store = Store(folder)
        self.api_key = api_key
        self.faults: list[Fault] = []
        self.requests: list[Asked] = []
        self.violations: list[str] = []
        self.largest_body = 32 << 20
        self.lock = threading.RLock()
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
        """Refuse every connection for a while."""
        self.stop()
        try:
            yield
        finally:
            self._listen(self._port)

    def restart(self) -> None:
        """Stop, and open everything again from the disk."""
        with self.away():
            for collection in self.store.collections.values():
                collection.reopen()

    def fault_for(self, operation: str) -> Fault | None:
        """The fault that strikes now, if any; each strikes as often as it says."""
        with self.lock:
            for fault in self.faults:
                if fault.times > 0 and fault.only in ("", operation):
                    fault.times -= 1
                    return fault
        return None

    def asked(self, operation: str) -> list[Asked]:
        return [request for request in self.requests if request.operation == operation]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone before its answer came is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    standin: StandIn

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        address = urlsplit(self.path)
        parameters = {name: values[-1] for name, values in parse_qs(address.query).items()}
        for operation in OPERATIONS:
            name = operation.name_in(address.path)
            if name is not None and operation.method == self.command:
                return self._operate(operation, name, parameters, body)
        return self._answer_error(None, 404, "no such path")

    do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = handle_any

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _operate(self, operation: Operation, name: str, parameters: dict[str, str], body: bytes) -> None:
        standin = self.standin
        fault = standin.fault_for(operation.name)
        kind = fault.kind if fault else None
        if fault and kind == "slow":
            time.sleep(fault.seconds)
        if kind == "reset_before":
            return self._reset()
        if fault and isinstance(kind, int):
            return self._answer_error(operation, kind, fault.reason, fault.headers)
        try:
            with standin.lock:
                result = self._apply(operation, name, parameters, body)
        except Refusal as refusal:
            return self._answer_error(operation, refusal.status, refusal.reason)
        except Exception as error:  # a fault of the stand-in itself: never to be taken for one that is switched on
            standin.violations.append(f"{operation.name}: {error!r}")
            return self._answer_error(operation, 500, "the stand-in is broken")
        if kind == "reset_after":
            return self._reset()
        if kind == "unfinished" or (operation.name in _WRITES and parameters.get("wait") != "true"):
            waiting = {"operation_id": 0, "status": "acknowledged"}
            result = [waiting for _ in result] if isinstance(result, list) else waiting
        if kind == "shorter":
            result = result[:-1]
        document: Any = result if operation.name == "version" else {"result": result, "status": "ok", "time": 0.0}
        if kind == "garbage":
            return self._send(200, b"<html>Welcome</html>", {"Content-Type": "text/html"})
        if kind in ("wrong_shape", "null"):
            document = {"result": None if kind == "null" else {"surprise": 1}, "status": "ok", "time": 0.0}
            return self._send(200, json.dumps(document).encode())
        self._check(lambda: INTERFACE.check_answer(operation.method, operation.path, 200, document))
        return self._send(200, json.dumps(document).encode(), cut_off=kind == "cut_off")

    def _apply(self, operation: Operation, name: str, parameters: dict[str, str], body: bytes) -> Any:
        standin = self.standin
        if standin.api_key is not None and self.headers.get("api-key") != standin.api_key:
            raise Refusal(401, "Must provide an API key")
        if len(body) > standin.largest_body:
            raise Refusal(413, "JSON payload is larger than allowed")
        try:
            INTERFACE.check_request(operation.method, operation.path, set(parameters), body)
            asked = qdrant_interface.parsed(operation.asks, body) if operation.asks else None
        except ValueError as error:
            standin.violations.append(f"{operation.name}: {error}")
            raise Refusal(400, "Format error") from None
        standin.requests.append(Asked(operation.name, name, parameters, len(body), asked))
        return qdrant_interface.answered(operation.gives, operation.act(standin.store, name, asked))

    def _check(self, check: Any) -> None:
        try:
            check()
        except ValueError as error:
            self.standin.violations.append(str(error))

    def _answer_error(
        self, operation: Operation | None, status: int, reason: str, headers: dict[str, str] | None = None
    ) -> None:
        document = {"time": 0.0, "status": {"error": reason}}
        qdrant_interface.parsed(models.ErrorResponse, json.dumps(document).encode())
        if operation is not None:
            self._check(lambda: INTERFACE.check_answer(operation.method, operation.path, status, document))
        self._send(status, json.dumps(document).encode(), headers)

    def _send(
        self, status: int, content: bytes, headers: dict[str, str] | None = None, *, cut_off: bool = False
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content) + (10 if cut_off else 0)))
        self.end_headers()
        self.wfile.write(content)
        if cut_off:
            self.close_connection = True

    def _reset(self) -> None:
        """End the connection with a reset, as a server that is killed does."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True
