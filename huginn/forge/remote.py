"""Where a remote is, asked without fetching anything.

In go an address and a branch, out comes the commit there. The rule that lives here: "there is nothing" (no refs at all)
is told apart from "I could not look" and from "the branch is gone".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from huginn.errors import HuginnError
from huginn.forge.address import Address
from huginn.forge.git import Git, harmless

OBJECT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True)
class Tip:
    """The commit that the remote is at, and its branch (None: the remote's HEAD is on no branch)."""

    commit: str
    branch: str | None


class BranchGone(HuginnError):
    """The remote has refs, but the branch that was asked for, or that its HEAD names, is not among them."""


def ask(git: Git, address: Address, branch: str | None) -> Tip | None:
    """Return the tip, or None where there are no refs; raise `GitFailed` or `BranchGone`."""
    wanted = ref_of(branch)
    found = _read_tip(git.run("ls-remote", "--quiet", "--symref", "--", address.url, wanted), wanted)
    if found is not None:
        return Tip(found.commit, branch or found.branch)
    if _has_any_ref(git, address):
        raise branch_gone(address, branch)
    return None


def ref_of(branch: str | None) -> str:
    """Return the remote's name for a branch."""
    return "HEAD" if branch is None else f"refs/heads/{branch}"


def branch_gone(address: Address, branch: str | None) -> BranchGone:
    """Return the error for a branch that is not there while others are."""
    name = "the branch that its HEAD names" if branch is None else f"branch {branch}"
    next_step = "set branch to one that is there, or mend the remote's HEAD"
    return BranchGone(f"{address.shown}: {name} is not there", next_step=next_step)


def _has_any_ref(git: Git, address: Address) -> bool:
    with git.start("ls-remote", "--quiet", "--", address.url) as process:
        if process.read():
            return True
        git.finish(process)
        return False


def _read_tip(answer: bytes, wanted: str) -> Tip | None:
    """Find the wanted ref in what `ls-remote --symref` says."""
    branch = commit = None
    for line in answer.decode(errors="replace").split("\n"):
        value, _, name = line.partition("\t")
        if name != wanted:
            continue
        if value.startswith("ref: refs/heads/"):
            # Only shown: HEAD is fetched as HEAD, whatever a remote says that its branch is called.
            branch = harmless(value.removeprefix("ref: refs/heads/"))
        elif OBJECT_ID.fullmatch(value):
            commit = value
    return Tip(commit, branch) if commit else None
