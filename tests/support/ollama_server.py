"""A stand-in for an Ollama server, over real HTTP, with faults that can be switched on.

Vectors are made from hashes of words, so that equal words mean near vectors: good enough to search. Faults are named by
`mode`; `digest`, `dim`, `limit` (characters, which it also tells as the model's context), `version` and `salt` (other
vectors) may be changed while it runs. `seconds_per_token` makes a host of a known speed, without faults: one batch at a
time, a token for every four characters, and no longer for making its answer. The wording of its errors is its own:
nobody may act on it.
"""

from __future__ import annotations

import hashlib
import json
import math
import socket
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "fake-embed"
FAULTS = (
    "ok", "nan", "short", "empty", "hole", "null", "nanvalue", "zero", "wrongdim", "mixdim", "html", "flaky", "busy",
    "slow", "eof", "missing", "forbidden", "refuse",
)  # fmt: skip


@dataclass
class State:
    """How a host behaves, and what it was sent."""

    mode: str = "ok"
    dim: int = 64
    limit: int = 2000
    digest: str = "sha256:aaa"
    version: str = "0.0.1"
    salt: str = ""
    also: str = ""  # a second model, which gives the same vectors
    tells_dimensions: bool = True
    seconds_per_token: float = 0.0
    calls: int = 0
    statuses: list[int] = field(default_factory=list)
    batches: list[list[str]] = field(default_factory=list)
    sent: dict[str, str] = field(default_factory=dict)  # every text ever sent, by its sha256
    asked_to_truncate: set[object] = field(default_factory=set)
    digest_after: tuple[int, str] | None = None  # from this many calls on it has another model

    @property
    def texts(self) -> list[str]:
        return [text for batch in self.batches for text in batch]


class OllamaServer:
    """One host, on a port of its own. `down` and `up` take it away and bring it back on the same port."""

    def __init__(self, **behaviour: Any) -> None:
        self.state = State(**behaviour)
        self._port = 0
        self.up()

    def __enter__(self) -> OllamaServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.down()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def up(self) -> None:
        self._server = _Server(("127.0.0.1", self._port), _Handler)
        self._server.state = self.state
        self._port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def down(self) -> None:
        self._server.ended.set()
        self._server.shutdown()
        self._server.server_close()

    def forget(self) -> None:
        """Count anew."""
        self.state.calls = 0
        self.state.statuses.clear()
        self.state.batches.clear()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.state = State()
        self.ended = threading.Event()
        self.counting = threading.Lock()
        self.working = threading.Lock()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None:
        pass

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def do_GET(self) -> None:
        if self.server.ended.is_set():
            self._break_off()
            return
        state = self.server.state
        if self.path == "/api/version":
            self._answer(200, {"version": state.version})
        elif self.path == "/api/tags":
            name = f"{MODEL}:latest"
            names = [] if state.mode == "missing" else [name, state.also] if state.also else [name]
            there = [{"name": name, "model": name, "digest": state.digest, "size": 1} for name in names]
            self._answer(200, {"models": there})
        else:
            self._answer(404, {"error": "unknown path"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        if self.server.ended.is_set():
            self._break_off()
            return
        state = self.server.state
        if self.path == "/api/show":
            sizes = {"general.architecture": "fake", "fake.context_length": state.limit}
            if state.tells_dimensions:
                sizes["fake.embedding_length"] = state.dim
            self._answer(200, {"model_info": sizes, "details": {}})
        elif self.path == "/api/embed":
            self._embed(body)
        else:
            self._answer(404, {"error": "unknown path"})

    def _embed(self, body: dict[str, Any]) -> None:
        state = self.server.state
        given = body["input"]
        texts = [given] if isinstance(given, str) else list(given)
        with self.server.counting:
            state.calls += 1
            state.batches.append(texts)
            state.sent |= {hashlib.sha256(text.encode()).hexdigest(): text for text in texts}
            state.asked_to_truncate.add(body.get("truncate"))
            number = state.calls
            if state.digest_after and number >= state.digest_after[0]:
                state.digest = state.digest_after[1]
        if state.seconds_per_token:
            with self.server.working:
                ends = time.monotonic() + sum(len(text) for text in texts) / 4 * state.seconds_per_token
                made = json.dumps({"model": MODEL, "embeddings": [vector_of(text, state) for text in texts]}).encode()
                time.sleep(max(0.0, ends - time.monotonic()))
            self._answer(200, made)
            return
        refusal = self._refusal(texts, number)
        if refusal is not None:
            self._answer(refusal[0], {"error": refusal[1]})
        elif state.mode == "slow":
            self.server.ended.wait(90)
            self._break_off()
        elif state.mode == "eof":
            self._break_off()
        elif state.mode == "html":
            self._answer(200, b"<html>login</html>")
        else:
            self._answer(200, _spoilt(state.mode, [vector_of(text, state) for text in texts], state.dim))

    def _refusal(self, texts: list[str], number: int) -> tuple[int, str] | None:
        state = self.server.state
        if state.mode == "missing":
            return 404, "no model of that name here"
        if state.mode == "forbidden":
            return 403, "who are you"
        if state.mode == "flaky" and number % 3 == 0:
            return 500, "worker went away"
        if state.mode == "busy" and number <= 4:
            return 503, "queue is full"
        if any(len(text) > state.limit for text in texts):
            return 400, "text is longer than the model can take"
        poisoned = [text for text in texts if "poisonword" in text]
        if state.mode == "nan" and poisoned:
            return 500, "result holds NaN"
        if state.mode == "refuse" and poisoned:
            return 400, f"cannot take {poisoned[0]}"
        return None

    def _answer(self, status: int, content: dict[str, Any] | bytes) -> None:
        self.server.state.statuses.append(status)
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _break_off(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


def vector_of(text: str, state: State) -> list[float]:
    """The vector that a host in this state gives for a text."""
    vector = [0.0] * state.dim
    for word in text.lower().split():
        sums = hashlib.sha256((state.salt + word).encode()).digest()
        for number in range(0, 8, 2):
            place = (sums[number] * 256 + sums[number + 1]) % state.dim
            vector[place] += 1.0 if sums[number + 8] % 2 else -1.0
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]


def _spoilt(mode: str, vectors: list[Any], dim: int) -> dict[str, Any] | bytes:
    """The answer, with the fault that `mode` names."""
    if mode == "short" and len(vectors) > 1:
        vectors = vectors[:-1]
    elif mode == "empty":
        vectors = []
    elif mode == "hole":
        vectors[0] = []
    elif mode == "null":
        vectors[0][0] = None
    elif mode == "nanvalue":
        vectors[0][0] = math.nan
    elif mode == "zero":
        vectors = [[0.0] * dim for _ in vectors]
    elif mode == "wrongdim":
        vectors = [[*vector, 0.0] for vector in vectors]
    elif mode == "mixdim":
        vectors[-1] = [*vectors[-1], 0.0]
    return {"model": MODEL, "embeddings": vectors}
