"""What a refresh has to look at: the tree of the branch, the paths that are touched, and their newest commits.

In: the mirror and how far the source has been taken in. Out: a `Look`. Nothing is written here.

Touched are the paths whose tree entries differ between the cursor's commit and the new one, and those whose newest
commit has changed: one walk old..new names them when the old commit is on the new one's first-parent line (an ancestor
is not enough: after a foxtrot merge the line is another), else the whole walk is held against what the index says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from huginn.forge.mirror import Mirror
from huginn.forge.skip import display_path
from huginn.forge.tree import Change, Entry
from huginn.index.port import Place, Reader


@dataclass(frozen=True)
class Look:
    """A complete look at one commit. `touched` are paths as displayed, sorted; `whole`: it is all there is.

    `entries` holds the whole tree by displayed path; `changes` the newest commit of each touched path that is in it.
    """

    commit: str
    entries: Mapping[str, Entry]
    touched: tuple[str, ...]
    changes: Mapping[str, Change]
    whole: bool
    rewritten: bool


def gather(mirror: Mirror, source: str, index: Reader, commit: str, old: str | None, *, compare_all: bool) -> Look:
    """Look at `commit`. `old` is the commit the source was taken in at, if any; `compare_all`: trust nothing of it."""
    tree = mirror.tree(commit)
    entries = {display_path(entry.path): entry for entry in tree}
    known = old is not None and mirror.has(old)
    on_line = old is not None and known and mirror.on_first_parent_line(old, commit)
    rewritten = old is not None and not on_line and not (known and mirror.is_ancestor(old, commit))
    if old is None or not known or compare_all:
        walked = mirror.newest_commits(commit, since=None, wanted={entry.path for entry in tree})
        stored = _stored_commits(index, source)
        touched = entries.keys() | stored.keys()
        return Look(commit, entries, tuple(sorted(touched)), _displayed(walked), whole=True, rewritten=rewritten)
    touched = {display_path(path) for path in mirror.changed(old, commit)}
    if on_line:
        changes = _displayed(mirror.newest_commits(commit, since=old, wanted=None))
        touched |= changes.keys()
    else:
        walked = mirror.newest_commits(commit, since=None, wanted={entry.path for entry in tree})
        changes = _displayed(walked)
        stored = _stored_commits(index, source)
        touched |= {path for path, change in changes.items() if stored.get(path, change.commit) != change.commit}
    return Look(commit, entries, tuple(sorted(touched)), changes, whole=False, rewritten=rewritten)


def _stored_commits(index: Reader, source: str) -> dict[str, str]:
    """The commit that the index has for each path of a source."""
    place = Place(corpus="forge", sources=[source])
    return {
        str(point.payload["path"]): str(point.payload["commit"]) for point in index.stored(place, ["path", "commit"])
    }


def _displayed(changes: Mapping[bytes, Change]) -> dict[str, Change]:
    return {display_path(path): change for path, change in changes.items()}
