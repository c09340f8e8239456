"""The flow `forge-refresh`: bring the forge corpus up to date with its repositories.

In: names of repositories or none for all, and whether to write. Out: see `flows.refreshing`.

One task per repository, four at a time: refreshing hundreds of repositories is mostly waiting for their hosts, and
four of them keep the processor busy while memory stays small.
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
from huginn.forge.found import known_names
from huginn.run import FLOWS
from huginn.settings import Settings
from tasks.forge import refresh_source


def _name() -> str:
    parameters = prefect.runtime.flow_run.parameters
    return telling.run_name("forge", parameters.get("sources"), dry_run=bool(parameters.get("dry_run")))


@flow(
    name=FLOWS["forge"],
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
    return refreshed("forge", lambda current: checked(sources, current), refresh_source, dry_run=dry_run)


def checked(sources: Sequence[str] | None, current: Settings) -> list[str]:
    """The names to refresh, none meaning all. Raises `Refused` for a name that the settings do not have.

    Where there are places that list repositories, they are asked later: a name may have come since they were last.
    """
    known = known_names(current)
    names = named("a repository", sources)
    for place, name in enumerate(sources or ()):
        if name not in known and not current.forge.discover:
            raise Refused(
                f"sources[{place}]",
                f"the settings have no repository named {name[:200]!r}",
                next_step=f"known are {', '.join(sorted(known)[:20]) or 'none'}",
            )
    return names
