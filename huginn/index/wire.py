"""What passes over the socket between a search and the process that holds the shard: JSON, bounded, one user's own.

A message is its length in four bytes and then JSON. Vectors travel as base64 of float32. The folder of the sockets is
for the owner alone (0700); whoever is in it may read the index anyway.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from huginn import scrub
from huginn.embed.port import Vector
from huginn.index.port import Ask, Place

_MOST_BYTES = 64 << 20
PAGE = 256


class WireBroken(Exception):
    """The other side has gone, or does not speak this language."""


def send(connection: socket.socket, message: Mapping[str, Any]) -> None:
    """Send one message."""
    body = json.dumps(message, default=_plain).encode()
    try:
        connection.sendall(struct.pack(">I", len(body)) + body)
    except OSError as error:
        raise WireBroken(str(error)) from None


def receive(connection: socket.socket) -> dict[str, Any]:
    """Receive one message; raises `WireBroken` at the end, at garbage, and at more than 64 MiB."""
    (size,) = struct.unpack(">I", _exactly(connection, 4))
    if size > _MOST_BYTES:
        raise WireBroken(f"a message of {size} bytes")
    try:
        message = json.loads(_exactly(connection, size))
    except ValueError:
        raise WireBroken("a message that is no JSON") from None
    if not isinstance(message, dict):
        raise WireBroken("a message that is no object")
    return message


def ask_to_wire(ask: Ask) -> dict[str, Any]:
    """A question as JSON."""
    by = {"words": str(ask.by)} if isinstance(ask.by, str) else {"meaning": vector_to_wire(ask.by)}
    return {"by": by, "place": asdict(ask.place), "limit": ask.limit}


def ask_from_wire(message: Mapping[str, Any]) -> Ask:
    """The question again."""
    by = message["by"]
    place, limit = place_from_wire(message["place"]), int(message["limit"])
    if "words" in by:
        return Ask(scrub.from_our_process(by["words"]), place, limit)
    return Ask(vector_from_wire(by["meaning"]), place, limit)


def vector_to_wire(vector: Vector) -> str:
    """A vector as text."""
    return base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()


def vector_from_wire(text: str) -> Vector:
    """The vector again, with the same bits."""
    return np.frombuffer(base64.b64decode(text), dtype="<f4").astype(np.float32)


def place_from_wire(message: Mapping[str, Any]) -> Place:
    """The place again."""
    moments = {name: datetime.fromisoformat(message[name]) for name in ("after", "before") if message.get(name)}
    return Place(**{**message, **moments})


@contextmanager
def address_of(path: Path) -> Iterator[str]:
    """A name for a socket that fits into the 108 bytes the kernel takes, however deep its folder lies."""
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{path.name}"
    finally:
        os.close(descriptor)


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        try:
            part = connection.recv(min(size, 1 << 20))
        except OSError as error:
            raise WireBroken(str(error)) from None
        if not part:
            raise WireBroken("the other side has gone")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(type(value).__name__)
