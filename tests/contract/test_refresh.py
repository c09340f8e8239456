"""A refresh through real git, engine, embedder and checkpoint store: what it costs, and how it fails."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import huginn.forge.intake
import huginn.forge.sync
from huginn.checkpoints import Checkpoints
from huginn.embed import BatchFailed
from huginn.embed.wordllama import WordLlamaEmbedder
from huginn.errors import Busy, Refused, Unavailable
from huginn.index.embedded import EmbeddedWriter
from huginn.lock import writer_lock
from huginn.run import open_run
from huginn.status import status
from tests.support.faults import Fuse, Killed, fused
from tests.support.git import EXECUTABLE, LINK, SUBMODULE, Repository, environment
from tests.support.workspace import Workspace, outcomes

MANY = "".join(f"def part{number}():\n    return {number} * 'heron in the water'\n\n\n" for number in range(120))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "remote.git")
    repository.commit({"many.py": MANY, "b.md": "walrus\n"})
    return repository


@pytest.fixture
def workspace(tmp_path: Path, repository: Repository) -> Workspace:
    return Workspace(tmp_path, {"repo": repository.path})


def is_level(workspace: Workspace) -> bool:
    fresh = workspace.fresh()
    fresh.refresh()
    return workspace.points() == fresh.points()


def test_lines_that_move_cost_no_embedding(workspace: Workspace, repository: Repository) -> None:
    first = workspace.refresh_one()
    assert first.embedded == first.chunks > 5
    repository.commit({"many.py": "# a comment\n# and another\n" + MANY})
    second = workspace.refresh_one()
    assert second.embedded <= 2
    assert second.updated >= first.chunks - 4
    assert is_level(workspace)


def test_only_what_the_index_does_not_hold_is_embedded_after_a_lost_store(workspace: Workspace) -> None:
    workspace.refresh()
    before = workspace.points()
    workspace.lose_checkpoints()
    report = workspace.refresh_one()
    assert (report.outcome, report.embedded, report.written, report.updated, report.removed) == ("ok", 0, 0, 0, 0)
    assert workspace.points() == before


def test_a_lost_index_is_found_without_an_error_and_filled_again(workspace: Workspace) -> None:
    workspace.refresh()
    before = workspace.points()
    for folder in (workspace.settings.state / "index").glob("*/"):
        for path in sorted(folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
    assert workspace.refresh_one().outcome == "ok"
    assert workspace.points() == before


def test_points_that_vanished_from_the_index_are_noticed_by_their_number(workspace: Workspace) -> None:
    workspace.refresh()
    before = workspace.points()
    with workspace.index() as index:
        writer = index.writer("forge", "repo")
        writer.remove(list(before)[:2])
        writer.acknowledge()
    report = workspace.refresh_one()
    assert (report.outcome, report.written) == ("ok", 2)
    assert workspace.points() == before


def test_a_failed_write_leaves_the_cursor_where_it_was(workspace: Workspace, repository: Repository) -> None:
    cursor = workspace.refresh_one().cursor.after
    repository.commit({"c.md": "osprey\n"})

    def fail(self: EmbeddedWriter, points: Any) -> None:
        raise Unavailable("index", "no")

    with patch.object(EmbeddedWriter, "upsert", fail):
        report = workspace.refresh()
    assert outcomes(report) == [("repo", "failed")]
    assert report.unavailable == ["index"]
    assert report.sources[0].cursor.after == cursor
    with workspace.index() as index:
        stored = Checkpoints(workspace.settings.state).ledger(index.id, "forge").cursor("repo")
    assert (stored.position, stored.is_open) == (cursor, True)
    assert workspace.refresh_one().outcome == "ok"
    assert is_level(workspace)


@pytest.mark.parametrize("length", range(0, 24))
def test_a_kill_anywhere_followed_by_a_push_back_ends_right(
    workspace: Workspace, repository: Repository, length: int
) -> None:
    workspace.refresh()
    old = repository.head
    repository.commit({"many.py": MANY.replace("heron", "osprey"), "b.md": None, "c.md": "quince\n"})
    with fused(Fuse(length)) as fuse:
        try:
            workspace.refresh()
        except Killed:
            assert fuse.burnt == length
    repository.reset(old)
    assert workspace.refresh_one().outcome in ("ok", "unchanged")
    assert is_level(workspace)


def test_the_kills_above_reach_the_last_effect(workspace: Workspace, repository: Repository) -> None:
    workspace.refresh()
    repository.commit({"many.py": MANY.replace("heron", "osprey"), "b.md": None, "c.md": "quince\n"})
    with fused(Fuse()) as fuse:
        workspace.refresh()
    assert 16 <= fuse.burnt <= 24


def test_a_second_try_in_the_same_run_compares_everything(workspace: Workspace, repository: Repository) -> None:
    """Upstream moves on between two tries: what the first has written half must not be taken for level."""
    workspace.refresh()
    old = repository.head
    repository.commit({"b.md": "seal\n", "many.py": MANY.replace("heron", "osprey")})
    with open_run(workspace.settings) as run:
        failing = patch.object(EmbeddedWriter, "acknowledge", side_effect=Unavailable("index", "no"))
        with failing, pytest.raises(Unavailable):
            run.refresh("repo")
        repository.reset(old)
        repository.commit({"c.md": "quince\n"})
        run.finish([run.refresh("repo")])
    assert is_level(workspace)
    assert workspace.paths_with("seal") == []


def test_without_an_embedder_what_is_gone_upstream_goes_and_what_is_replaced_stays(
    workspace: Workspace, repository: Repository
) -> None:
    repository.commit({"c.md": "quince\n"})
    cursor = workspace.refresh_one().cursor.after
    repository.commit({"b.md": None, "many.py": MANY.replace("heron", "osprey")})
    repository.commit({"c.md": "many.py"}, mode=LINK)

    def away(self: WordLlamaEmbedder, texts: Any) -> Any:
        raise Unavailable("embedder", "it is away")

    with patch.object(WordLlamaEmbedder, "embed", away):
        report = workspace.refresh()
    assert report.unavailable == ["embedder"]
    assert report.sources[0].cursor.after == cursor
    assert workspace.paths_with("walrus") == []
    assert workspace.paths_with("quince") == []
    assert workspace.paths_with("heron") == ["many.py"]
    workspace.refresh()
    assert is_level(workspace)


def test_a_text_the_embedder_refuses_is_stored_with_its_words_and_holds_nobody_back(
    workspace: Workspace, repository: Repository
) -> None:
    repository.commit({"bad.md": "poisonword in a file\n", "good.md": "marmalade\n"})
    embed = WordLlamaEmbedder.embed
    asked: list[str] = []

    def picky(self: WordLlamaEmbedder, texts: Any) -> Any:
        asked.extend(texts)
        if any("poisonword" in text for text in texts):
            raise BatchFailed("the model gives no number for it")
        return embed(self, texts)

    with patch.object(WordLlamaEmbedder, "embed", picky):
        report = workspace.refresh_one()
        assert (report.outcome, report.words_only, report.failed) == ("ok", 1, 0)
        assert workspace.paths_with("poisonword") == ["bad.md"]
        assert workspace.paths_with("marmalade") == ["good.md"]
        asked.clear()
        repository.commit({"other.md": "another\n"})
        again = workspace.refresh_one()
        assert not any("poisonword" in text for text in asked)
        assert (again.outcome, again.words_only) == ("ok", 1)
        workspace.lose_checkpoints()
        assert workspace.refresh_one().words_only == 1


def test_every_path_is_stored_or_skipped_with_its_one_reason_and_the_sums_add_up(
    workspace: Workspace, repository: Repository
) -> None:
    repository.commit({"link": "b.md"}, mode=LINK)
    repository.commit({"sub": "1" * 40}, mode=SUBMODULE)
    repository.commit({"run.sh": "echo heron\n"}, mode=EXECUTABLE)
    repository.commit(
        {
            "empty.md": "",
            "blank.md": " \n\n",
            "data.bin": bytes(range(256)) * 10,
            "latin.txt": "Der Schlüssel liegt unter der Fußmatte\n".encode("latin-1"),
            "big.txt": "x" * (1 << 20) + "\n",
            "poetry.lock": "[[package]]\n",
            "weights.bin": f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12\n",
            b"odd \xff name.md": "oddword\n",
            "new\nline.md": "lineword\n",
            '"quoted".md': "quotedword\n",
        }
    )
    report = workspace.refresh_one()
    assert report.skipped == {
        "binary": 1, "empty": 2, "encoding": 1, "generated": 1, "lfs pointer": 1, "link": 1, "size": 1, "submodule": 1,
    }  # fmt: skip
    assert report.seen == 15
    assert report.stored == 6
    assert workspace.paths_with("oddword") == ['"odd \\377 name.md"']
    assert workspace.paths_with("lineword") == ['"new\\nline.md"']
    assert workspace.paths_with("quotedword") == ['"\\"quoted\\".md"']
    assert workspace.refresh_one().skipped == report.skipped


def test_a_repository_that_left_the_settings_is_forgotten_and_an_empty_list_forgets_nothing(
    tmp_path: Path, repository: Repository
) -> None:
    other = Repository(tmp_path / "other.git")
    other.commit({"o.md": "marmalade\n"})
    both = Workspace(tmp_path, {"repo": repository.path, "other": other.path})
    both.refresh()
    Workspace(tmp_path, {}).refresh()
    assert both.paths_with("marmalade") == ["o.md"]
    one = Workspace(tmp_path, {"repo": repository.path})
    report = one.refresh()
    assert outcomes(report) == [("repo", "unchanged"), ("other", "forgotten")]
    assert report.sources[1].removed == 1
    assert both.paths_with("marmalade") == []
    assert is_level(one)
    assert outcomes(one.refresh()) == [("repo", "unchanged")]


def test_a_repository_whose_address_is_refused_keeps_its_points(tmp_path: Path, repository: Repository) -> None:
    Workspace(tmp_path, {"repo": repository.path}).refresh()
    bad = Workspace(tmp_path, {"repo": "ext::sh -c true"})
    assert outcomes(bad.refresh()) == [("repo", "refused")]
    assert bad.paths_with("walrus") == ["b.md"]


def test_excluded_paths_are_forgotten_in_the_next_run_and_come_back(workspace: Workspace) -> None:
    workspace.refresh()
    workspace.exclude = ("*.md",)
    report = workspace.refresh_one()
    assert (report.skipped, report.removed, report.embedded) == ({"excluded": 1}, 1, 0)
    assert is_level(workspace)
    workspace.exclude = ()
    assert workspace.refresh_one().written == 1
    assert is_level(workspace)


def test_another_repository_behind_the_same_name_replaces_it(tmp_path: Path, workspace: Workspace) -> None:
    workspace.refresh()
    other = Repository(tmp_path / "other.git")
    other.commit({"o.md": "marmalade\n"})
    moved = Workspace(tmp_path, {"repo": other.path})
    assert moved.refresh_one().outcome == "ok"
    assert [payload["path"] for payload in moved.payloads()] == ["o.md"]
    assert is_level(moved)


def test_a_dry_run_tells_what_would_be_done_and_does_nothing(workspace: Workspace, repository: Repository) -> None:
    workspace.refresh()
    before = workspace.points()
    repository.commit({"b.md": "osprey\n", "c.md": "quince\n"})
    rehearsed = workspace.refresh_one(dry_run=True)
    assert workspace.points() == before
    done = workspace.refresh_one()
    fields = ("chunks", "embedded", "reused", "written", "updated", "removed", "seen")
    assert [getattr(rehearsed, name) for name in fields] == [getattr(done, name) for name in fields]


def test_a_second_writer_is_told_who_is_at_work(workspace: Workspace) -> None:
    with writer_lock(workspace.settings.state, "a long refresh"), pytest.raises(Busy, match="a long refresh"):
        workspace.refresh()


def test_an_unknown_source_is_refused_by_name(workspace: Workspace) -> None:
    with pytest.raises(Refused, match=r"only: .*'nobody'.*they have: repo"):
        workspace.refresh("nobody")


def test_citations_name_the_newest_first_parent_commit_that_changed_the_file(
    workspace: Workspace, repository: Repository
) -> None:
    """A merge is the commit that changed what its other side brought."""
    first = repository.head
    workspace.refresh()
    repository.git("branch", "side", first)
    side = repository.commit({"b.md": "walrus and seal\n"}, branch="side")
    repository.merge(side, files={"b.md": "walrus and seal\n"})
    workspace.refresh()
    assert workspace.payloads()[0]["commit"] == repository.head
    assert is_level(workspace)


def test_an_ancestor_is_not_enough_to_walk_from(workspace: Workspace, repository: Repository) -> None:
    """The same change stands on both lines; after a foxtrot merge it is the other line's commit that is cited."""
    base = repository.head
    repository.commit({"b.md": "walrus and seal\n"})
    repository.git("branch", "side", base)
    same = repository.commit({"b.md": "walrus and seal\n"}, branch="side", message="The same on the side")
    repository.merge(same, files={})
    workspace.refresh()
    assert workspace.payloads()[0]["commit"] != same
    further = repository.commit({"z.md": "far away\n"}, branch="side")
    repository.merge(further, files={}, foxtrot=True)
    report = workspace.refresh_one()
    assert report.rewritten is False
    assert workspace.payloads()[0]["commit"] == same
    assert is_level(workspace)


