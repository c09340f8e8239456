"""One run of a corpus: what the flow and the command line share.

In: settings, which sources, whether dry. Out: a `RunReport`. A run holds the writer's lock and the index from its
opening to its end; sources are refreshed one by one or side by side by whoever drives it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from huginn.errors import HuginnError
from huginn.report import RunReport, SourceReport
from huginn.settings import Settings


class Run:
    """A run that is open. `sources` are the names of what it will refresh, refused ones included."""

    id: str
    sources: Sequence[str]

    def refresh(self, source: str) -> SourceReport:
        """Refresh one source. A failure of the source is in the report; `Unavailable` is raised: a retry may help."""
        raise NotImplementedError

    def failed(self, source: str, error: HuginnError) -> SourceReport:
        """The report of a source that is given up after `error`."""
        raise NotImplementedError

    def finish(self, reports: Sequence[SourceReport]) -> RunReport:
        """Forget the sources that have left the settings, keep the journal, and tell what was done."""
        raise NotImplementedError


@contextmanager
def open_run(
    settings: Settings, *, flow: str, only: Sequence[str] = (), dry_run: bool = False, wait: float = 0.0
) -> Iterator[Run]:
    """Open a run over all sources of the forge corpus, or those named in `only`.

    Raises `Busy` when another writer does not end within `wait` seconds, `Refused` for a name in `only` that the
    settings do not know, `Unavailable` when the index, the checkpoint store or the disk cannot be used.
    """
    raise NotImplementedError
    yield


def work_done_since(settings: Settings, flow: str, moment: datetime, only: Sequence[str]) -> str | None:
    """The id of a successful run of `flow` over all of `only` (none: all) that started at `moment` or later."""
    return None
