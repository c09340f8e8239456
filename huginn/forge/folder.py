"""The folder of a bare mirror.

In goes a path, out comes an empty repository there, or nothing of it any more, or one without the leavings of a fetch
that was killed. Rules that live here: a mirror appears and disappears in one step, and one process writes to it: the
lock is inherited by git, so that it holds for a fetch whose parent was killed too.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from huginn.errors import Unavailable
from huginn.forge.address import Address
from huginn.forge.git import Git

_PATIENCE = 10.0
_SOURCE = "huginn-source-boundary"
_OUR_NAME = re.compile(r"[0-9a-f]{32}\.git(\.new|\.old|\.lock)?")
_LEAVINGS = (
    "*.lock",
    "gc.pid",
    "refs/**/*.lock",
    "objects/info/**/*.lock",
    "objects/pack/tmp_*",
    "objects/pack/.tmp-*",
)


def mirror_folder(root: Path, name: str, address: Address) -> Path:
    """Return where the mirror of a source is kept: another address under the same name is another mirror."""
    digest = hashlib.sha256(os.fsencode(f"{name}\0{address.url}")).hexdigest()
    return root / f"{digest[:32]}.git"


def sweep(root: Path, kept: Collection[Path]) -> None:
    """Remove every mirror but those in `kept`, with what stands beside it; what is no mirror's name is not ours."""
    names = {folder.name for folder in kept}
    for path in root.glob("*.git*"):
        name = path.name.partition(".")[0] + ".git"
        if not _OUR_NAME.fullmatch(path.name) or name in names:
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


@contextmanager
def claimed(folder: Path) -> Iterator[int]:
    """Hold the folder's lock; gives the descriptor that git must be started with."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(_beside(folder, ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _wait_for(descriptor)
        yield descriptor
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int) -> None:
    patience = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > patience:
                raise Unavailable(
                    "upstream", "an earlier fetch of this repository is still at work", next_step="try again later"
                ) from None
            time.sleep(0.05)
        else:
            return


def create(folder: Path, git: Git, *, width: int) -> None:
    """Make an empty bare repository for ids of `width` digits."""
    new = _beside(folder, ".new")
    shutil.rmtree(new, ignore_errors=True)
    form = "sha256" if width == 64 else "sha1"
    git.run("init", "--quiet", "--bare", "--template=", f"--object-format={form}", "--", str(new))
    new.rename(folder)


def discard(folder: Path) -> None:
    """Remove the repository, or whatever stands in its place."""
    old = _beside(folder, ".old")
    shutil.rmtree(old, ignore_errors=True)
    if os.path.lexists(folder):
        folder.rename(old)
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        else:
            old.unlink()


def clear_leavings(folder: Path) -> None:
    """Remove locks and half-written packs of a git that was killed. Only while the folder is claimed."""
    for pattern in _LEAVINGS:
        for leaving in folder.glob(pattern):
            leaving.unlink(missing_ok=True)


def boundary(folder: Path) -> str:
    """Return a digest of the commits at which a shallow history ends, or nothing for a whole one."""
    try:
        commits = (folder / "shallow").read_bytes().split()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return ""
    return hashlib.sha256(b"\n".join(sorted(commits))).hexdigest() if commits else ""


def source_boundary(source: Path) -> str:
    """Return the same for a repository of this machine: bare, with a work tree, or a linked work tree."""
    own = source / ".git"
    if own.is_file():  # a linked work tree: "gitdir: …", and there the way to what all of them share
        own = source / own.read_text(errors="replace").partition("gitdir: ")[2].strip()
        common = own / "commondir"
        return boundary(own / common.read_text().strip()) if common.is_file() else boundary(own)
    return boundary(own if own.is_dir() else source)


def remember_source(folder: Path, digest: str) -> None:
    """Keep with a mirror where its source's history was cut off when it was fetched."""
    (folder / _SOURCE).write_text(digest)


def remembered_source(folder: Path) -> str:
    """Return what was kept."""
    try:
        return (folder / _SOURCE).read_text()
    except (FileNotFoundError, NotADirectoryError):
        return ""


def _beside(folder: Path, suffix: str) -> Path:
    return folder.with_name(folder.name + suffix)