@pytest.mark.parametrize("onwards", [False, True])
def test_a_store_that_was_put_back_from_a_backup_is_not_trusted(
    workspace: Workspace, repository: Repository, tmp_path: Path, onwards: bool
) -> None:
    workspace.refresh()
    old = repository.head
    store = workspace.settings.state / "checkpoints.duckdb"
    shutil.copy(store, tmp_path / "backup")
    repository.commit({"b.md": "osprey\n"})
    workspace.refresh()
    shutil.copy(tmp_path / "backup", store)
    repository.reset(old)
    if onwards:
        repository.commit({"c.md": "quince\n"})
    workspace.refresh()
    assert is_level(workspace)


def test_a_shallow_source_that_is_deepened_at_the_same_tip_is_looked_at_again(
    repository: Repository, tmp_path: Path
) -> None:
    repository.commit({"c.md": "quince\n"})
    source = tmp_path / "shallow"
    git = ["git", "clone", "-q", "--depth=1", f"file://{repository.path}", str(source)]
    subprocess.run(git, check=True, env=environment())
    workspace = Workspace(tmp_path, {"repo": source})
    workspace.refresh()
    assert len({payload["commit"] for payload in workspace.payloads()}) == 1
    subprocess.run(["git", "-C", str(source), "fetch", "-q", "--unshallow"], check=True, env=environment())
    assert workspace.refresh_one().outcome == "ok"
    assert len({payload["commit"] for payload in workspace.payloads()}) == 2
    assert is_level(workspace)
    assert workspace.refresh_one().outcome == "unchanged"


