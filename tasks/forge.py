"""The task of the forge corpus: one per repository, with its name, retries and time limit. No logic.

In: the name of a repository; the open run comes through `tasks.open_run`. Out: its report, ids and counts only.
"""

from __future__ import annotations

import logging
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State

from huginn.errors import Unavailable
from huginn.report import SourceReport
from tasks.open_run import ids_only, open_run_here


def _is_news(record: logging.LogRecord) -> bool:
    """Leave out Prefect's warning, at every single task, that a time limit cannot interrupt a call that blocks.

    It is known: what blocks is git, which has a time limit of its own.
    """
    return not record.getMessage().startswith("Timeout of ")


logging.getLogger("prefect.task_runs").addFilter(_is_news)


def may_help(_task: object, _task_run: object, state: State[Any]) -> bool:
    """Whether another try may help: a part is away. A refusal or a defect would only come again."""
    return isinstance(state.data, Unavailable)


@task(
    name="forge-refresh-source",
    task_run_name="{source}",
    retries=3,
    retry_delay_seconds=[2, 10, 30],
    retry_condition_fn=may_help,
    # The first look at a gigabyte of text takes a quarter of an hour. What is cut off is mended by the next run.
    timeout_seconds=3600,
    cache_policy=NO_CACHE,
    persist_result=False,
)
def refresh_source(source: str) -> SourceReport:
    """Refresh one repository in the run that the flow has opened."""
    with ids_only():
        return open_run_here().refresh(source)
