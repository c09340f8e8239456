"""What a commit holds, and what changed it.

In go commits of a bare repository, out come its entries, the paths in which two commits differ, and for each path the
newest commit on the first-parent line that changed it. Paths are bytes everywhere: git allows any but NUL.
The rule that lives here: which commit a path is cited with.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from huginn.errors import Unavailable
from huginn.forge.git import Git
from huginn.forge.process import GitFailed, Process

# A tree of a few kilobytes can be made to list billions of paths.
MOST_PATHS = 2_000_000

# No renames (a path is a place, not a story), and neither `.gitmodules` nor attributes hide anything.
_RAW = ("--raw", "-r", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=none", "--no-ext-diff")


@dataclass(frozen=True, slots=True)
class Entry:
    """One path of a tree. `mode` is git's (100644, 100755, 120000 link, 160000 submodule); those last have no size."""

    path: bytes
    mode: str
    blob: str
    size: int | None


@dataclass(frozen=True, slots=True)
class Change:
    """The newest commit that changed a path, with its committer's time in seconds since 1970."""

    commit: str
    time: int


def entries(git: Git, commit: str) -> list[Entry]:
    """Return all paths of a commit's tree, folders left out."""
    found: list[Entry] = []
    with git.start("ls-tree", "-r", "-z", "-l", "--full-tree", commit, "--") as process:
        for record in _records(process):
            # Each record: mode, type, id and size, with spaces between, then a tab, then the path.
            head, tab, path = record.partition(b"\t")
            fields = head.decode("ascii", "replace").split()
            if not tab or len(fields) != 4:
                raise GitFailed("ls-tree gave an entry that cannot be read")
            mode, _, blob, size = fields
            found.append(Entry(path, mode, blob, int(size) if size.isdigit() else None))
            _check_count(found)
        git.finish(process)
    return found


def changed_paths(git: Git, old: str, new: str) -> set[bytes]:
    """Return the paths that are in one tree only, or whose mode or blob is another one."""
    found: set[bytes] = set()
    with git.start("diff-tree", *_RAW, old, new, "--") as process:
        records = _records(process)
        for _ in records:
            found.add(_path_of(records))
            _check_count(found)
        git.finish(process)
    return found


def is_on_first_parent_line(git: Git, old: str, new: str) -> bool:
    """Tell whether one comes from `new` to `old` by going to first parents alone."""
    with git.start("rev-list", "--first-parent", new, "--") as process:
        for line in _records(process, b"\n"):
            if line.decode("ascii", "replace") == old:
                return True
        git.finish(process)
    return False


def newest_changes(git: Git, new: str, *, since: str | None, wanted: Collection[bytes] | None) -> dict[bytes, Change]:
    """Return for each path the newest commit on the first-parent line of `new` that changed it.

    A commit changes a path if the path's mode or blob differs from its first parent's, or if it is a root and has the
    path. `since`: look at the commits after this one alone; it must be on the line. `wanted`: look for these paths
    alone, and stop when all are found.
    """
    missing = None if wanted is None else set(wanted)
    found: dict[bytes, Change] = {}
    if missing is not None and not missing:
        return found
    commits = new if since is None else f"{since}..{new}"
    line = ("--first-parent", "--diff-merges=first-parent", "--root", "--format=%H %ct", "--no-show-signature")
    with git.start("log", *line, *_RAW, commits, "--") as process:
        change: Change | None = None
        records = _records(process)
        for record in records:
            # A commit comes as its format, then a line end before the first of its raw entries, each before its path.
            text = record.lstrip(b"\n")
            if not text.startswith(b":"):
                change = _change(text) if text else change
                continue
            path = _path_of(records)
            if change is None:
                raise GitFailed("log gave a path before a commit")
            if path not in found and (missing is None or path in missing):
                found[path] = change
                _check_count(found)
                if missing is not None and len(found) == len(missing):
                    return found
        git.finish(process)
    return found


def _change(text: bytes) -> Change:
    commit, _, time = text.decode("ascii", "replace").partition(" ")
    try:
        return Change(commit, int(time or 0))  # git gives nothing for a committer's line without a usable time
    except ValueError:
        raise GitFailed("log gave a commit that cannot be read") from None


def _path_of(records: Iterator[bytes]) -> bytes:
    """Return the path that follows a raw entry."""
    path = next(records, None)
    if path is None:
        raise GitFailed("git stopped in the middle of an entry")
    return path


def _records(process: Process, end: bytes = b"\0") -> Iterator[bytes]:
    """Give what a process writes, record by record, holding one piece at a time."""
    rest = b""
    while piece := process.read():
        *records, rest = (rest + piece).split(end)
        yield from records
    if rest:
        yield rest


def _check_count(found: Collection[object]) -> None:
    if len(found) > MOST_PATHS:
        raise Unavailable(
            "upstream",
            f"the repository lists more than {MOST_PATHS:,} paths",
            next_step="leave it out, or choose another branch",
        )