@pytest.mark.parametrize("line", ["A <a@b>", "A <a@b> -100 +0000", "A a@b 17 +0000", "A <a@b> 99999999999999999 +0000"])
def test_a_commit_without_a_usable_time_keeps_nobody_out(
    workspace: Workspace, repository: Repository, line: str
) -> None:
    tree = repository.git("rev-parse", "HEAD^{tree}")
    raw = f"tree {tree}\nparent {repository.head}\nauthor A <a@b> 17 +0000\ncommitter {line}\n\nodd\n"
    repository.commit({"c.md": "quince\n"})
    tree = repository.git("rev-parse", "HEAD^{tree}")
    raw = raw.replace(raw.split("\n")[0], f"tree {tree}")
    odd = repository.git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=raw.encode())
    repository.reset(odd)
    assert workspace.refresh_one().outcome == "ok"
    assert workspace.paths_with("quince") == ["c.md"]
    assert is_level(workspace)


def test_what_is_not_ours_in_the_state_folder_stays(workspace: Workspace) -> None:
    for place in ("index/assets", "mirrors/photos.git", "mirrors/photos"):
        folder = workspace.settings.state / place
        folder.mkdir(parents=True)
        (folder / "precious").touch()
    workspace.refresh()
    workspace.refresh()
    assert len(list(workspace.settings.state.glob("*/*/precious"))) == 3


