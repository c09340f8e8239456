"""The connection to a Qdrant server: address, key, time limits, patience. Nothing else makes a client.

The key is read from its file, goes into a header, and is in no message and no repr.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from qdrant_client import QdrantClient

from huginn.errors import Refused
from huginn.index.server_retry import SEARCHING, Answer, Patience, Sender, Written
from huginn.index.settings import IndexSettings

_LONGEST_SEARCH_SECONDS = 4


@dataclass(frozen=True)
class Connection:
    """A client with what belongs to it."""

    client: QdrantClient = field(repr=False)
    shown: str
    timeout: int
    deletion_timeout: int
    _sender: Sender = field(repr=False)

    def ask(self, request: Callable[[QdrantClient], Answer]) -> Answer:
        """The answer to a question, or to an order about whole collections. Raises `Unavailable`."""
        return self._sender.send(lambda: request(self.client))

    def write(self, request: Callable[[QdrantClient], Written]) -> None:
        """Have something written; returns when the server has applied it. Raises `Unavailable`."""
        self._sender.write(lambda: request(self.client))

    def close(self) -> None:
        """Close the connection."""
        self.client.close()


def connect(settings: IndexSettings, patience: Patience) -> Connection:
    """A connection by these settings. Nothing is sent yet."""
    assert settings.url is not None
    key = _key(settings.api_key_file) if settings.api_key_file else None
    timeout = settings.timeout_seconds
    if patience is SEARCHING:
        timeout = min(timeout, _LONGEST_SEARCH_SECONDS)
    with warnings.catch_warnings():
        # That a key should go over https is in the manual; the client would say it in each run, on standard error.
        warnings.filterwarnings("ignore", message="Api key is used with an insecure connection")
        client = QdrantClient(url=settings.url, api_key=key, timeout=timeout, check_compatibility=False)
    sender = Sender(settings.url, patience)
    return Connection(client, settings.url, timeout, settings.deletion_timeout_seconds, sender)


def _key(path: Path) -> str:
    try:
        key = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise Refused(
            "index.api_key_file", f"cannot read {path} ({reason})", next_step="check its name and rights"
        ) from None
    if not key or not key.isascii() or not key.isprintable():
        raise Refused("index.api_key_file", f"{path} holds no key", next_step="put the key alone into it, on one line")
    return key
