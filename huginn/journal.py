"""What the journal says of past runs: the last of each flow, for whoever watches. Written by `huginn.checkpoints`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from huginn.report import RunOutcome
from huginn.store import Store


@dataclass(frozen=True)
class LastRun:
    """How the last run of a flow that wrote went, and when the last one ended with all sources well (None: never)."""

    flow: str
    outcome: RunOutcome
    started: datetime
    finished: datetime
    last_well: datetime | None


def last_runs(store: Store) -> list[LastRun]:
    """The last run of each flow, by the flow's name; none without a store. The journal goes 90 days back."""
    if not store.exists():
        return []
    with store.transaction() as db:
        rows = db.execute(
            "SELECT flow, arg_max(outcome, finished), arg_max(started, finished), max(finished), "
            "max(finished) FILTER (WHERE outcome = ?) FROM runs GROUP BY flow ORDER BY flow",
            [RunOutcome.OK.value],
        ).fetchall()
    return [LastRun(flow, RunOutcome(outcome), *moments) for flow, outcome, *moments in rows]
