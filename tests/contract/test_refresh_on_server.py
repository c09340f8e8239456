"""A refresh and a search through real git, embedder and checkpoint store, with the index on a server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import huginn.rules
from huginn.checkpoints import Checkpoints
from huginn.cli import checks
from huginn.errors import Unavailable
from huginn.index import server_retry, server_writer
from huginn.index.opening import open_shelf
from huginn.run import open_run
from huginn.search import SearchResult
from huginn.status import status
from tests.support.faults import Fuse, Killed, fused
from tests.support.git import Repository
from tests.support.qdrant_server import Fault, StandIn
from tests.support.workspace import Workspace, outcomes

MANY = "".join(f"def part{number}():\n    return {number} * 'heron in the water'\n\n\n" for number in range(60))
CHANGED: dict[str | bytes, bytes | str | None] = {
    "many.py": "# moved\n" + MANY.replace("30", "osprey"),
    "b.md": None,
    "c.md": "quince\n",
}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_retry, "sleep", lambda _: None)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "remote.git")
    repository.commit({"many.py": MANY, "b.md": "walrus\n", "src/lib/a.md": "# Kettle\n\nheron and kettle\n"})
    return repository


@pytest.fixture
def workspace(tmp_path: Path, repository: Repository, standin: StandIn) -> Workspace:
    return Workspace(tmp_path, {"repo": repository.path}, index_settings={"url": standin.url, "timeout_seconds": 5})


def embedded_twin(workspace: Workspace) -> Workspace:
    """The same settings with an embedded index, filled from nothing."""
    twin = workspace.fresh("twin")
    twin.index_settings = {}
    twin.refresh()
    return twin


def answers(result: SearchResult) -> dict[str, Any]:
    return result.model_dump(exclude={"took_ms"})


def cursor_of(workspace: Workspace) -> tuple[str | None, bool]:
    collection = open_shelf(workspace.settings).current()
    assert collection is not None
    cursor = Checkpoints(workspace.settings.state).ledger(collection.id, "forge").cursor("repo")
    return cursor.position, cursor.is_open


def test_points_payloads_hits_and_order_are_those_of_the_embedded_index(
    workspace: Workspace, repository: Repository, standin: StandIn
) -> None:
    workspace.refresh()
    repository.commit(CHANGED)
    assert workspace.refresh_one().updated > 0
    standin.restart()  # until it opens a shard again, the engine's weights of words count what was removed too
    twin = embedded_twin(workspace)
    assert workspace.points() == twin.points()
    every: tuple[dict[str, Any], ...] = (
        *({"mode": mode} for mode in ("hybrid", "meaning", "words")),
        {"fold": False, "top_k": 50},
        {"paths": ("src",)},
        {"repos": ("repo",), "mode": "words"},
    )
    for options in every:
        for texts in (("heron in the water",), ("kettle", "part7 osprey")):
            asked = answers(workspace.search(*texts, **options))
            assert asked["hits"]
            assert asked == answers(twin.search(*texts, **options))
    assert [source.outcome for source in workspace.refresh().sources] == ["unchanged"]


@pytest.mark.parametrize("kind", ["reset_before", "reset_after", 503, 429, "unfinished"])
def test_a_refresh_through_faults_that_pass_ends_right(
    workspace: Workspace, repository: Repository, standin: StandIn, kind: str | int
) -> None:
    workspace.refresh()
    repository.commit(CHANGED)
    questions = [] if kind == "unfinished" else ["scroll", "count", "facet"]
    standin.faults = [Fault(kind, only=what) for what in ("upsert", "batch", "delete", *questions)]
    assert workspace.refresh_one().outcome == "ok"
    assert all(fault.times == 0 for fault in standin.faults)
    assert workspace.points() == embedded_twin(workspace).points()


@pytest.mark.parametrize("what", ["scroll", "upsert", "batch", "delete", "count"])
@pytest.mark.parametrize("kind", ["reset_after", 400, "garbage"])
def test_a_refresh_that_meets_a_lasting_fault_leaves_its_cursor_open_where_it_was(
    workspace: Workspace, repository: Repository, standin: StandIn, what: str, kind: str | int
) -> None:
    before = workspace.refresh_one().cursor.after
    repository.commit(CHANGED)
    standin.faults = [Fault(kind, times=1000, only=what)]
    report = workspace.refresh()
    assert outcomes(report) == [("repo", "failed")]
    assert report.unavailable == ["index"]
    assert report.sources[0].cursor.after == before
    standin.faults = []
    position, is_open = cursor_of(workspace)
    assert position == before
    assert is_open or what == "scroll"  # nothing is written before the first look
    assert workspace.refresh_one().outcome == "ok"
    assert workspace.points() == embedded_twin(workspace).points()


def test_a_server_that_goes_away_in_the_middle_of_a_run_costs_nothing_but_the_run(
    workspace: Workspace, repository: Repository, standin: StandIn
) -> None:
    workspace.refresh()
    repository.commit(CHANGED)
    with open_run(workspace.settings) as run, standin.away(), pytest.raises(Unavailable, match="cannot be reached"):
        run.refresh("repo")
    assert workspace.refresh_one().outcome == "ok"
    assert workspace.points() == embedded_twin(workspace).points()


@pytest.mark.parametrize("length", range(0, 40, 6))
def test_a_kill_anywhere_is_mended_by_the_next_run(workspace: Workspace, repository: Repository, length: int) -> None:
    workspace.refresh()
    repository.commit(CHANGED)
    with patch.object(huginn.rules, "versions", lambda: {"chunker": "next"}):
        with fused(Fuse(length)), suppress(Killed):
            workspace.refresh()
        assert workspace.search("heron", mode="words").hits
        workspace.refresh()
        assert workspace.refresh_one().outcome == "unchanged"
        assert workspace.points() == embedded_twin(workspace).points()
        assert len(open_shelf(workspace.settings).others()) <= 1


def test_a_lost_collection_is_made_anew(workspace: Workspace, standin: StandIn) -> None:
    workspace.refresh()
    before = workspace.points()
    (name,) = standin.store.collections
    standin.store.drop(name)
    assert workspace.refresh_one().outcome == "ok"
    assert workspace.points() == before


def test_a_point_that_is_too_large_is_a_failed_place_and_the_others_are_stored(
    workspace: Workspace, repository: Repository
) -> None:
    workspace.refresh()
    assert workspace.paths_with("walrus") == ["b.md"]
    many_words = " ".join(f"seal{number}" for number in range(90))
    repository.commit({"b.md": f"walrus {many_words}\n", "c.md": "quince\n"})
    with patch.object(server_writer, "_MOST_BYTES", 9000):
        report = workspace.refresh_one()
    assert (report.outcome, report.failed, report.seen) == ("ok", 1, 4)
    assert report.stored == 3
    (failed,) = status(workspace.settings).sources[0].failed
    assert failed.item == "b.md"
    assert failed.reason.endswith("bytes are too many for one point of the index")
    assert workspace.paths_with("walrus") == []
    assert workspace.paths_with("quince") == ["c.md"]


def test_status_tells_what_is_noted_without_asking_the_server(workspace: Workspace, standin: StandIn) -> None:
    assert status(workspace.settings).index.label is None
    workspace.refresh()
    points = len(workspace.points())
    with standin.away():
        told = status(workspace.settings)
    assert told.index.label is not None
    assert told.index.label["corpora"] == "forge:Test+chat:rooms"
    assert told.index.points == told.sources[0].points == points
    workspace.index_settings = {"url": "http://127.0.0.1:1"}
    assert status(workspace.settings).index.points is None
    workspace.index_settings = {}
    assert status(workspace.settings).index.points is None


def test_a_note_that_is_damaged_is_no_note(workspace: Workspace) -> None:
    workspace.refresh()
    (workspace.settings.state / "index" / "server.json").write_text("{")
    assert status(workspace.settings).index.points is None
    workspace.refresh()
    assert status(workspace.settings).index.points


def test_doctor_says_whether_the_server_answers_its_version_and_the_label(
    workspace: Workspace, standin: StandIn
) -> None:
    first = checks.index(workspace.settings)
    assert (first.outcome, first.subject) == ("note", standin.url)
    assert first.detail == "Qdrant 1.19.0, there is none yet; 'huginn refresh' makes it"
    workspace.refresh()
    (name,) = standin.store.collections
    well = checks.index(workspace.settings)
    assert well.outcome == "well"
    assert well.detail.startswith(f"Qdrant 1.19.0, collection {name}, ")
    assert well.detail.endswith(" points, made by this model and these rules")
    with patch.object(huginn.rules, "versions", lambda: {"chunker": "next"}):
        other = checks.index(workspace.settings)
    assert other.outcome == "note"
    assert "rules is " in other.detail
    with standin.away():
        away = checks.index(workspace.settings)
    assert (away.outcome, away.next_step) == ("away", "start it, or check index.url")


def test_with_an_embedded_index_the_client_of_a_server_is_never_loaded(
    workspace: Workspace, repository: Repository
) -> None:
    embedded_twin(workspace)
    folder = workspace.root / "twin"
    (folder / "huginn.toml").write_text(
        f'[forge]\nname = "Test"\n[[forge.repos]]\nname = "repo"\nurl = "{repository.path}"\n'
        f"[index]\nmin_free_bytes = 0\n"
    )
    (folder / "state").rename(folder / ".huginn")
    program = (
        "import sys; from huginn.cli import main; code = main(['search', 'heron', '--json']); "
        "sys.exit(code or sum(name in sys.modules for name in ('qdrant_client', 'httpx', 'grpc')))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(huginn.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["hits"]