def test_mirrors_of_sources_that_left_are_swept_away(tmp_path: Path, repository: Repository) -> None:
    other = Repository(tmp_path / "other.git")
    other.commit({"o.md": "marmalade\n"})
    Workspace(tmp_path, {"repo": repository.path, "other": other.path}).refresh()
    workspace = Workspace(tmp_path, {"repo": repository.path})
    workspace.refresh()
    assert len({path.name[:32] for path in workspace.settings.mirrors.iterdir()}) == 1


def test_a_file_in_place_of_a_mirror_is_mended(workspace: Workspace, repository: Repository) -> None:
    workspace.refresh()
    for mirror in workspace.settings.mirrors.glob("*.git"):
        shutil.rmtree(mirror)
        mirror.write_text("not a folder")
    repository.commit({"c.md": "quince\n"})
    assert workspace.refresh_one().outcome == "ok"
    assert is_level(workspace)


@pytest.mark.parametrize("error", [ZeroDivisionError("secret text"), OSError(5, "Input/output error")])
def test_a_defect_in_one_source_does_not_take_the_others_with_it(
    tmp_path: Path, repository: Repository, error: Exception
) -> None:
    other = Repository(tmp_path / "other.git")
    other.commit({"o.md": "marmalade\n"})
    workspace = Workspace(tmp_path, {"repo": repository.path, "other": other.path})
    refresh = huginn.forge.sync.refresh

    def broken(source: Any, *arguments: Any, **named: Any) -> Any:
        if source.name == "repo":
            raise error
        return refresh(source, *arguments, **named)

    with patch.object(huginn.forge.intake, "refresh", broken):
        report = workspace.refresh()
    assert outcomes(report) == [("repo", "failed"), ("other", "ok")]
    assert "secret text" not in (report.sources[0].reason or "")


