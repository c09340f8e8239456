"""The holder of a shard answers for it: searches of other processes come over a unix socket.

The rule of fairness lives here: while the holder writes, answering takes at most half of the time. Questions wait for
each other, and the holder is owed as much time as answers took. The debt is paid before the next search begins, not
between the questions of one search, which would only make it slower; so a search now and then waits for nothing.
"""

from __future__ import annotations

import socketserver
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from huginn.errors import HuginnError
from huginn.index.port import PagedReader
from huginn.index.wire import PAGE, WireBroken, address_of, ask_from_wire, place_from_wire, receive, send

_IDLE_SECONDS = 30.0
_MOST_OWED_SECONDS = 0.25  # more than a search takes: who asks on and on without a new greeting waits as well


class Answering:
    """Answers for an open index until `close`. `hand_over` is called when a writer asks for the shard.

    `is_writing`: the holder has work of its own, which answers must not slow down by more than half.
    """

    def __init__(
        self, reader: PagedReader, path: Path, *, is_writing: bool, hand_over: Callable[[], None] | None = None
    ) -> None:
        self._reader = reader
        self._path = path
        self._is_writing = is_writing
        self._hand_over = hand_over
        self._turn = threading.Lock()
        self._owed_seconds = 0.0
        self._ended = time.monotonic()
        self._is_closed = False
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.chmod(0o700)
        path.unlink(missing_ok=True)
        with address_of(path) as address:
            self._server = _Server(address, self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        threading.Thread(target=_searching, daemon=True).start()  # so that the first search does not wait for it

    def close(self) -> None:
        """Stop answering; returns when no answer is under way."""
        self._server.shutdown()
        self._server.server_close()
        self._path.unlink(missing_ok=True)
        with self._turn:
            self._is_closed = True

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to one question."""
        if message.get("do") == "hand over":
            return {"ok": self._handed_over()}
        with self._turn:
            if self._is_closed:
                raise WireBroken("closed")
            began = self._rested(is_new=message.get("do") == "hello")
            try:
                return {"ok": self._answer(message)}
            except HuginnError as error:
                return {"error": error.reason}
            except (KeyError, TypeError, ValueError) as error:
                return {"error": f"a question that cannot be read ({type(error).__name__})"}
            finally:
                self._ended = time.monotonic()
                self._owed_seconds += self._ended - began

    def _rested(self, *, is_new: bool) -> float:
        """Give the holder the time it is owed, if it has work and this is the moment for it; the time afterwards."""
        now = time.monotonic()
        self._owed_seconds = max(0.0, self._owed_seconds - (now - self._ended))
        if self._is_writing and (is_new or self._owed_seconds > _MOST_OWED_SECONDS):
            time.sleep(self._owed_seconds)
            self._owed_seconds = 0.0
        return time.monotonic()

    def _answer(self, message: Mapping[str, Any]) -> Any:
        reader = self._reader
        match message["do"]:
            case "hello":
                return {"id": reader.id, "label": reader.label.model_dump()}
            case "count":
                return reader.count(place_from_wire(message["place"]))
            case "sources":
                return reader.sources(message["corpus"])
            case "stored":
                place, fields = place_from_wire(message["place"]), message["fields"]
                return [asdict(point) for point in islice(reader.stored(place, fields, after=message["after"]), PAGE)]
            case "query":
                lists = reader.query([ask_from_wire(ask) for ask in message["asks"]])
                return [[(found.id, found.score) for found in answer] for answer in lists]
            case "search":
                return _searching()(reader, message["sought"])
            case "fetch":
                return reader.fetch(message["ids"])
            case other:
                raise ValueError(other)

    def _handed_over(self) -> bool:
        if self._hand_over is None:
            return False
        threading.Thread(target=self._hand_over, daemon=True).start()
        return True


def _searching() -> Callable[[PagedReader, Mapping[str, Any]], Any]:
    from huginn.search.page import answer  # noqa: PLC0415 - searching stands above the index, and imports it

    return answer


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, address: str, answering: Answering) -> None:
        self.answering = answering
        super().__init__(address, _Conversation)


class _Conversation(socketserver.BaseRequestHandler):
    """Question and answer, until the other side has gone."""

    server: _Server

    def handle(self) -> None:
        self.request.settimeout(_IDLE_SECONDS)
        try:
            while True:
                send(self.request, self.server.answering.answer(receive(self.request)))
        except WireBroken:
            return
