"""Behind `make run`: everything on this host, from nothing to a search with citations.

In: this checkout, and the variable ONCE (end after the search). Out: a line per step, the answer of a search, the
addresses of Prefect's page and of the run's; exit code 0 only if every step worked.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from types import FrameType

import click

from deployments.processes import Stopped, last_lines
from deployments.server_api import NoAnswer
from deployments.stack import CHECKOUT, LOGS, SETTINGS, Stack, local_stack, own_environment, step

DEPLOYMENT = "forge-refresh"
QUESTION = "how does a run take the writer's lock"
_LEAVING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Leave(BaseException):
    """The process was asked to end; `number` is the signal."""

    def __init__(self, number: int) -> None:
        self.number = number


def main() -> int:
    """Bring everything up, refresh, search, and stay until Ctrl-C unless ONCE is set."""
    for number in _LEAVING:
        signal.signal(number, _leave)
    once = os.environ.get("ONCE", "") not in ("", "0")
    done = False
    began = time.monotonic()
    try:
        with local_stack() as stack:
            run = refresh(stack)
            search()
            click.echo(f"\nAll done in {time.monotonic() - began:.0f} s.")
            click.echo(f"This run:        {stack.server.run_page(run)}")
            click.echo(f"Prefect's page:  {stack.server.page}")
            done = True
            if stack.processes and not once:
                stay(stack)
    except NoAnswer as error:
        return told(Stopped(str(error), LOGS / "server.log"))
    except Stopped as stopped:
        return told(stopped)
    except Leave as leave:
        click.echo("\nStopped.")
        return 0 if done else 128 + leave.number
    return 0


def told(stopped: Stopped) -> int:
    """Tell what did not work, with the end of the log that says why; returns the exit code."""
    click.echo(f"\nThis did not work: {stopped}", err=True)
    click.echo(f"The end of {stopped.log.relative_to(CHECKOUT)}:\n{last_lines(stopped.log)}", err=True)
    return 1


def refresh(stack: Stack) -> str:
    """Start the deployment and follow it to its end; returns the id of the run."""
    run = stack.server.start_run(DEPLOYMENT, DEPLOYMENT)
    with step(f"refresh of this repository, {head()}"):
        while not (state := stack.server.run_state(run)).is_final:
            stack.check()
            time.sleep(0.3)
    if state.type != "COMPLETED":
        raise Stopped(f"the refresh ended as {state.name}. {state.message}", LOGS / "worker.log")
    click.echo(f"    {state.message}")
    return run


def head() -> str:
    """The commit that is indexed, in words."""
    command = ["git", "-C", str(CHECKOUT), "log", "-1", "--format=%h"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return f"commit {commit} (what is not committed is not indexed)" if commit else "which has no commit yet"


def search() -> None:
    """Search through the real command line, and show what it prints."""
    click.echo(f'\n$ huginn search --top-k 3 "{QUESTION}"\n')
    log = LOGS / "search.log"
    with log.open("wb") as errors:
        command = [sys.executable, "-m", "huginn.cli", "search", "--top-k", "3", QUESTION]
        sys.stdout.flush()
        result = subprocess.run(command, env=own_environment(), stdin=subprocess.DEVNULL, stderr=errors, check=False)
    if result.returncode != 0:
        raise Stopped(f"the search ended with exit code {result.returncode}", log)


def stay(stack: Stack) -> None:
    """Stay until a signal comes, or something breaks."""
    click.echo(f"Search yourself: HUGINN_CONFIG={SETTINGS.relative_to(CHECKOUT)} .venv/bin/huginn search TEXT")
    click.echo("All of it stays up until Ctrl-C.")
    while True:
        stack.check()
        time.sleep(1)


def _leave(number: int, _frame: FrameType | None) -> None:
    # A second Ctrl-C must not cut short the ending of what was started.
    for one in _LEAVING:
        signal.signal(one, signal.SIG_IGN)
    raise Leave(number)


if __name__ == "__main__":
    sys.exit(main())