def test_a_damaged_index_is_told_and_nothing_else_is_raised(workspace: Workspace) -> None:
    workspace.refresh()
    configs = list((workspace.settings.state / "index").rglob("payload_index/config.json"))
    assert configs
    for config in configs:
        config.unlink()
    with pytest.raises(Unavailable, match="index"):
        workspace.refresh()


def test_what_could_not_be_stored_is_a_failed_place_and_does_not_stay_as_it_was(
    workspace: Workspace, repository: Repository
) -> None:
    body = "".join(f"    def part{number}(self):\n        return {number} * 'heron'\n\n" for number in range(60))
    repository.commit({"many.py": "class Old:\n" + body})
    workspace.refresh()
    before = workspace.points()
    repository.commit({"many.py": "class New:\n" + body})
    told: dict[str, str] = {}

    def refuse(self: EmbeddedWriter, points: Any) -> dict[str, str]:
        told.update({point.id: "too large" for point in points})
        return told

    with patch.object(EmbeddedWriter, "upsert", refuse):
        report = workspace.refresh_one()
    assert told.keys() & before.keys()  # the same text under another name: the same id
    assert (report.outcome, report.failed, report.written) == ("ok", 1, 0)
    assert report.seen == report.stored + report.failed
    assert not told.keys() & workspace.points().keys()
    (failed,) = status(workspace.settings).sources[0].failed
    assert (failed.item, failed.reason) == ("many.py", "too large")
