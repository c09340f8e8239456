"""The repositories in a folder of this machine, bare ones and others, a few levels deep.

In: the settings of a place of the kind `folder`. Out: all of them, or `ListingFailed`: a folder that cannot be read may
hold some. No link is followed, and nothing is looked for inside a repository.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from huginn.forge.found import Found, ListingFailed

DEEPEST = 4
"""Levels below the folder in which repositories are looked for."""


def list_folder(root: Path) -> list[Found]:
    """Every repository below `root`; its id is its path from there, its name that without `.git` at the end."""
    try:
        return [_found(root, path) for path in _repositories(root, DEEPEST)]
    except OSError as error:
        raise ListingFailed(
            f"a folder of repositories cannot be read ({error.strerror})", next_step="check its name and rights"
        ) from None


def _repositories(folder: Path, depth: int) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        inner = sorted(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))
    for path in inner:
        if (path / ".git").is_dir() or _is_bare(path):
            yield path
        elif depth > 1:
            yield from _repositories(path, depth - 1)


def _is_bare(path: Path) -> bool:
    return (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()


def _found(root: Path, path: Path) -> Found:
    place = path.relative_to(root).as_posix()
    return Found(id=place, name=place.removesuffix(".git"), url=path.as_uri())
