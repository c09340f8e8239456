"""The flow `purge-window`: take a span of a room out of the index for good. The same code as `huginn purge`.

In: a room, the span with its zone, the reason, who asks; a dry run by default. Out: a table of counts, a final state.
Every parameter stays readable in Prefect's API, so a reason must name no content.
"""

from __future__ import annotations

from typing import Any

import prefect.runtime
from prefect import flow, get_run_logger
from prefect.artifacts import create_table_artifact
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed
from pydantic import AwareDatetime

from flows.writer import LOCK_WAIT_SECONDS, writers_turn
from huginn import settings
from huginn.errors import HuginnError, Refused
from huginn.purging import FLOW, PurgeReport, Request, purge
from tasks.open_run import ids_only


def _name() -> str:
    parameters = prefect.runtime.flow_run.parameters
    return f"purge: {str(parameters.get('room'))[:60]}{' (dry run)' if parameters.get('dry_run', True) else ''}"


@flow(name=FLOW, flow_run_name=_name, persist_result=False)
def purge_window(
    room: str,
    start: AwareDatetime,
    end: AwareDatetime,
    reason: str,
    steward: str,
    dry_run: bool = True,
    expect: int | None = None,
    hard: bool = False,
) -> State[Any]:
    """Take the messages of a span of time out of a room for good, whatever the homeserver says.

    Args:
        room: Id (!…) or alias (#…) of one room.
        start: The first moment that goes, with its zone.
        end: The first moment that stays, with its zone.
        reason: Why. It is kept in the purge record and readable here, so name no content.
        steward: Who asks for it. It is kept in the purge record as claimed.
        dry_run: Count what would go, and change nothing.
        expect: How many messages go, as the dry run told; if there are more, nothing is done. Needed without a dry run.
        hard: Also write every file of the embedded index anew, so that the words are in none of them. It takes as long
            as copying the index. Refused where the index is on a server.
    """
    request = Request(room, start, end, reason, steward)
    try:
        with ids_only():
            request.check()  # the form of the Prefect page checks nothing, so this comes first
            if not dry_run and expect is None:
                raise Refused("expect", "it is not given", next_step="give the number of messages that a dry run tells")
            current = settings.load()
            with writers_turn():
                report = purge(current, request, dry_run=dry_run, expect=expect, hard=hard, wait=LOCK_WAIT_SECONDS)
    except HuginnError as error:
        return Failed(message=str(error))
    told = _told(report)
    create_table_artifact(key=FLOW, table=[report.model_dump(mode="json")], description=told)
    get_run_logger().info("%s", told)
    return Completed(message=told)


def _told(report: PurgeReport) -> str:
    counts = f"{report.messages} messages in {report.windows} windows ({report.points} points)"
    span = f"{report.room} from {report.start.isoformat()} to before {report.end.isoformat()}"
    if report.dry_run:
        return f"{span}: {counts} would go; dry run, nothing was changed"
    pending = f"; {report.pending}" if report.pending else ""
    anew = f"; all files written anew, of {report.rewritten} index(es)" if report.rewritten else ""
    return f"{span}: {counts} removed, {report.written} written again; purge {report.purge}{anew}{pending}"
