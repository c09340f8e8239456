"""The flow `chat-refresh`: bring the chat corpus up to date with the rooms of the homeserver.

In: rooms by id or alias or none for all, and whether to write. Out: see `flows.refreshing`.

One task for each room in which something has happened, four at a time. A room that is out of scope is never read, also
when it is named: the table says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import prefect.runtime
from prefect import flow
from prefect.client.schemas.objects import State
from prefect.task_runners import ThreadPoolTaskRunner

from flows import telling
from flows.refreshing import named, refreshed
from huginn.errors import Refused
from huginn.run import FLOWS
from huginn.settings import Settings
from tasks.chat import refresh_room


def _name() -> str:
    parameters = prefect.runtime.flow_run.parameters
    return telling.run_name("chat", parameters.get("rooms"), dry_run=bool(parameters.get("dry_run")))


@flow(
    name=FLOWS["chat"],
    flow_run_name=_name,
    task_runner=ThreadPoolTaskRunner(max_workers=4),  # type: ignore[arg-type] # its class is generic, the flow asks for Any
    persist_result=False,
)
def chat_refresh(rooms: list[str] | None = None, dry_run: bool = False) -> State[Any]:
    """Bring the index up to date with the rooms.

    Args:
        rooms: Ids or aliases of rooms. Leave it out for all rooms that the reader is in and that are in scope.
        dry_run: Tell what would be done, and write nothing.
    """
    return refreshed("chat", lambda current: checked(rooms, current), refresh_room, dry_run=dry_run)


def checked(rooms: Sequence[str] | None, current: Settings) -> list[str]:
    """The rooms to refresh, none meaning all. Raises `Refused` for what names no room, and without `[chat]`."""
    names = named("a room", rooms)
    for place, name in enumerate(rooms or ()):
        if not name.startswith(("!", "#")):
            raise Refused(
                f"rooms[{place}]", f"{name[:200]!r} names no room", next_step="give a room's id (!…) or its alias (#…)"
            )
    return names
