"""SCL-01 at a tenth of its load, as far as repositories are concerned: small writes, no work twice, all of it level."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from huginn.apply import AHEAD, PIECE
from huginn.embed.checked import probe_text
from tests.support.git import EXECUTABLE, Repository
from tests.support.load import Refreshing, make
from tests.support.ollama_server import MODEL, OllamaServer
from tests.support.qdrant_server import StandIn
from tests.support.workspace import Workspace

pytestmark = pytest.mark.slow

FILES = 2000
TEXTS = 3000  # at least
LONGEST_FILE = 40  # texts
MOST_BYTES = 16_000_000
MOST_POINTS = 500
QUESTION = "w0001 w0002"


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return make(tmp_path_factory.mktemp("load"), files=FILES, big_mb=6)


@pytest.fixture
def standin(tmp_path: Path) -> Iterator[StandIn]:
    server = StandIn(tmp_path / "server")
    yield server
    server.stop()
    assert server.violations == []


@pytest.fixture
def ollama() -> Iterator[OllamaServer]:
    with OllamaServer() as server:
        yield server


def fleet(ollama: OllamaServer) -> dict[str, Any]:
    return {"kind": "ollama", "model": MODEL, "urls": [ollama.url]}


def texts_of(ollama: OllamaServer) -> list[str]:
    """What the embedder was sent for the index."""
    return [text for text in ollama.state.texts if text not in (probe_text(), QUESTION)]


def timed(workspace: Workspace) -> Any:
    began = time.monotonic()
    report = workspace.refresh_one()
    assert time.monotonic() - began < 60
    return report


def test_a_large_load_is_written_in_small_requests_and_then_only_what_changes(
    tmp_path: Path, load: Repository, standin: StandIn, ollama: OllamaServer
) -> None:
    repository = Repository(tmp_path / "remote.git")
    repository.git("fetch", "-q", str(load.path), "main:main")
    workspace = Workspace(
        tmp_path, {"repo": repository.path}, index_settings={"url": standin.url}, embedder=fleet(ollama)
    )
    refreshing = Refreshing(workspace)
    answered = 0
    while refreshing.is_at_work:
        if standin.asked("upsert"):
            began = time.monotonic()
            hits = workspace.search(QUESTION).hits
            assert time.monotonic() - began < 5
            answered += refreshing.is_at_work and bool(hits)
        time.sleep(0.2)
    first = refreshing.report()
    assert answered
    assert (first["outcome"], first["skipped"], first["failed"]) == ("ok", {"size": 1}, 0)
    assert first["seen"] == FILES + 2
    assert first["embedded"] == first["written"] == first["chunks"] == len(texts_of(ollama))
    writes = [*standin.asked("upsert"), *standin.asked("batch"), *standin.asked("delete")]
    assert max(write.size for write in writes) < MOST_BYTES
    assert max(len(write.body.points) for write in standin.asked("upsert")) <= MOST_POINTS
    assert workspace.paths_with("deepword") == ["n/" * 120 + "deep.md"]

    ollama.forget()
    again = timed(workspace)
    assert (again.outcome, again.embedded, texts_of(ollama)) == ("unchanged", 0, [])

    changed = "d007/e07/f000007.md"
    repository.commit({changed: "file000007\n\nmarmalade\n"})
    assert timed(workspace).embedded == 1
    (text,) = texts_of(ollama)
    assert "f000007.md" in text
    assert workspace.paths_with("marmalade") == [changed]

    before = workspace.points()
    paths = {id: str(payload["path"]) for id, (payload, _) in before.items()}  # type: ignore[index] # a payload is a dict
    gone = {id for id, path in paths.items() if path.startswith("d000/")}
    listed = repository.git("ls-tree", "-r", "--name-only", "main", "d000").splitlines()
    assert len(listed) == FILES // 200
    repository.commit(dict.fromkeys(listed))
    assert timed(workspace).removed == len(gone) > len(listed)
    assert workspace.points() == {id: point for id, point in before.items() if id not in gone}
    assert max(len(request.body.points) for request in standin.asked("delete")) <= MOST_POINTS


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_run_that_was_killed_embeds_again_only_what_was_in_flight(
    tmp_path: Path, load: Repository, ollama: OllamaServer, share: float
) -> None:
    workspace = Workspace(tmp_path, {"repo": load.path}, embedder=fleet(ollama))
    refreshing = Refreshing(workspace)
    while len(texts_of(ollama)) < share * TEXTS:
        assert refreshing.is_at_work
        time.sleep(0.01)
    refreshing.kill()
    before = set(texts_of(ollama))
    ollama.forget()
    second = workspace.refresh_one()
    after = texts_of(ollama)
    assert second.embedded == len(after) == len(set(after)) > 0
    assert len(before | set(after)) == second.chunks
    assert len(before & set(after)) <= PIECE * AHEAD + LONGEST_FILE


def test_four_times_the_load_takes_no_more_memory_files_or_processes(tmp_path: Path, load: Repository) -> None:
    quarter = make(tmp_path / "quarter", files=FILES // 4, big_mb=6)
    seen = []
    for name, repository in (("one", quarter), ("four", load)):
        (tmp_path / name).mkdir()
        refreshing = Refreshing(Workspace(tmp_path / name, {"repo": repository.path}))
        assert refreshing.report()["outcome"] == "ok"
        seen.append(refreshing)
    one, four = seen
    assert four.peak_kib < 1 << 20
    assert four.peak_kib < one.peak_kib + (100 << 10)
    assert four.files <= one.files + 10
    assert four.children <= one.children + 2


def test_a_point_that_the_server_does_not_take_is_told_and_all_others_are_stored(
    tmp_path: Path, standin: StandIn
) -> None:
    def files(word: str) -> dict[str | bytes, bytes | str | None]:
        return {"a.md": f"walrus {word}\n", "b.md": f"heron {word} " + "\N{HERB}" * 500, "c.md": f"osprey {word}\n"}

    repository = Repository(tmp_path / "remote.git")
    repository.commit(files("one"))
    workspace = Workspace(tmp_path, {"repo": repository.path}, index_settings={"url": standin.url})
    assert workspace.refresh_one().failed == 0
    takes_all = standin.largest_body

    standin.largest_body = 2000  # the same texts in another commit: payloads alone
    changed = repository.commit(files("one"), mode=EXECUTABLE)
    report = workspace.refresh_one()
    assert (report.outcome, report.failed, report.updated, report.written) == ("ok", 1, 2, 0)
    assert {(payload["path"], payload["commit"]) for payload in workspace.payloads()} == {
        ("a.md", changed),
        ("c.md", changed),
    }

    points = [point for write in standin.asked("upsert") for point in write.body.points]
    sizes = sorted(len(point.model_dump_json().encode()) for point in points)
    standin.largest_body = (sizes[-1] + sizes[-2]) // 2
    repository.commit(files("two"))
    report = workspace.refresh_one()
    assert (report.outcome, report.failed, report.written) == ("ok", 1, 2)
    assert workspace.paths_with("two") == ["a.md", "c.md"]

    standin.largest_body = takes_all
    repository.commit(files("three"))
    assert workspace.refresh_one().failed == 0
    assert workspace.paths_with("three") == ["a.md", "b.md", "c.md"]
