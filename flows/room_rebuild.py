"""The flow `room-rebuild`: take in one room, or one repository, from the beginning.

In: its name. Out: a table, and a final state that is Failed when it could not be taken in: then its points are gone
all the same, and the next refresh takes it in.
"""

from __future__ import annotations

from typing import Any

import prefect.runtime
from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Failed

from flows import telling
from flows.refreshing import one_run
from flows.writer import writers_turn
from huginn import settings
from huginn.errors import HuginnError, Refused
from huginn.run import REBUILD
from huginn.sources import by_corpus
from tasks.backfill import REBUILD_TASKS
from tasks.open_run import ids_only


def _name() -> str:
    return telling.run_name(REBUILD, [str(prefect.runtime.flow_run.parameters.get("source"))], dry_run=False)


@flow(name="room-rebuild", flow_run_name=_name, persist_result=False)
def room_rebuild(source: str = "") -> State[Any]:
    """Remove all points of a room or a repository from every index, and take it in from the beginning.

    Args:
        source: The id or alias of the room, or the name of the repository.
    """
    try:
        with ids_only():
            current = settings.load()
            if not source:
                raise Refused("source", "nothing is named", next_step="name a room by its id or alias, or a repository")
            [(corpus, only)] = by_corpus(current, [source], field="source").items()
            with writers_turn():
                report = one_run(current, corpus, only, f"{REBUILD}-{corpus}", REBUILD_TASKS[corpus], start_over=True)
            return telling.final_state(report)
    except HuginnError as error:
        return Failed(message=str(error))
