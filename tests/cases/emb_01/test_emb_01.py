"""Ten small files, the fourth holds "poisonword", and a server that does what the table says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import huginn.rules
from huginn.checkpoints import Checkpoints
from huginn.cli import main
from huginn.embed.fleet import Fleet
from huginn.embed.port import Vector
from huginn.embed.roster import Seat
from huginn.errors import Refused, Unavailable
from huginn.index.opening import open_shelf
from huginn.index.port import Place
from huginn.status import status
from tests.support.git import Repository
from tests.support.ollama_server import MODEL, OllamaServer, vector_of
from tests.support.workspace import Workspace, cited, outcomes

BIRDS = ("heron", "osprey", "walrus", "poisonword", "quince", "seal", "marmalade", "plover", "curlew", "dunlin")
FILES: dict[str | bytes, bytes | str | None] = {
    f"file{number}.md": f"about the {bird} and its doings\n" for number, bird in enumerate(BIRDS, 1)
}


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with OllamaServer() as server:
        yield server


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "remote.git")
    repository.commit(FILES)
    return repository


@pytest.fixture
def workspace(tmp_path: Path, repository: Repository, server: OllamaServer) -> Workspace:
    return Workspace(tmp_path, {"repo": repository.path}, embedder=embedder(server.url))


def embedder(*urls: str, **more: Any) -> dict[str, Any]:
    times = {"timeout_seconds": 0.5, "query_timeout_seconds": 0.5, "retry_seconds": 0.02}
    return {"kind": "ollama", "model": MODEL, "urls": urls} | times | more


def by_meaning(workspace: Workspace) -> set[str]:
    """The paths of all points that have a vector."""
    with workspace.index() as index:
        return {str(point.payload["path"]) for point in index.stored(Place()) if point.has_vector}


def is_open(workspace: Workspace) -> bool:
    with workspace.index() as index:
        return Checkpoints(workspace.settings.state).ledger(index.id, "forge").cursor("repo").is_open


def every_vector_is_of_its_own_text(workspace: Workspace, server: OllamaServer) -> None:
    """Above all: no text is stored with its neighbour's vector."""
    for payload, vector in workspace.points().values():
        if vector is not None:
            assert isinstance(payload, dict)
            assert isinstance(vector, bytes)
            text = server.state.sent[payload["embedded_sha256"]]
            assert np.frombuffer(vector, np.float32) == pytest.approx(vector_of(text, server.state), abs=1e-5)


def test_ok_ten_files_are_searchable_and_a_second_run_makes_no_call(workspace: Workspace, server: OllamaServer) -> None:
    report = workspace.refresh_one()
    assert (report.outcome, report.stored, report.embedded, report.words_only) == ("ok", 10, 10, 0)
    every_vector_is_of_its_own_text(workspace, server)
    assert server.state.asked_to_truncate == {False}
    assert "file1.md" in [cited(hit).path for hit in workspace.search("the heron", mode="meaning", top_k=3).hits]
    server.forget()
    assert workspace.refresh_one().outcome == "unchanged"
    assert server.state.calls == 0


def test_nan_the_culprit_is_stored_by_its_words_and_holds_nobody_back(
    workspace: Workspace, server: OllamaServer, repository: Repository
) -> None:
    server.state.mode = "nan"
    report = workspace.refresh_one()
    assert (report.outcome, report.stored, report.words_only, report.failed) == ("ok", 10, 1, 0)
    assert by_meaning(workspace) == {*FILES} - {"file4.md"}
    every_vector_is_of_its_own_text(workspace, server)
    assert workspace.paths_with("poisonword") == ["file4.md"]
    [item] = status(workspace.settings).sources[0].words_only
    assert (item.item, item.reason) == ("file4.md", "result holds NaN (HTTP 500)")
    assert not is_open(workspace)
    server.forget()
    repository.commit({"file11.md": "about the knot\n"})
    assert workspace.refresh_one().words_only == 1
    assert not any("poisonword" in text for text in server.state.texts)


def test_nan_the_culprit_is_tried_again_when_the_model_changes(workspace: Workspace, server: OllamaServer) -> None:
    server.state.mode = "nan"
    workspace.refresh()
    server.state.mode, server.state.digest = "ok", "sha256:bbb"
    another = workspace.fresh()
    assert another.refresh_one().words_only == 0
    assert by_meaning(another) == {*FILES}


def test_a_servers_reason_that_quotes_the_text_is_not_repeated(workspace: Workspace, server: OllamaServer) -> None:
    server.state.mode = "refuse"
    assert workspace.refresh_one().words_only == 1
    [item] = status(workspace.settings).sources[0].words_only
    assert item.reason == "HTTP 400"


