"""The deployment on a real Prefect server, run by a real worker on real repositories."""

from __future__ import annotations

import json
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from deployments.server_api import RunState
from huginn.lock import holder, writer_lock
from tests.live.conftest import PATIENCE, Host, make_repository

pytestmark = pytest.mark.slow

CANARY = "the-words-of-a-file-that-stay-here"
FLOW = "forge-refresh"


@pytest.fixture(scope="module")
def team(worker: Host, tmp_path_factory: pytest.TempPathFactory) -> Host:
    """The host with two repositories in its settings."""
    folder = tmp_path_factory.mktemp("repositories")
    repositories = {name: make_repository(folder / name, {"a.py": f"# {CANARY}\n"}) for name in ("Huginn", "Muninn")}
    write_settings(worker, {name: str(path) for name, path in repositories.items()})
    return worker


def write_settings(host: Host, repositories: dict[str, str]) -> None:
    tables = [f'[[forge.repos]]\nname = "{name}"\nurl = "{url}"\n' for name, url in repositories.items()]
    host.config.write_text('state = "state"\n[forge]\nname = "team"\n' + "".join(tables), encoding="utf-8")


def ended(host: Host, run: str) -> RunState:
    deadline = time.monotonic() + PATIENCE
    while not (state := host.server.run_state(run)).is_final:
        assert time.monotonic() < deadline, f"{state}\n{(host.folder / 'worker.log').read_text()}"
        time.sleep(0.3)
    return state


def rows(host: Host, run: str) -> dict[str, dict[str, Any]]:
    """The table on the run's page, by source."""
    artifacts = host.server.ask("/artifacts/filter", {"artifacts": {"flow_run_id": {"any_": [run]}}})
    assert [(artifact["key"], artifact["type"]) for artifact in artifacts] == [(FLOW, "table")]
    return {row["source"]: row for row in json.loads(artifacts[0]["data"])}


@pytest.fixture(scope="module")
def first_run(team: Host) -> str:
    """The id of a run over all repositories that has ended."""
    run = team.server.start_run(FLOW, FLOW)
    ended(team, run)
    return run


def test_the_deployment_refreshes_every_repository_and_tells_ids_and_counts_alone(team: Host, first_run: str) -> None:
    run = first_run
    state = team.server.run_state(run)
    assert state.type == "COMPLETED", state
    assert "2 sources" in state.message
    table = rows(team, run)
    assert sorted(table) == ["Huginn", "Muninn"]
    assert {row["outcome"] for row in table.values()} == {"ok"}
    assert all(row["files"] == 1 and row["written"] for row in table.values())
    tasks = team.server.ask("/task_runs/filter", {"flow_runs": {"id": {"any_": [run]}}})
    assert sorted(task["name"] for task in tasks) == ["Huginn", "Muninn"]
    assert team.server.ask(f"/flow_runs/{run}")["name"] == "forge: all"
    leaked = CANARY.encode() in team.kept_by_prefect()
    assert not leaked
    assert CANARY not in (team.folder / "worker.log").read_text()
    assert not (team.folder / "prefect" / "storage").exists(), "a result was persisted"


def test_a_late_run_whose_work_has_been_done_since_ends_at_once(team: Host, first_run: str) -> None:
    began = datetime.fromisoformat(team.server.ask(f"/flow_runs/{first_run}")["start_time"])
    late = (began - timedelta(seconds=5)).isoformat()
    scheduled = {"type": "SCHEDULED", "state_details": {"scheduled_time": late}}

    run = team.server.start_run(FLOW, FLOW, state=scheduled)

    state = ended(team, run)
    assert state.type == "COMPLETED", state
    assert "has done this work since" in state.message
    assert team.server.ask("/task_runs/filter", {"flow_runs": {"id": {"any_": [run]}}}) == []


def test_a_repository_that_cannot_be_had_fails_the_run_after_the_others_are_done(team: Host, tmp_path: Path) -> None:
    before = team.config.read_text(encoding="utf-8")
    new = make_repository(tmp_path / "new", {"b.py": "# new\n"})
    write_settings(team, {"Bad": "ext::sh -c true", "New": str(new)})
    # A writer outside of Prefect, such as the command line, is waited for.
    with writer_lock(team.folder / "state", "a test"):
        run = team.server.start_run(FLOW, FLOW)
        deadline = time.monotonic() + PATIENCE
        while team.server.run_state(run).type != "RUNNING":
            assert time.monotonic() < deadline
            time.sleep(0.3)
        time.sleep(2)
        assert team.server.run_state(run).type == "RUNNING", "the run went on without the lock"

    state = ended(team, run)

    team.config.write_text(before, encoding="utf-8")
    assert state.type == "FAILED", state
    assert state.message.startswith("1 of 4 sources failed. Bad: "), state.message
    table = rows(team, run)
    assert {table[name]["outcome"] for name in ("Huginn", "Muninn")} == {"forgotten"}
    assert table["Bad"]["outcome"] in ("refused", "failed")
    assert (table["New"]["outcome"], table["New"]["files"]) == ("ok", 1)
    assert holder(team.folder / "state") is None
