"""Set up a Prefect server for Huginn: work pool, writer's limit, automations, and the deployments of `prefect.yaml`.

In: the server that Prefect's settings name (PREFECT_API_URL). Out: lines telling what is there. Starting it again
changes nothing that is as it should be: `python -m deployments.setup [--notify TYPE/NAME]`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate, GlobalConcurrencyLimitUpdate, WorkPoolCreate
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound
from prefect.workers.process import ProcessWorker

from deployments.automations import NoBlock, make_automations
from flows.writer import WRITER_LIMIT

CHECKOUT = Path(__file__).resolve().parent.parent
POOL = "huginn"


def make_pool(client: SyncPrefectClient) -> str:
    """Make the work pool unless it is there, and tell."""
    pool = WorkPoolCreate(
        name=POOL,
        type="process",
        description="Runs Huginn's flows as processes of the worker's host.",
        base_job_template=ProcessWorker.get_default_base_job_template(),
    )
    try:
        client.create_work_pool(pool)
    except ObjectAlreadyExists:
        return f"work pool {POOL}: there"
    return f"work pool {POOL}: made"


def make_limit(client: SyncPrefectClient) -> str:
    """Make the limit that lets one writer work at a time, or set it right, and tell."""
    try:
        limit = client.read_global_concurrency_limit_by_name(WRITER_LIMIT)
    except ObjectNotFound:
        client.create_global_concurrency_limit(GlobalConcurrencyLimitCreate(name=WRITER_LIMIT, limit=1, active=True))
        return f"limit {WRITER_LIMIT}: made"
    if (limit.limit, limit.active) == (1, True):
        return f"limit {WRITER_LIMIT}: there"
    client.update_global_concurrency_limit(WRITER_LIMIT, GlobalConcurrencyLimitUpdate(limit=1, active=True))
    return f"limit {WRITER_LIMIT}: set to one writer"


def deploy() -> int:
    """Deploy all of `prefect.yaml`; returns the exit code of Prefect's command."""
    return subprocess.run(
        [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all"], cwd=CHECKOUT, check=False
    ).returncode


@click.command()
@click.option("--notify", metavar="TYPE/NAME", help="The block that sends notices of failed runs: slack-webhook/team.")
def main(notify: str | None) -> None:
    """Set up everything."""
    with get_client(sync_client=True) as client:
        click.echo(make_pool(client))
        click.echo(make_limit(client))
        try:
            told = make_automations(client, notify)
        except NoBlock as error:
            raise click.ClickException(str(error)) from None
        for line in told:
            click.echo(line)
    sys.exit(deploy())


if __name__ == "__main__":
    main()
