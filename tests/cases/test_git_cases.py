"""The cases from the field about repositories, played from the first refresh to the search."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.git import Repository, environment
from tests.support.workspace import Workspace, outcomes

CASES = Path(__file__).parent


def play(case: str, *arguments: str | Path) -> None:
    script = CASES / case / "make.sh"
    subprocess.run(["sh", str(script), *map(str, arguments)], check=True, capture_output=True, env=environment())


def test_git_01_history_rewritten_under_the_stored_cursor(tmp_path: Path) -> None:
    play("git_01", tmp_path, "stage1")
    workspace = Workspace(tmp_path, {"repo": tmp_path / "remote.git"})
    workspace.refresh()
    assert workspace.paths_with("heron") == ["keep.md"]
    assert workspace.paths_with("walrus") == ["oops.md"]
    assert workspace.paths_with("circles") == ["later.md"]
    play("git_01", tmp_path, "stage2")
    second = workspace.refresh_one()
    assert second.outcome == "ok"
    assert second.rewritten
    assert workspace.paths_with("walrus") == []
    assert workspace.paths_with("circles") == []
    assert workspace.paths_with("dives") == ["later.md"]
    assert second.embedded == 1
    commits = {payload["commit"] for payload in workspace.payloads()}
    for commit in commits:
        git = ["git", "--git-dir", str(tmp_path / "remote.git"), "cat-file", "-e", commit]
        subprocess.run(git, check=True, env=environment())
    third = workspace.refresh_one()
    assert (third.outcome, third.written, third.embedded) == ("unchanged", 0, 0)
    assert workspace.points() == _fresh(workspace)


def test_git_01_with_the_mirror_lost_in_between(tmp_path: Path) -> None:
    play("git_01", tmp_path, "stage1")
    workspace = Workspace(tmp_path, {"repo": tmp_path / "remote.git"})
    workspace.refresh()
    play("git_01", tmp_path, "stage2")
    workspace.lose_mirrors()
    report = workspace.refresh_one()
    assert (report.outcome, report.rewritten, report.embedded) == ("ok", True, 1)
    assert workspace.points() == _fresh(workspace)


@pytest.mark.parametrize("clone", [False, True])
def test_git_03_no_link_is_followed(tmp_path: Path, clone: bool) -> None:
    play("git_03", tmp_path)
    if clone:
        subprocess.run(
            ["git", "clone", "-q", str(tmp_path / "repo"), str(tmp_path / "clone")], check=True, env=environment()
        )
    repository = tmp_path / ("clone" if clone else "repo")
    git = ["git", "-C", str(repository)]
    for stage in ("stage1", "stage2"):
        subprocess.run([*git, "checkout", "-q", "-B", "look", stage], check=True, env=environment())
        workspace = Workspace(tmp_path, {"repo": repository}, branch="look")
        report = workspace.refresh_one()
        assert report.failed == 0
        assert all("hostonlyword" not in payload["text"] for payload in workspace.payloads())
        links = 8 if stage == "stage1" else 9
        assert report.skipped == {"link": links}
        assert workspace.paths_with("realfileword") == (["src/real.md"] if stage == "stage1" else [])


def test_git_05_no_commits_a_new_default_branch_and_a_branch_that_is_gone(tmp_path: Path) -> None:
    play("git_05", tmp_path, "empty")
    Repository(tmp_path / "other.git").commit({"b.md": "otherword\n"})
    workspace = Workspace(tmp_path, {"repo": tmp_path / "remote.git", "other": tmp_path / "other.git"})
    report = workspace.refresh()
    assert outcomes(report) == [("repo", "unchanged"), ("other", "ok")]
    assert report.sources[0].reason == "no commits yet"
    play("git_05", tmp_path, "first")
    workspace.refresh()
    assert workspace.paths_with("alphaword") == ["a.md"]
    play("git_05", tmp_path, "renamed")
    workspace.refresh()
    assert workspace.paths_with("alphaword") == ["a.md"]
    assert workspace.paths_with("betaword") == ["b.md"]
    play("git_05", tmp_path, "gone")
    report = workspace.refresh()
    assert outcomes(report) == [("repo", "failed"), ("other", "unchanged")]
    assert report.outcome == "partial"
    assert report.sources[0].reason
    assert workspace.paths_with("alphaword") == ["a.md"]
    workspace.lose_checkpoints()
    assert outcomes(workspace.refresh())[0] == ("repo", "failed")
    assert workspace.paths_with("betaword") == ["b.md"]


def test_git_05_a_branch_of_the_settings_that_is_gone(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "remote.git")
    repository.commit({"a.md": "alphaword\n"})
    repository.git("branch", "wanted")
    workspace = Workspace(tmp_path, {"repo": repository.path}, branch="wanted")
    assert workspace.refresh_one().outcome == "ok"
    repository.git("update-ref", "-d", "refs/heads/wanted")
    report = workspace.refresh_one()
    assert report.outcome == "failed"
    assert report.reason is not None
    assert "wanted" in report.reason
    assert workspace.paths_with("alphaword") == ["a.md"]


def test_git_08_an_empty_tree_deletes_a_broken_address_does_not(tmp_path: Path) -> None:
    words = [f"docword{number:02d}" for number in range(1, 21)]
    play("git_08", tmp_path / "a", "full")
    first = Workspace(tmp_path / "a", {"repo": tmp_path / "a" / "remote.git"})
    first.refresh()
    assert all(first.paths_with(word) for word in words)
    play("git_08", tmp_path / "a", "emptied")
    assert first.refresh_one().removed == 20
    assert not any(first.paths_with(word) for word in words)
    play("git_08", tmp_path / "a", "refilled")
    first.refresh()
    assert first.paths_with("freshword") == ["new.md"]

    play("git_08", tmp_path / "b", "full")
    second = Workspace(tmp_path / "b", {"repo": tmp_path / "b" / "remote.git"})
    cursor = second.refresh_one().cursor.after
    before = second.points()
    play("git_08", tmp_path / "b", "broken")
    for _ in range(2):
        report = second.refresh_one()
        assert (report.outcome, report.cursor.after) == ("failed", cursor)
        assert report.reason
        assert second.points() == before


def test_git_09_addresses_that_are_commands_are_refused_and_the_good_ones_synced(tmp_path: Path) -> None:
    Repository(tmp_path / "good.git").commit({"a.md": "alphaword\n"})
    repos: dict[str, Path | str] = {}
    for number, line in enumerate((CASES / "git_09" / "urls.txt").read_text().splitlines()):
        text, _, verdict = line.partition("\t")
        if not text.startswith(("#", "REF:")) and verdict == "refuse":
            repos[f"bad{number}"] = text.replace("{D}", str(tmp_path))
    repos["leaky"] = "https://user:not-a-real-pass@forge.example.org/team/repo.git"
    repos["good"] = tmp_path / "good.git"
    workspace = Workspace(tmp_path, repos)
    report = workspace.refresh()
    assert dict(outcomes(report)) == {name: "ok" if name == "good" else "refused" for name in repos}
    assert not (tmp_path / "pwned").exists()
    assert "not-a-real-pass" not in report.model_dump_json()
    assert "not-a-real-pass" not in repr(workspace.settings)
    for refused in report.sources[:-1]:
        assert refused.reason is not None
        assert refused.reason.startswith("forge.repos[")


def _fresh(workspace: Workspace) -> dict[str, tuple[object, ...]]:
    fresh = workspace.fresh()
    fresh.refresh()
    return fresh.points()