@pytest.mark.parametrize("mode", ["empty", "hole", "null", "nanvalue", "zero", "wrongdim", "mixdim", "html"])
def test_an_answer_that_is_wrong_anywhere_is_refused_whole_and_nothing_of_it_is_written(
    workspace: Workspace, server: OllamaServer, repository: Repository, mode: str
) -> None:
    workspace.refresh()
    before = workspace.points()
    repository.commit({"new1.md": "about the knot\n", "new2.md": "about the stint\n"})
    server.state.mode = mode
    report = workspace.refresh()
    assert (outcomes(report), report.unavailable) == ([("repo", "failed")], ["embedder"])
    assert workspace.points() == before
    assert is_open(workspace)
    server.state.mode = "ok"
    every_vector_is_of_its_own_text(workspace, server)


def test_a_host_that_breaks_in_the_middle_writes_nothing_wrong(workspace: Workspace, server: OllamaServer) -> None:
    """It embeds the probe at first, so that it is the check of each answer that bites."""
    probed = Fleet._probed

    def break_afterwards(self: Fleet, seat: Seat) -> Vector:
        vector = probed(self, seat)
        server.state.mode = "mixdim"
        return vector

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Fleet, "_probed", break_afterwards)
        report = workspace.refresh()
    assert server.state.mode == "mixdim"
    assert report.unavailable == ["embedder"]
    assert workspace.points() == {}


def test_short_an_answer_that_lacks_a_vector_is_halved_until_every_text_has_its_own(
    workspace: Workspace, server: OllamaServer
) -> None:
    server.state.mode = "short"
    assert workspace.refresh_one().outcome == "ok"
    assert by_meaning(workspace) == {*FILES}
    every_vector_is_of_its_own_text(workspace, server)


