"""The flow `backfill`: compare sources with the whole of what upstream says, mend what has drifted, and tell it.

In: names of repositories, ids or aliases of rooms, or none for all; whether to write. Out: a table for each corpus with
what was missing, stale and foreign, and a final state that is Failed when a source failed.
"""

from __future__ import annotations

from typing import Any

import prefect.runtime
from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Failed
from prefect.task_runners import ThreadPoolTaskRunner

from flows import telling
from flows.refreshing import done_already, named, one_run
from flows.writer import writers_turn
from huginn import settings
from huginn.errors import HuginnError
from huginn.report import as_one
from huginn.run import BACKFILL
from huginn.sources import by_corpus
from tasks.backfill import BACKFILL_TASKS
from tasks.open_run import ids_only


def _name() -> str:
    parameters = prefect.runtime.flow_run.parameters
    return telling.run_name(BACKFILL, parameters.get("sources"), dry_run=bool(parameters.get("dry_run")))


@flow(
    name=BACKFILL,
    flow_run_name=_name,
    task_runner=ThreadPoolTaskRunner(max_workers=4),  # type: ignore[arg-type] # its class is generic, the flow asks for Any
    persist_result=False,
)
def backfill(sources: list[str] | None = None, dry_run: bool = False) -> State[Any]:
    """Compare with the whole of what upstream says, and write the difference.

    Args:
        sources: Names of repositories, ids or aliases of rooms. Leave it out for all.
        dry_run: Tell what has drifted, and write nothing.
    """
    try:
        with ids_only():
            current = settings.load()
            chosen = by_corpus(current, named("a repository or a room", sources))
            journal = {corpus: f"{BACKFILL}-{corpus}" for corpus in chosen}
            with writers_turn():
                done = done_already(current, {journal[corpus]: only for corpus, only in chosen.items()})
                if done is not None and not dry_run:
                    return done
                reports = [
                    one_run(
                        current,
                        corpus,
                        only,
                        journal[corpus],
                        BACKFILL_TASKS[corpus],
                        dry_run=dry_run,
                        compare_all=True,
                    )
                    for corpus, only in chosen.items()
                ]
            return telling.final_state(as_one(BACKFILL, reports))
    except HuginnError as error:
        return Failed(message=str(error))
