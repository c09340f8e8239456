"""What the server asks of the library: searches, messages, status, metrics, the last runs."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from huginn.checkpoints import Checkpoints
from huginn.errors import HuginnError, Refused, Unavailable
from huginn.journal import LastRun, last_runs
from huginn.metrics import metrics
from huginn.report import StatusReport
from huginn.search import (
    Listing,
    ListQuery,
    MessageWindow,
    Query,
    SearchResult,
    open_index,
)
from huginn.settings import Settings
from huginn.status import status

_KEPT_SECONDS = 5.0  # a status, for the names in the filters


class Asking:
    """Asks, with the settings as they are at that moment. Safe for threads. Errors are those of `huginn.search`.

    `config` is the settings file; None: the one that the command line would take.
    """

    def __init__(self, config: Path | None) -> None:
        self._index = open_index(config)
        self._names_lock = threading.Lock()
        self._names: tuple[float, StatusReport | None] = (-_KEPT_SECONDS, None)

    def current(self) -> Settings:
        """The settings now. Raises `Unavailable` when their file has become wrong: it may have been changed to refuse a
        room, so that nothing is answered by the old one. What is wrong in it is for whoever may read it.
        """
        try:
            return self._index.settings
        except Refused:
            reason, step = "their file cannot be used any more", "see 'huginn doctor', and mend it"
            raise Unavailable("settings", reason, next_step=step) from None

    def warm_up(self) -> None:
        """Open what the first question would wait for; what is away is told to whoever asks, not here."""
        with suppress(HuginnError):
            self.search(Query(texts=("to be ready",), top_k=1))

    def search(self, query: Query) -> SearchResult:
        """As `huginn.search.search`."""
        self.current()
        return self._index.search(query)

    def list_messages(self, query: ListQuery) -> Listing:
        """As `huginn.search.list_messages`."""
        self.current()
        return self._index.list_messages(query)

    def show_window(self, event_id: str, before: int, after: int) -> MessageWindow:
        """As `huginn.search.show_window`."""
        self.current()
        return self._index.show_window(event_id, before=before, after=after)

    def status(self, max_age: timedelta | None = None) -> StatusReport:
        """As `huginn.status.status`."""
        return status(self.current(), max_age=max_age)

    def metrics(self) -> str:
        """As `huginn.metrics.metrics`."""
        return metrics(self.current())

    def last_runs(self) -> list[LastRun]:
        """The last run of each flow."""
        return last_runs(Checkpoints(self.current().state).store)

    def known(self) -> StatusReport | None:
        """A status that is some seconds old at most, for the names of sources; None if it cannot be had."""
        with self._names_lock:
            made, report = self._names
            if time.monotonic() - made >= _KEPT_SECONDS:
                try:
                    report = self.status()
                except HuginnError:
                    report = None
                self._names = time.monotonic(), report
            return report

    def close(self) -> None:
        """Let go of all that is open."""
        self._index.close()
