"""The flow `forge-refresh`: bring the forge corpus up to date with its repositories.

In: names of repositories or none for all, and whether to write. Out: a table of outcomes, and a final state that is
Failed when a repository failed, after the others are done. The work itself is `huginn.run`; nothing here is relied on
when a run is cut off: the file lock goes with the process, and what was open is compared again by the next run.

One task per repository, four at a time: refreshing hundreds of repositories is mostly waiting for their hosts, and
four of them keep the processor busy while memory stays small.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import prefect.runtime
from prefect import flow, get_run_logger
from prefect.artifacts import create_table_artifact
from prefect.client.schemas.objects import State
from prefect.futures import PrefectFuture
from prefect.states import Completed, Failed
from prefect.task_runners import ThreadPoolTaskRunner

from flows import telling
from flows.writer import LOCK_WAIT_SECONDS, writers_turn
from huginn import settings
from huginn.errors import HuginnError, Refused
from huginn.report import RunReport, SourceReport
from huginn.run import FLOW, Run, open_run, work_done_since
from huginn.settings import Settings
from tasks.forge import refresh_source
from tasks.open_run import given_to_tasks, ids_only


def _name() -> str:
    parameters = prefect.runtime.flow_run.parameters
    return telling.run_name("forge", parameters.get("sources"), dry_run=bool(parameters.get("dry_run")))


@flow(
    name=FLOW,
    flow_run_name=_name,
    task_runner=ThreadPoolTaskRunner(max_workers=4),  # type: ignore[arg-type] # its class is generic, the flow asks for Any
    persist_result=False,
)
def forge_refresh(sources: list[str] | None = None, dry_run: bool = False) -> State[Any]:
    """Bring the index up to date with the repositories.

    Args:
        sources: Names of repositories as the settings have them. Leave it out for all.
        dry_run: Tell what would be done, and write nothing.
    """
    try:
        with ids_only():
            current = settings.load()
            only = checked(sources, current)
            with writers_turn():
                return _refresh(current, only, dry_run=dry_run)
    except HuginnError as error:
        return Failed(message=str(error))


def checked(sources: Sequence[str] | None, current: Settings) -> list[str]:
    """The names to refresh, none meaning all. The form of the Prefect page checks nothing, so this comes first."""
    known = {repository.name for repository in current.forge.repos}
    if sources is None:
        return []
    if not sources:
        raise Refused("sources", "the list is empty", next_step="name a repository, or leave it out for all")
    for place, name in enumerate(sources):
        if name not in known:
            raise Refused(
                f"sources[{place}]",
                f"the settings have no repository named {name[:200]!r}",
                next_step=f"known are {', '.join(sorted(known)[:20]) or 'none'}",
            )
    return list(dict.fromkeys(sources))


def _refresh(current: Settings, only: list[str], *, dry_run: bool) -> State[Any]:
    asked_at = prefect.runtime.flow_run.scheduled_start_time
    done_by = None if dry_run else work_done_since(current, FLOW, asked_at, only)
    if done_by:
        return Completed(message=f"nothing to do: run {done_by} has done this work since {asked_at:%Y-%m-%d %H:%M} UTC")
    with open_run(current, flow=FLOW, only=only, dry_run=dry_run, wait=LOCK_WAIT_SECONDS) as run, given_to_tasks(run):
        report = run.finish(_refresh_all(run))
    _show(report)
    return telling.final_state(report)


def _refresh_all(run: Run) -> list[SourceReport]:
    futures = {source: refresh_source.submit(source) for source in run.sources}
    return [_report(run, source, future) for source, future in futures.items()]


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
    return report


def _show(report: RunReport) -> None:
    create_table_artifact(key=FLOW, table=telling.table(report), description=telling.summary(report))
    get_run_logger().info("%s", telling.summary(report))