@pytest.mark.parametrize("length", [250, 1000])
def test_limit_a_text_that_is_too_long_is_shortened_for_the_model_and_told(
    workspace: Workspace, server: OllamaServer, repository: Repository, length: int
) -> None:
    """250 fits by the estimate, and is refused with 400; 1,000 is shortened before it is sent."""
    long = "osprey " * (length // 7)
    repository.commit({"long.md": f"{long}\n", "again.md": f"{long} too\n"})
    server.state.limit = 200
    report = workspace.refresh_one()
    assert (report.outcome, report.failed, report.words_only, report.shortened) == ("ok", 0, 0, 2)
    assert report.seen == report.stored == 12
    assert by_meaning(workspace) == {*FILES, "long.md", "again.md"}
    assert "osprey osprey" in next(p["text"] for p in workspace.payloads() if p["path"] == "long.md")
    assert [item.item for item in status(workspace.settings).sources[0].shortened] == ["again.md", "long.md"]
    refused = [batch for batch, code in answered(server) if code == 400]
    assert len(refused) == len({tuple(batch) for batch in refused}) > 0  # never the same again
    again = workspace.refresh_one()
    assert (again.outcome, again.shortened) == ("unchanged", 2)


def answered(server: OllamaServer) -> list[tuple[list[str], int]]:
    """Every batch with its status; embedding is the only thing that this server refuses with 400."""
    kept = server.state.batches
    limit = server.state.limit
    return [(batch, 400 if any(len(text) > limit for text in batch) else 200) for batch in kept]


def test_shortened_files_are_told_after_a_lost_store_too(
    workspace: Workspace, server: OllamaServer, repository: Repository
) -> None:
    repository.commit({"long.md": "osprey " * 80 + "\n"})
    server.state.limit = 200
    workspace.refresh()
    workspace.lose_checkpoints()
    report = workspace.refresh_one()
    assert (report.embedded, report.shortened) == (0, 1)


def test_ids_chunks_and_words_do_not_depend_on_the_limit(
    workspace: Workspace, server: OllamaServer, repository: Repository
) -> None:
    repository.commit({"long.md": "osprey " * 80 + "\n"})
    workspace.refresh()
    whole = {point: held[0] for point, held in workspace.points().items()}
    server.state.limit = 200
    short = workspace.fresh()
    short.refresh()
    assert {point: held[0] for point, held in short.points().items()} == whole


def test_flaky_all_are_searchable_with_few_extra_calls(workspace: Workspace, server: OllamaServer) -> None:
    server.state.mode = "flaky"
    report = workspace.refresh_one()
    assert (report.outcome, report.words_only, report.written) == ("ok", 0, 10)
    assert server.state.calls <= 4
    server.state.mode = "ok"
    every_vector_is_of_its_own_text(workspace, server)


def test_busy_waits_and_goes_on(workspace: Workspace, server: OllamaServer) -> None:
    server.state.mode = "busy"
    report = workspace.refresh_one()
    assert (report.outcome, report.stored) == ("ok", 10)
    assert server.state.statuses.count(503) == 4


@pytest.mark.parametrize("mode", ["slow", "eof", "down"])
def test_away_the_run_fails_for_the_embedder_and_what_is_gone_upstream_goes(
    workspace: Workspace, server: OllamaServer, repository: Repository, mode: str
) -> None:
    cursor = workspace.refresh_one().cursor.after
    repository.commit({"file1.md": None, "file2.md": "about the ruff\n"})
    server.down() if mode == "down" else setattr(server.state, "mode", mode)
    server.forget()
    report = workspace.refresh()
    assert (outcomes(report), report.unavailable) == ([("repo", "failed")], ["embedder"])
    assert report.sources[0].cursor.after == cursor
    assert is_open(workspace)
    assert workspace.paths_with("heron") == []
    assert workspace.paths_with("osprey") == ["file2.md"]
    assert workspace.paths_with("ruff") == []
    assert server.state.calls <= 3
    if mode == "down":
        server.up()
    server.state.mode = "ok"
    assert workspace.refresh_one().outcome == "ok"
    assert workspace.paths_with("ruff") == ["file2.md"]


@pytest.mark.parametrize("mode", ["slow", "eof", "down"])
def test_away_a_search_says_so_and_words_still_answer(
    workspace: Workspace, server: OllamaServer, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.refresh()
    server.down() if mode == "down" else setattr(server.state, "mode", mode)
    for how in ("meaning", "hybrid"):
        with pytest.raises(Unavailable, match=r"embedder: .*127\.0\.0\.1:"):
            workspace.search("heron", mode=how)
    assert workspace.paths_with("heron") == ["file1.md"]
    settings = workspace.root / "huginn.toml"
    settings.write_text(
        f'state = "state"\n[embedder]\nkind = "ollama"\nmodel = "{MODEL}"\nurls = ["{server.url}"]\n'
        "query_timeout_seconds = 0.5\nretry_seconds = 0.02\n[index]\nmin_free_bytes = 0\n"
    )
    assert main(["--config", str(settings), "search", "heron"]) == 3
    told = capsys.readouterr()
    assert "embedder" in told.err
    assert told.out == ""


def test_missing_names_the_model_before_any_document_is_taken_apart(
    workspace: Workspace, server: OllamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.state.mode = "missing"
    monkeypatch.setattr("huginn.forge.intake.refresh", lambda *_: pytest.fail("a source was looked at"))
    with pytest.raises(Refused, match=r"fake-embed:latest.*ollama pull fake-embed:latest"):
        workspace.refresh()
    assert server.state.calls == 0
    assert not (workspace.settings.state / "index").exists()


@pytest.mark.parametrize("change", [{"dim": 96}, {"digest": "sha256:bbb", "salt": "other"}])
def test_another_model_behind_the_name_is_noticed_and_built_beside_never_mixed(
    workspace: Workspace, server: OllamaServer, repository: Repository, change: dict[str, Any]
) -> None:
    workspace.refresh()
    old = open_shelf(workspace.settings).current()
    assert old is not None
    for name, value in change.items():
        setattr(server.state, name, value)
    repository.commit({"new.md": "about the knot\n"})
    asking = replace(workspace, index_settings={"rebuild": "ask"})
    with pytest.raises(Refused, match=r"another model: .*(dimensions|digest) is .*, not .*huginn rebuild --all"):
        asking.refresh()
    with pytest.raises(Refused, match=r"fake-embed:latest .*not to be had any more.*--mode words"):
        workspace.search("heron")
    assert workspace.paths_with("heron") == ["file1.md"]
    assert workspace.paths_with("knot") == []
    report = workspace.refresh()
    assert report.rebuild is not None
    assert (report.rebuild.switched, report.rebuild.carried) == (True, False)
    assert by_meaning(workspace) == {*FILES, "new.md"}
    every_vector_is_of_its_own_text(workspace, server)
    assert [other.id for other in open_shelf(workspace.settings).others()] == [old.id]


def test_while_another_model_of_the_same_hosts_is_built_the_old_one_answers(
    workspace: Workspace, server: OllamaServer
) -> None:
    workspace.refresh()
    server.state.also = "another:latest"
    changed = replace(workspace, embedder=embedder(server.url, model="another", query_instruction="Find it"))
    assert changed.search("the heron", mode="meaning").hits
    assert not any("Find it" in text for text in server.state.texts)
    assert changed.refresh().rebuild is not None
    assert changed.search("the heron", mode="meaning").hits
    assert "Instruct: Find it\nQuery: the heron" in server.state.texts


def test_going_over_to_a_fleet_the_old_index_answers_by_its_own_model_even_while_the_hosts_are_away(
    workspace: Workspace, server: OllamaServer
) -> None:
    replace(workspace, embedder={}).refresh()
    server.down()
    assert workspace.search("the heron", mode="meaning").hits


def test_an_index_that_takes_over_vectors_takes_over_the_witness(
    workspace: Workspace, server: OllamaServer, repository: Repository
) -> None:
    workspace.refresh()
    repository.commit({"new.md": "about the knot\n"})
    server.state.salt = "other"
    versions = {**huginn.rules.versions(), "chunker": "next"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(huginn.rules, "versions", lambda: versions)
        report = workspace.refresh()
    assert outcomes(report) == [("repo", "failed")]
    assert "gives other vectors" in str(report.sources[0].reason)


def test_a_model_that_is_replaced_in_the_middle_of_a_run_writes_nothing(
    workspace: Workspace, server: OllamaServer, repository: Repository
) -> None:
    workspace.refresh()
    repository.commit({"new.md": "about the knot\n", "file1.md": None})
    server.state.digest_after = (server.state.calls + 2, "sha256:bbb")  # the probe is still of the old one
    report = workspace.refresh()
    assert outcomes(report) == [("repo", "failed")]
    assert "has changed, from aaa to bbb" in str(report.sources[0].reason)
    assert by_meaning(workspace) == {*FILES} - {"file1.md"}
    assert is_open(workspace)


def test_other_vectors_under_the_same_digest_are_noticed_by_the_probe(
    workspace: Workspace, server: OllamaServer, repository: Repository
) -> None:
    workspace.refresh()
    repository.commit({"new.md": "about the knot\n", "file1.md": None})
    server.state.salt = "other"
    report = workspace.refresh()
    assert outcomes(report) == [("repo", "failed")]
    assert "gives other vectors" in str(report.sources[0].reason)
    assert by_meaning(workspace) == {*FILES} - {"file1.md"}
    assert server.state.texts[-1].startswith("The quick brown fox")


@pytest.mark.parametrize("rules", [False, True])
def test_where_a_model_gives_other_vectors_a_rebuild_makes_all_of_them_anew(
    workspace: Workspace, server: OllamaServer, repository: Repository, monkeypatch: pytest.MonkeyPatch, rules: bool
) -> None:
    workspace.refresh()
    repository.commit({"new.md": "about the knot\n", "file1.md": None})
    server.state.salt = "other"
    if rules:  # other rules at the same time: then an index is building already, with vectors that were carried over
        versions = {**huginn.rules.versions(), "chunker": "next"}
        monkeypatch.setattr(huginn.rules, "versions", lambda: versions)
    assert "'huginn rebuild --all'" in str(workspace.refresh_one().reason)
    report = workspace.refresh(rebuild=True)
    assert report.rebuild is not None
    assert (report.rebuild.switched, report.rebuild.carried) == (True, False)
    (source,) = report.sources
    assert source.embedded == source.chunks
    fresh = workspace.fresh()
    fresh.refresh()
    assert workspace.points() == fresh.points()
    assert open_shelf(workspace.settings).others() == []
    again = workspace.refresh(rebuild=True)
    assert (again.rebuild, outcomes(again)) == (None, [("repo", "unchanged")])


def test_only_the_version_changed_is_told_once_and_written_down_and_nothing_is_built_anew(
    workspace: Workspace, server: OllamaServer
) -> None:
    workspace.refresh()
    before = workspace.points()
    server.forget()
    server.state.version = "0.0.2"
    assert workspace.refresh(dry_run=True).notes == workspace.refresh().notes
    report = workspace.refresh()
    assert (report.notes, outcomes(report)) == ([], [("repo", "unchanged")])
    with workspace.index() as index:
        assert index.witness.software == ("ollama 0.0.2",)
        assert len(index.witness.probe) == 64
    assert (workspace.points(), server.state.calls) == (before, 0)


def test_the_note_about_the_version_names_both(workspace: Workspace, server: OllamaServer) -> None:
    workspace.refresh()
    server.state.version = "0.0.2"
    [note] = workspace.refresh().notes
    assert "ollama 0.0.2 now" in note
    assert "ollama 0.0.1" in note
