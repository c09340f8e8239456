"""The connection to a Qdrant server: address, key, time limits, patience. Nobody else makes a client.

The key is read from its file, goes into a header, and is in no message and no repr.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable

from qdrant_client import QdrantClient

from huginn.index.server_retry import SEARCHING, Answer, Patience, Sender, Written
from huginn.index.settings import IndexSettings
from huginn.secret_file import read_secret

_LONGEST_SEARCH_SECONDS = 4


class Connection:
    """A client by these settings, made when it is first needed, with its time limits and patience.

    It is shared: who works with it calls `hold` at the beginning and `release` at the end, and the last one closes it.
    """

    def __init__(self, settings: IndexSettings, patience: Patience) -> None:
        assert settings.url is not None
        self.shown = settings.url
        self.timeout = settings.timeout_seconds
        if patience is SEARCHING:
            self.timeout = min(self.timeout, _LONGEST_SEARCH_SECONDS)
        self.deletion_timeout = settings.deletion_timeout_seconds
        self._key_file = settings.api_key_file
        self._sender = Sender(settings.url, patience)
        self._lock = threading.Lock()
        self._client: QdrantClient | None = None
        self._holders = 0

    def ask(self, request: Callable[[QdrantClient], Answer]) -> Answer:
        """The answer to a question, or to an order about whole collections. Raises `Unavailable`."""
        client = self._connected()
        return self._sender.send(lambda: request(client))

    def write(self, request: Callable[[QdrantClient], Written]) -> None:
        """Have something written; returns when the server has applied it. Raises `Unavailable`."""
        client = self._connected()
        self._sender.write(lambda: request(client))

    def hold(self) -> None:
        """Begin to work with it."""
        with self._lock:
            self._holders += 1

    def release(self) -> None:
        """End to work with it."""
        with self._lock:
            self._holders -= 1
            if self._holders == 0 and self._client is not None:
                self._client.close()
                self._client = None

    def _connected(self) -> QdrantClient:
        with self._lock:
            if self._client is None:
                key = read_secret(self._key_file, field="index.api_key_file", kind="key") if self._key_file else None
                with warnings.catch_warnings():
                    # That a key should go over https is in the manual; the client would say it in each run.
                    warnings.filterwarnings("ignore", message="Api key is used with an insecure connection")
                    self._client = QdrantClient(
                        url=self.shown, api_key=key, timeout=self.timeout, check_compatibility=False
                    )
            return self._client
