"""The flows `backfill` and `room-rebuild` on a real Prefect server, repository, model and engine."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import prefect.runtime
import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State

from flows.backfill import backfill
from flows.room_rebuild import room_rebuild
from huginn import settings
from huginn.report import now
from huginn.verify import verify
from tests.live.conftest import Host, make_repository
from tests.support.tampering import points_of, remove
from tests.support.workspace import Workspace

pytestmark = pytest.mark.slow


@pytest.fixture
def workspace(host: Host, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Workspace:
    repository = make_repository(tmp_path / "birds", {"nest.md": "herons nest in reeds\n", "sea.md": "ospreys fish\n"})
    config = tmp_path / "huginn.toml"
    config.write_text(
        f'state = "state"\n[forge]\nname = "Test"\n[[forge.repos]]\nname = "birds"\nurl = "{repository}"\n'
    )
    monkeypatch.setenv("HUGINN_CONFIG", str(config))
    assert run(backfill).is_completed()
    return Workspace(tmp_path, {"birds": repository})


def run(flow: object, **parameters: object) -> State:
    return flow(**parameters, return_state=True)  # type: ignore[operator, no-any-return] # a flow of Prefect


def artifact(key: str) -> str:
    with get_client(sync_client=True) as client:
        found = [one for one in client.read_artifacts() if one.key == key]
    return str(max(found, key=lambda one: str(one.created)).data)


def test_a_backfill_mends_and_shows_the_drift(workspace: Workspace) -> None:
    remove(workspace, points_of(workspace, "birds")[0])
    assert run(backfill, sources=["birds"], dry_run=True).is_completed()
    assert len(workspace.points()) == 1
    assert run(backfill).is_completed()
    assert '"missing": 1' in artifact("backfill-forge")
    assert verify(settings.load()).faults == []


def test_a_source_is_taken_in_anew_or_its_points_are_told_to_be_gone(workspace: Workspace) -> None:
    before = workspace.points()
    assert run(room_rebuild, source="birds").is_completed()
    assert workspace.points() == before
    address = Path(str(workspace.repos["birds"]))
    address.rename(address.with_suffix(".away"))
    state = run(room_rebuild, source="birds")
    assert state.is_failed()
    assert "all 2 points of it are gone; the next refresh takes it in again" in (state.message or "")
    assert workspace.points() == {}


def test_parameters_are_checked_before_anything_else(workspace: Workspace) -> None:
    before = workspace.points()
    for flow, parameters in (
        (room_rebuild, {}),
        (room_rebuild, {"source": "wren"}),
        (room_rebuild, {"source": "#room:example.org"}),
        (backfill, {"sources": []}),
        (backfill, {"sources": ["wren"]}),
    ):
        state = run(flow, **parameters)
        assert state.is_failed()
        assert (state.message or "").startswith(("source: ", "sources: "))
    assert workspace.points() == before


def test_a_backfill_that_finds_its_work_done_since_it_was_due_ends_at_once(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    due = now() - timedelta(minutes=1)
    monkeypatch.setitem(vars(prefect.runtime.flow_run), "scheduled_start_time", due)
    before = artifact("backfill-forge")
    state = run(backfill)
    assert state.is_completed()
    assert "nothing to do" in str(state.message)
    assert run(backfill, sources=["birds"]).message == state.message, "a run over all covers it"
    assert artifact("backfill-forge") == before
    monkeypatch.setitem(vars(prefect.runtime.flow_run), "scheduled_start_time", now())
    assert "nothing to do" not in str(run(backfill).message)
