"""How the open run reaches the tasks, and what may leave the process through Prefect.

In: a run that a flow has opened. Out: ids and counts alone. Everything that Prefect is given is readable in its API:
parameters, results, exception texts, tracebacks, logs. So the run itself is never a parameter, and the text of an
error that nobody foresaw, which might quote a file, stays in this process's own output.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from huginn.errors import HuginnError, unforeseen
from huginn.run import Run

# A context variable, because Prefect's thread pool runs every task in a copy of the flow's context: the task finds the
# run of its own flow, nothing is serialised, and nothing stays behind when the flow ends. (A runner with processes
# would not work; the index has a single holder, so there can be none.)
_open_run: ContextVar[Run] = ContextVar("huginn_open_run")

# Not below the logger `prefect`, so its lines go to the worker's output and never to Prefect's API.
_here = logging.getLogger("huginn.flows")


@contextmanager
def given_to_tasks(run: Run) -> Iterator[Run]:
    """Let the tasks that are submitted inside find `run`."""
    token = _open_run.set(run)
    try:
        yield run
    finally:
        _open_run.reset(token)


def open_run_here() -> Run:
    """The run that the flow of this task has opened."""
    return _open_run.get()


@contextmanager
def ids_only() -> Iterator[None]:
    """Let errors leave as `HuginnError` alone, which carries ids only, without the errors they were made from."""
    try:
        yield
    except HuginnError as error:
        raise error from None
    except Exception as error:  # it ends here as an error that may leave
        _here.exception("an error nobody foresaw")
        raise unforeseen(error, next_step="the worker's output has the whole of it; report it") from None
