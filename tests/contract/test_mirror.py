"""What a mirror says of a real remote, and the mirror's side of the cases."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from huginn.errors import Unavailable
from huginn.forge.address import check_address
from huginn.forge.folder import mirror_folder
from huginn.forge.mirror import BranchGone, CommitGone, Entry, Mirror, Tip
from tests.support.git import EPOCH, EXECUTABLE, LINK, SUBMODULE, Repository, environment

CASES = Path(__file__).parent.parent / "cases"


def mirror_of(remote: Path | str, folder: Path, *, branch: str | None = None) -> Mirror:
    address = check_address(str(remote), base=Path("/"))
    return Mirror(mirror_folder(folder, "name", address), address, branch=branch)


def fetched(mirror: Mirror) -> str:
    tip = mirror.tip()
    assert tip is not None
    return mirror.fetch(tip)


def make(case: str, folder: Path, *stage: str) -> None:
    script = CASES / case / "make.sh"
    subprocess.run(["sh", str(script), str(folder), *stage], check=True, capture_output=True, env=environment())


def contents(mirror: Mirror, commit: str) -> dict[bytes, bytes]:
    with mirror.blobs() as read:
        return {entry.path: read(entry.blob) for entry in mirror.tree(commit) if entry.size is not None}


def test_git_01_a_rewritten_history_is_fetched_and_compared(tmp_path: Path) -> None:
    make("git_01", tmp_path, "stage1")
    mirror = mirror_of(tmp_path / "remote.git", tmp_path / "mirrors")
    old = fetched(mirror)
    make("git_01", tmp_path, "stage2")
    new = fetched(mirror)
    assert mirror.has(old)
    assert mirror.changed(old, new) == {b"oops.md", b"later.md"}
    assert not mirror.on_first_parent_line(old, new)
    assert set(contents(mirror, new)) == {b"keep.md", b"later.md"}


def test_git_03_links_are_entries_and_never_followed(tmp_path: Path) -> None:
    make("git_03", tmp_path)
    mirror = mirror_of(tmp_path / "repo", tmp_path / "mirrors")
    new = fetched(mirror)
    modes = {entry.path: entry.mode for entry in mirror.tree(new)}
    assert set(modes.values()) == {LINK}
    assert b"loop" in modes
    assert b"leakdir" in modes
    assert b"hostonlyword" not in b"".join(contents(mirror, new).values())
    assert mirror.newest_commits(new)[b"src/real.md"].commit == new


def test_git_05_empty_first_renamed_and_gone_are_told_apart(tmp_path: Path) -> None:
    make("git_05", tmp_path, "empty")
    mirror = mirror_of(tmp_path / "remote.git", tmp_path / "mirrors")
    named = mirror_of(tmp_path / "remote.git", tmp_path / "named", branch="master")
    assert mirror.tip() is None
    assert named.tip() is None
    make("git_05", tmp_path, "first")
    first = fetched(mirror)
    assert fetched(named) == first
    make("git_05", tmp_path, "renamed")
    renamed = mirror.tip()
    assert renamed is not None
    assert renamed.branch == "trunk"
    assert set(contents(mirror, mirror.fetch(renamed))) == {b"a.md", b"b.md"}
    with pytest.raises(BranchGone, match="branch master is not there"):
        named.tip()
    make("git_05", tmp_path, "gone")
    assert mirror.tip() is None  # no ref at all: whether that is "empty" or "gone", the cursor tells
    subprocess.run(["git", "--git-dir", tmp_path / "remote.git", "branch", "other", renamed.commit], check=True)
    with pytest.raises(BranchGone, match="HEAD"):
        mirror.tip()
    with pytest.raises(BranchGone):
        mirror.fetch(Tip("1" * 40, "trunk"))


def test_git_08_an_empty_tree_is_something_and_a_broken_remote_is_unavailable(tmp_path: Path) -> None:
    make("git_08", tmp_path, "full")
    mirror = mirror_of(tmp_path / "remote.git", tmp_path / "mirrors")
    full = fetched(mirror)
    make("git_08", tmp_path, "emptied")
    emptied = fetched(mirror)
    assert mirror.tree(emptied) == []
    assert len(mirror.changed(full, emptied)) == 20
    make("git_08", tmp_path, "refilled")
    assert set(contents(mirror, fetched(mirror))) == {b"new.md"}
    make("git_08", tmp_path, "broken")
    for _ in range(2):
        with pytest.raises(Unavailable, match="there is no repository") as error:
            mirror.tip()
        assert error.value.part == "upstream"
        assert error.value.next_step
    assert mirror.has(full)


def test_a_repository_of_tags_alone_is_not_empty(tmp_path: Path) -> None:
    remote = Repository(tmp_path / "remote")
    remote.git("tag", "v1", remote.commit({"a": "1"}))
    remote.git("update-ref", "-d", "refs/heads/main")
    with pytest.raises(BranchGone):
        mirror_of(remote.path, tmp_path / "mirrors").tip()


def test_a_detached_head_has_a_commit_and_no_branch(tmp_path: Path) -> None:
    remote = Repository(tmp_path / "remote")
    first = remote.commit({"a": "1"})
    remote.commit({"a": "2"})
    remote.git("update-ref", "--no-deref", "HEAD", first)
    mirror = mirror_of(remote.path, tmp_path / "mirrors")
    assert mirror.tip() == Tip(first, None)
    assert fetched(mirror) == first


def test_a_branch_is_matched_by_its_whole_name(tmp_path: Path) -> None:
    remote = Repository(tmp_path / "remote")
    first = remote.commit({"a": "1"})
    remote.git("update-ref", "refs/heads/x/refs/heads/main", first)
    second = remote.commit({"a": "2"})
    remote.git("update-ref", "refs/heads/topic/main", first)
    assert mirror_of(remote.path, tmp_path / "mirrors", branch="main").tip() == Tip(second, "main")


def test_a_branch_that_moved_on_after_the_tip_is_fetched_where_it_is_now(tmp_path: Path) -> None:
    remote = Repository(tmp_path / "remote")
    remote.commit({"a": "1"})
    mirror = mirror_of(remote.path, tmp_path / "mirrors")
    tip = mirror.tip()
    assert tip is not None
    newer = remote.commit({"a": "2"})
    assert mirror.fetch(tip) == newer


def test_what_the_mirror_has_is_not_fetched_again(tmp_path: Path) -> None:
    remote = Repository(tmp_path / "remote")
    remote.commit({"a": "1"})
    mirror = mirror_of(remote.path, tmp_path / "mirrors")
    tip = mirror.tip()
    assert tip is not None
    mirror.fetch(tip)
    remote.path.rename(tmp_path / "away")
    assert mirror.fetch(tip) == tip.commit


def test_another_address_or_name_is_another_mirror(tmp_path: Path) -> None:
    one, two = (check_address(path, base=tmp_path) for path in ("one", "two"))
    folders = {mirror_folder(tmp_path, name, address) for name in ("a", "b") for address in (one, two)}
    assert len(folders) == 4
    assert mirror_folder(tmp_path, "a", one) == mirror_folder(tmp_path, "a", one)


def test_the_mirror_holds_no_address_of_its_remote(tmp_path: Path) -> None:
    remote = Repository(tmp_path / "remote")
    remote.commit({"a": "1"})
    mirror = mirror_of(remote.path, tmp_path / "mirrors")
    fetched(mirror)
    folder = next((tmp_path / "mirrors").glob("*.git"))
    texts = [path.read_bytes() for path in folder.rglob("*") if path.is_file() and "objects" not in path.parts]
    assert not any(str(remote.path).encode() in text for text in texts)
    assert not (folder / "hooks").exists()


@pytest.mark.parametrize("url", ["{}", "file://{}"])
def test_a_shallow_clone_can_be_a_source_and_its_boundary_is_told(tmp_path: Path, url: str) -> None:
    origin = Repository(tmp_path / "origin")
    for number in range(4):
        origin.commit({f"f{number}": "x", "all": str(number)})
    clone = tmp_path / "clone with space"
    subprocess.run(
        ["git", "clone", "-q", "--depth=2", f"file://{origin.path}", str(clone)], check=True, env=environment()
    )
    text = url.format(str(clone).replace(" ", "%20"))
    if "file" not in url:
        clone = clone.rename(tmp_path / "clone")
        text = str(clone)
    mirror = mirror_of(text, tmp_path / "mirrors")
    tip = fetched(mirror)
    boundary = mirror.boundary()
    assert boundary
    changes = mirror.newest_commits(tip)
    assert changes[b"f0"].commit == origin.git("rev-parse", "main~1")
    # The source learns its whole history and moves on: nothing of the old boundary may stay.
    origin.commit({"f4": "x"})
    subprocess.run(["git", "-C", str(clone), "pull", "-q", "--unshallow"], check=True, env=environment())
    tip = fetched(mirror)
    assert mirror.boundary() == ""
    assert mirror.newest_commits(tip)[b"f0"].commit == origin.git("rev-parse", "main~4")
    # And the other way round: the same place holds a shallow clone again.
    origin.commit({"f5": "x"})
    subprocess.run(["git", "-C", str(clone), "pull", "-q", "--depth=2"], check=True, env=environment())
    tip = fetched(mirror)
    assert mirror.newest_commits(tip)[b"f0"].commit == origin.git("rev-parse", "main~1")


def test_a_repository_with_long_ids_is_read(tmp_path: Path) -> None:
    remote = Repository(tmp_path / "remote", object_format="sha256")
    remote.commit({"a": "1"})
    new = fetched(mirror := mirror_of(remote.path, tmp_path / "mirrors"))
    assert len(new) == 64
    assert contents(mirror, new) == {b"a": b"1"}


def test_entries_tell_mode_blob_and_size(tmp_path: Path) -> None:
    remote = Repository(tmp_path / "remote")
    submodule = remote.commit({"plain": "four"})
    remote.commit({"run": "#!"}, mode=EXECUTABLE)
    remote.commit({"link": "plain"}, mode=LINK)
    remote.commit({"vendor": submodule}, mode=SUBMODULE)
    mirror = mirror_of(remote.path, tmp_path / "mirrors")
    assert mirror.tree(fetched(mirror)) == [
        Entry(b"link", LINK, remote.blob("plain"), 5),
        Entry(b"plain", "100644", remote.blob("four"), 4),
        Entry(b"run", EXECUTABLE, remote.blob("#!"), 2),
        Entry(b"vendor", SUBMODULE, submodule, None),
    ]


def test_mode_kind_and_presence_count_as_changes(tmp_path: Path) -> None:
    remote = Repository(tmp_path / "remote")
    old = remote.commit({"a": "1", "b": "2", "c": "3", "d/e": "4", "same": "5"})
    remote.commit({"a": "1"}, mode=EXECUTABLE)
    remote.commit({"b": "c"}, mode=LINK)
    remote.rename("c", "moved")
    new = remote.commit({"d/e": None, "d": "4"})
    mirror = mirror_of(remote.path, tmp_path / "mirrors")
    fetched(mirror)
    assert mirror.changed(old, new) == {b"a", b"b", b"c", b"moved", b"d/e", b"d"}
    assert mirror.changed(new, new) == set()


def test_a_submodule_that_asks_to_be_ignored_counts_as_changed(tmp_path: Path) -> None:
    remote = Repository(tmp_path / "remote")
    settings = '[submodule "s"]\n path = s\n url = ./s\n ignore = all\n'
    first = remote.commit({".gitmodules": settings})
    old = remote.commit({"s": first}, mode=SUBMODULE)
    new = remote.commit({"s": old}, mode=SUBMODULE)
    mirror = mirror_of(remote.path, tmp_path / "mirrors")
    fetched(mirror)
    assert mirror.changed(old, new) == {b"s"}
    assert mirror.newest_commits(new)[b"s"].commit == new


def test_times_are_the_committers(tmp_path: Path) -> None:
    remote = Repository(tmp_path / "remote")
    remote.commit({"a": "1"}, time=EPOCH + 7)
    mirror = mirror_of(remote.path, tmp_path / "mirrors")
    assert mirror.newest_commits(fetched(mirror))[b"a"].time == EPOCH + 7


def test_a_commit_that_is_not_there_is_told_by_name(tmp_path: Path) -> None:
    remote = Repository(tmp_path / "remote")
    remote.commit({"a": "1"})
    mirror = mirror_of(remote.path, tmp_path / "mirrors")
    new = fetched(mirror)
    assert not mirror.has("1" * 40)
    with pytest.raises(CommitGone, match="1" * 40):
        mirror.changed("1" * 40, new)
    assert not mirror.on_first_parent_line("1" * 40, new)


@pytest.mark.parametrize("text", ["--output=x", "HEAD", "main", "", "1" * 39, "1" * 40 + "\n"])
def test_only_whole_ids_reach_git(tmp_path: Path, text: str) -> None:
    remote = Repository(tmp_path / "remote")
    remote.commit({"a": "1"})
    mirror = mirror_of(remote.path, tmp_path / "mirrors")
    new = fetched(mirror)
    with mirror.blobs() as read:
        for asked in (mirror.has, mirror.tree, mirror.newest_commits, read):
            with pytest.raises(ValueError, match="not the id"):
                asked(text)
    with pytest.raises(ValueError, match="not the id"):
        mirror.changed(text, new)
    with pytest.raises(ValueError, match="not the id"):
        mirror.on_first_parent_line(text, new)
