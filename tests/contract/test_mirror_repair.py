"""A mirror is a cache: whatever has happened to it, what it is asked is answered."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from huginn.errors import Unavailable
from huginn.forge import folder as folders
from huginn.forge.address import check_address
from huginn.forge.mirror import CommitGone, Mirror, Tip
from tests.support.git import Repository


@pytest.fixture
def remote(tmp_path: Path) -> Repository:
    remote = Repository(tmp_path / "remote")
    remote.commit({"a": "one", "b": "two"})
    remote.commit({"a": "three"})
    return remote


@pytest.fixture
def mirror(remote: Repository, tmp_path: Path) -> Mirror:
    return new_mirror(remote, tmp_path)


def new_mirror(remote: Repository, tmp_path: Path) -> Mirror:
    return Mirror(tmp_path / "m.git", check_address(str(remote.path), base=tmp_path), branch=None)


def tip_of(mirror: Mirror) -> Tip:
    tip = mirror.tip()
    assert tip is not None
    return tip


def everything(mirror: Mirror, commit: str) -> dict[bytes, bytes]:
    with mirror.blobs() as read:
        return {entry.path: read(entry.blob) for entry in mirror.tree(commit)}


def objects(folder: Path) -> list[Path]:
    return [path for path in (folder / "objects").rglob("*") if path.is_file()]


def cut_packs(folder: Path) -> None:
    for path in objects(folder):
        if path.suffix == ".pack":
            path.chmod(0o600)
            path.write_bytes(path.read_bytes()[:40])


def remove_objects(folder: Path) -> None:
    for path in objects(folder):
        path.unlink()


def remove_head(folder: Path) -> None:
    (folder / "HEAD").unlink()


def empty_head(folder: Path) -> None:
    (folder / "HEAD").write_bytes(b"")


def spoil_settings(folder: Path) -> None:
    (folder / "config").write_text("[core\n")


def make_it_a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("not a folder")


def make_it_a_dangling_link(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.symlink_to("nowhere")


def make_it_empty(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def spoil_the_ref(folder: Path) -> None:
    (folder / "refs" / "huginn" / "tip").write_text("1" * 40 + "\n")


def leave_half_made_folders(folder: Path) -> None:
    shutil.rmtree(folder)
    for suffix in (".new", ".old"):
        place = folder.with_name(folder.name + suffix)
        (place / "objects").mkdir(parents=True)
        (place / "HEAD").write_text("half")


DAMAGE = [
    cut_packs,
    remove_objects,
    remove_head,
    empty_head,
    spoil_settings,
    make_it_a_file,
    make_it_a_dangling_link,
    make_it_empty,
    spoil_the_ref,
    leave_half_made_folders,
]


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("moved", [False, True], ids=["same tip", "new tip"])
def test_a_damaged_mirror_is_made_again_in_the_next_run(
    remote: Repository, tmp_path: Path, damage: Callable[[Path], None], moved: bool
) -> None:
    first = new_mirror(remote, tmp_path)
    first.fetch(tip_of(first))
    damage(tmp_path / "m.git")
    if moved:
        remote.commit({"c": "four"})
    second = new_mirror(remote, tmp_path)
    new = second.fetch(tip_of(second))
    assert new == remote.head
    assert everything(second, new) == {b"a": b"three", b"b": b"two"} | ({b"c": b"four"} if moved else {})
    assert set(second.newest_commits(new)) == set(everything(second, new))


@pytest.mark.parametrize("damage", [cut_packs, remove_objects, remove_head, make_it_a_file], ids=lambda d: d.__name__)
def test_a_mirror_that_breaks_while_it_is_read_is_made_again(
    mirror: Mirror, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    new = mirror.fetch(tip_of(mirror))
    with mirror.blobs() as read:
        entries = mirror.tree(new)
        damage(tmp_path / "m.git")
        assert [read(entry.blob) for entry in entries] == [b"three", b"two"]


def test_a_blob_whose_bytes_do_not_have_its_id_is_never_given_out(mirror: Mirror, tmp_path: Path) -> None:
    new = mirror.fetch(tip_of(mirror))
    blob = mirror.tree(new)[0].blob
    folder = tmp_path / "m.git"
    for pack in (folder / "objects" / "pack").glob("*.pack"):
        with pack.open("rb") as stream:
            moved = tmp_path / "moved.pack"
            shutil.copy(pack, moved)
            for path in pack.parent.glob("*"):
                path.unlink()
            with moved.open("rb") as stream:
                subprocess.run(["git", "--git-dir", str(folder), "unpack-objects", "-q"], stdin=stream, check=True)
    other = Repository(tmp_path / "other").blob("forged")
    forged = tmp_path / "other" / "objects" / other[:2] / other[2:]
    target = folder / "objects" / blob[:2] / blob[2:]
    target.chmod(0o600)
    shutil.copy(forged, target)
    assert everything(mirror, new) == {b"a": b"three", b"b": b"two"}


def test_a_mirror_that_stays_broken_is_unavailable_and_not_tried_for_ever(
    mirror: Mirror, remote: Repository, tmp_path: Path
) -> None:
    new = mirror.fetch(tip_of(mirror))
    remove_objects(tmp_path / "m.git")
    remote.path.rename(tmp_path / "away")
    for _ in range(2):
        with pytest.raises(Unavailable) as error:
            mirror.tree(new)
        assert error.value.part == "upstream"


def test_when_the_new_mirror_lacks_the_commit_it_is_told_by_name(
    mirror: Mirror, remote: Repository, tmp_path: Path
) -> None:
    new = mirror.fetch(tip_of(mirror))
    remote.reset(remote.git("rev-parse", "main~1"))
    remote.forget()
    remove_objects(tmp_path / "m.git")
    with pytest.raises(CommitGone, match=new):
        mirror.tree(new)


def test_locks_and_halves_of_a_killed_fetch_do_not_stop_the_next(
    mirror: Mirror, remote: Repository, tmp_path: Path
) -> None:
    mirror.fetch(tip_of(mirror))
    remote.commit({"a": "four"})
    folder = tmp_path / "m.git"
    leavings = [
        *("config.lock", "HEAD.lock", "packed-refs.lock", "shallow.lock", "refs/huginn/tip.lock", "gc.pid"),
        *("objects/pack/tmp_pack_x", "objects/pack/tmp_idx_x", "objects/pack/.tmp-1-pack-x.pack"),
        *("objects/info/commit-graphs/commit-graph-chain.lock",),
    ]
    for leaving in leavings:
        (folder / leaving).parent.mkdir(parents=True, exist_ok=True)
        (folder / leaving).write_bytes(b"half")
    assert mirror.fetch(tip_of(mirror)) == remote.head
    assert not [leaving for leaving in leavings if (folder / leaving).exists()]


def test_a_fetch_that_outlives_its_parent_keeps_the_next_one_waiting(
    mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tip = tip_of(mirror)
    monkeypatch.setattr(folders, "_PATIENCE", 0.2)
    descriptor = os.open(tmp_path / "m.git.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    orphan = subprocess.Popen(["sleep", "30"], pass_fds=(descriptor,))
    os.close(descriptor)  # the child alone holds the lock now, as git does when its parent was killed
    try:
        with pytest.raises(Unavailable, match="still at work"):
            mirror.fetch(tip)
    finally:
        orphan.kill()
        orphan.wait()
    assert mirror.fetch(tip) == tip.commit


def test_a_state_folder_that_cannot_be_written_is_the_disks_fault(remote: Repository, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    mirror = Mirror(tmp_path / "state" / "m.git", check_address(str(remote.path), base=tmp_path), branch=None)
    with pytest.raises(Unavailable) as error:
        mirror.fetch(tip_of(mirror))
    assert error.value.part == "disk"


@pytest.mark.slow
def test_a_run_that_is_killed_at_any_time_leaves_a_mirror_that_the_next_can_use(
    remote: Repository, tmp_path: Path
) -> None:
    program = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from huginn.forge.address import check_address
        from huginn.forge.mirror import Mirror
        folder = Path(sys.argv[1])
        mirror = Mirror(folder / "m.git", check_address(str(folder / "remote"), base=folder), branch=None)
        print(flush=True)
        mirror.fetch(mirror.tip())
        """
    )
    for number in range(12):
        files: dict[str | bytes, bytes | str | None] = {f"f{n}": f"{n} in round {number}" * 200 for n in range(40)}
        remote.commit(files)
        child = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(0.007 * number)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        if number % 3 == 2:
            mirror = new_mirror(remote, tmp_path)
            new = mirror.fetch(tip_of(mirror))
            assert new == remote.head
            assert len(everything(mirror, new)) == 42
