"""Reading an index through the process that holds it. See `huginn.index.answering`."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from huginn.errors import Unavailable
from huginn.index.label import Label
from huginn.index.port import Ask, Found, Payload, Place, StoredPoint
from huginn.index.wire import PAGE, WireBroken, address_of, ask_to_wire, receive, send
from huginn.report import Corpus


class HolderGone(Unavailable):
    """The process that held the shard has let go of it: whoever asks again finds it free, or with another holder."""


class RemoteReader:
    """See `huginn.index.port.Reader`. Raises `HolderGone` when the holder goes away in the middle."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        hello = self.ask({"do": "hello"})
        self.id = str(hello["id"])
        self.label = Label.model_validate(hello["label"])

    def count(self, place: Place) -> int:
        """How many points are in `place`."""
        return int(self.ask({"do": "count", "place": vars(place)}))

    def sources(self, corpus: Corpus) -> dict[str, int]:
        """Every source that has points, with their number."""
        return dict(self.ask({"do": "sources", "corpus": corpus}))

    def stored(self, place: Place, fields: Sequence[str] | None = None) -> Iterator[StoredPoint]:
        """Every point of `place`, in order of id, page by page."""
        after = None
        while True:
            page = self.ask({"do": "stored", "place": vars(place), "fields": fields, "after": after})
            yield from (StoredPoint(**point) for point in page)
            if len(page) < PAGE:
                return
            after = page[-1]["id"]

    def query(self, asks: Sequence[Ask]) -> list[list[Found]]:
        """One ranked list for each ask."""
        answers = self.ask({"do": "query", "asks": [ask_to_wire(ask) for ask in asks]})
        return [[Found(point_id, score) for point_id, score in answer] for answer in answers]

    def fetch(self, ids: Sequence[str]) -> dict[str, Payload]:
        """The payloads of these points."""
        return dict(self.ask({"do": "fetch", "ids": list(ids)}))

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def ask(self, message: dict[str, Any]) -> Any:
        """The holder's answer to a question. Raises `Unavailable` with what it says instead."""
        try:
            send(self._connection, message)
            answer = receive(self._connection)
        except WireBroken as error:
            raise HolderGone("index", f"its holder has gone ({error})", next_step="ask again") from None
        if "error" in answer:
            raise Unavailable("index", str(answer["error"]), next_step="ask again")
        return answer["ok"]


def connect(path: Path, *, timeout: float) -> RemoteReader | None:
    """A reader through the holder that listens at `path`; None if nobody does."""
    connection = _connection(path, timeout)
    if connection is None:
        return None
    try:
        return RemoteReader(connection)
    except Unavailable:  # it has just closed
        connection.close()
        return None


def ask_to_hand_over(path: Path, *, timeout: float) -> bool:
    """Ask a long-lived reader for its shard; whether it will let go."""
    connection = _connection(path, timeout)
    if connection is None:
        return False
    with connection:
        try:
            send(connection, {"do": "hand over"})
            return bool(receive(connection).get("ok"))
        except WireBroken:
            return False


def _connection(path: Path, timeout: float) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout)
    try:
        with address_of(path) as address:
            connection.connect(address)
    except OSError:  # no folder, no socket, or one that a killed holder left behind
        connection.close()
        return None
    return connection
