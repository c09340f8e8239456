"""What a refresh is in Prefect, whatever the corpus: the turn, the tasks side by side, the table, the final state.

In: which corpus, which of its sources, whether to write, and the task that refreshes one. Out: a table of outcomes, and
a final state that is Failed when a source failed, after the others are done. The work itself is `huginn.run`; nothing
here is relied on when a run is cut off: the file lock goes with the process, and what was open is compared again by the
next run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import prefect.runtime
from prefect import Task, get_run_logger
from prefect.artifacts import create_table_artifact
from prefect.client.schemas.objects import State
from prefect.futures import PrefectFuture
from prefect.states import Completed, Failed

from flows import telling
from flows.writer import LOCK_WAIT_SECONDS, writers_turn
from huginn import settings
from huginn.errors import HuginnError, Refused
from huginn.progress import TELL_EVERY_SECONDS, Step, watched
from huginn.report import Corpus, RunReport, SourceReport
from huginn.run import FLOWS, Run, open_run, work_done_since
from huginn.settings import Settings
from tasks.open_run import given_to_tasks, ids_only

Checked = Callable[[Settings], list[str]]
"""Checks a flow's parameters against the settings, and gives the names to refresh, none meaning all."""


def refreshed(corpus: Corpus, checked: Checked, task: Task[[str], SourceReport], *, dry_run: bool) -> State[Any]:
    """Refresh a corpus, one task per source. Errors end here as a final state."""
    try:
        with ids_only():
            current = settings.load()
            if corpus == "chat" and current.chat is None:
                return Completed(message="nothing to do: the settings have no [chat]")
            only = checked(current)  # the form of the Prefect page checks nothing, so this comes first
            with writers_turn():
                return _refresh(current, corpus, only, task, dry_run=dry_run)
    except HuginnError as error:
        return Failed(message=str(error))


def _refresh(
    current: Settings, corpus: Corpus, only: list[str], task: Task[[str], SourceReport], *, dry_run: bool
) -> State[Any]:
    done = None if dry_run else done_already(current, {FLOWS[corpus]: only})
    return done or telling.final_state(one_run(current, corpus, only, FLOWS[corpus], task, dry_run=dry_run))


def done_already(current: Settings, asked: Mapping[str, Sequence[str]]) -> State[Any] | None:
    """The final state of a run that finds its work done since it was due; None if there is some left.

    `asked`: what each run covers, by its name in the journal. Late runs pile up while a worker is down.
    """
    due = prefect.runtime.flow_run.scheduled_start_time
    done_by = [work_done_since(current, flow, due, only) for flow, only in asked.items()]
    if not all(done_by):
        return None
    runs = " and ".join(str(run) for run in done_by)
    return Completed(message=f"nothing to do: run {runs} has done this work since {due:%Y-%m-%d %H:%M} UTC")


def one_run(
    current: Settings,
    corpus: Corpus,
    only: Sequence[str],
    flow: str,
    task: Task[[str], SourceReport],
    **options: bool,
) -> RunReport:
    """One run over a corpus, told in a table. `flow`: its name in the journal; `options`: see `huginn.run.open_run`.

    Only in one's turn to write.
    """
    with (
        open_run(current, corpus=corpus, flow=flow, only=only, wait=LOCK_WAIT_SECONDS, **options) as run,
        given_to_tasks(run),
    ):
        report = run.finish(_refresh_all(run, task))
    _show(report)
    return report


def _refresh_all(run: Run, task: Task[[str], SourceReport]) -> list[SourceReport]:
    futures = {source: task.submit(source) for source in run.sources}
    with watched(run.progress, partial(_tell, get_run_logger()), every=TELL_EVERY_SECONDS):
        return [_report(run, source, future) for source, future in futures.items()]


def _tell(log: logging.Logger | logging.LoggerAdapter[logging.Logger], steps: Sequence[Step]) -> None:
    """Log how far the sources are that are at work."""
    for step in steps:
        log.info("%s", step.told())


def _report(run: Run, source: str, future: PrefectFuture[SourceReport]) -> SourceReport:
    """What became of one source, once its task has ended; a failure is its own and stops no other."""
    future.wait()
    result = future.result(raise_on_failure=False)
    if isinstance(result, SourceReport):
        report = result
    elif isinstance(result, HuginnError):
        report = run.failed(source, result)
    else:
        report = run.failed(source, HuginnError(f"its task ended as {future.state.name}"))
    get_run_logger().info(
        "%s: %s, %d written, %d removed in %.1f s",
        source,
        report.outcome,
        report.written,
        report.removed,
        report.seconds,
    )
    for note in report.notes:
        get_run_logger().warning("%s: %s", source, note)
    return report


def named(what: str, names: Sequence[str] | None) -> list[str]:
    """The names that a parameter gives, each once; none means all. Raises `Refused` for a list without a name."""
    if names is None:
        return []
    if not names:
        raise Refused("sources", "the list is empty", next_step=f"name {what}, or leave it out for all")
    return list(dict.fromkeys(names))


def _show(report: RunReport) -> None:
    create_table_artifact(key=report.flow, table=telling.table(report), description=telling.summary(report))
    get_run_logger().info("%s", telling.summary(report))
