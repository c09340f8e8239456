"""What is told while a refresh is at work: bars on a terminal, else a log line each half minute.

In: the run. Out: characters on standard error.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from huginn import progress
from huginn.cli import terminal

if TYPE_CHECKING:
    from huginn.run import Run

_SHOW_EVERY_SECONDS = 0.5
_log = logging.getLogger("huginn.progress")


@contextmanager
def shown(run: Run, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Show how far `run` is; gives what to call when a source is done. `quiet`: no bars, also on a terminal."""
    if not sys.stderr.isatty():
        show = _logged
    elif quiet:
        show = _lines
    else:
        show = _bars
    with show(run) as done:
        yield done


@contextmanager
def _logged(run: Run) -> Iterator[Callable[[str], None]]:
    through: list[str] = []

    def tell(steps: Sequence[progress.Step]) -> None:
        for step in steps:
            counts = {"source": step.source, "done": step.done, "total": step.total, "rate": round(step.rate, 1)}
            sources = {"sources_done": len(through), "sources": len(run.sources)}
            _log.info("%s", step.told(), extra={"ids": {"flow": run.flow, "run": run.id, **sources, **counts}})

    with progress.watched(run.progress, tell, every=progress.TELL_EVERY_SECONDS):
        yield through.append


@contextmanager
def _lines(run: Run) -> Iterator[Callable[[str], None]]:
    through: list[str] = []

    def tell(steps: Sequence[progress.Step]) -> None:
        told = [f"{len(through)} of {terminal.counted(len(run.sources), 'source')} done"]
        told += [step.told() for step in steps]
        terminal.write(terminal.harmless_line("; ".join(told)) + "\n", sys.stderr)

    with progress.watched(run.progress, tell, every=progress.TELL_EVERY_SECONDS):
        yield through.append


@contextmanager
def _bars(run: Run) -> Iterator[Callable[[str], None]]:
    """One bar for the sources, and below it one for each that is at work."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=terminal.console(sys.stderr), transient=True) as bars:
        all_sources = bars.add_task("sources", total=len(run.sources))

        def show(steps: Sequence[progress.Step]) -> None:
            for gone in tasks.keys() - {step.source for step in steps}:
                bars.remove_task(tasks.pop(gone))
            for step in steps:
                if step.source not in tasks:
                    tasks[step.source] = bars.add_task("", total=None)
                rate = f", {step.rate:.0f} a second" if step.is_counting else ""
                name = terminal.harmless_line(step.source)
                bars.update(tasks[step.source], completed=step.done, total=step.total, description=name + rate)

        with progress.watched(run.progress, show, every=_SHOW_EVERY_SECONDS):
            yield lambda _source: bars.advance(all_sources)
