"""What the server asks of the library: searches, messages, status, metrics, the last runs."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

from huginn import scrub
from huginn.checkpoints import Checkpoints
from huginn.embed import open_embedder
from huginn.errors import HuginnError
from huginn.journal import LastRun, last_runs
from huginn.metrics import metrics
from huginn.report import StatusReport
from huginn.search import (
    Listing,
    ListQuery,
    MessageWindow,
    Query,
    SearchResult,
    list_messages,
    search,
    show_window,
)
from huginn.serve.live import CurrentSettings
from huginn.status import status

_KEPT_SECONDS = 5.0  # a status, for the names in the filters


class Asking:
    """Asks, with the settings as they are at that moment. Safe for threads. Errors are those of `huginn.search`."""

    def __init__(self, current: CurrentSettings) -> None:
        self.current = current
        self._names_lock = threading.Lock()
        self._names: tuple[float, StatusReport | None] = (-_KEPT_SECONDS, None)

    def warm_up(self) -> None:
        """Load what the first question would wait for; what is away is told to whoever asks, not here."""
        try:
            settings = self.current()
            scrub.prepare(settings.state / "cache")
            open_embedder(settings.embedder)
        except HuginnError:
            return

    def search(self, query: Query) -> SearchResult:
        """As `huginn.search.search`."""
        return search(self.current(), query)

    def list_messages(self, query: ListQuery) -> Listing:
        """As `huginn.search.list_messages`."""
        return list_messages(self.current(), query)

    def show_window(self, event_id: str, before: int, after: int) -> MessageWindow:
        """As `huginn.search.show_window`."""
        return show_window(self.current(), event_id, before=before, after=after)

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
