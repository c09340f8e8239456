"""The bare mirror of one repository.

In go an address and a branch, out come the commit that the remote is at and, from a local bare mirror, what that commit
holds. The rule that lives here: the mirror is a cache, made again, once, when it turns out to be unusable, without
failing what reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote

from huginn.errors import Unavailable
from huginn.forge import folder as folders
from huginn.forge import git, tree
from huginn.forge.address import Address
from huginn.forge.blobs import Blobs
from huginn.forge.failure import explained, is_mirrors, timed_out
from huginn.forge.git import Git, for_address
from huginn.forge.process import GitFailed, GitTimedOut
from huginn.forge.remote import OBJECT_ID, BranchGone, Tip, ask, branch_gone, ref_of
from huginn.forge.tree import Change, Entry

__all__ = ["BranchGone", "Change", "CommitGone", "Entry", "Mirror", "Tip"]

_TIP = "refs/huginn/tip"
_ASKING_SECONDS = 60.0

Answer = TypeVar("Answer")


class CommitGone(Unavailable):
    """A commit that was read before is in the mirror no longer: compare the whole, or try again."""

    def __init__(self, commit: str) -> None:
        super().__init__("upstream", f"commit {commit} is not in the mirror any more", next_step="try again")


class Mirror:
    """A repository's bare mirror in `folder`, following `branch` (None: what the remote's HEAD says)."""

    def __init__(
        self,
        folder: Path,
        address: Address,
        *,
        branch: str | None,
        token: str | None = None,
        username: str = "git",
        timeout: float = 1_800.0,
    ) -> None:
        """`timeout`: seconds that one git command may take; asking for the tip at most a minute of them."""
        self._folder = folder
        self._address = address
        self._branch = branch
        asking = min(timeout, _ASKING_SECONDS)
        self._outside = for_address(address, token=token, username=username, seconds=asking)
        self._fetching = Git(folder, timeout, self._outside.settings, self._outside.secrets)
        self._inside = Git(folder, timeout, memory=git.MOST_MEMORY)
        self._was_made_again = False

    def tip(self) -> Tip | None:
        """Ask the remote where it is, without fetching. None: it has no refs at all, so no commits yet."""
        with self._upstream_errors():
            return ask(self._outside, self._address, self._branch)

    def fetch(self, tip: Tip) -> str:
        """Bring the branch into the mirror, and return the commit it is at now: the tip's or a newer one."""
        with self._upstream_errors(), folders.claimed(self._folder) as lock:
            if not self._is_usable(len(tip.commit)):
                self._begin_anew(len(tip.commit))
            source = self._source_boundary()
            if self._tip_here() == tip.commit and source == folders.remembered_source(self._folder):
                return tip.commit
            if self._tip_here() is not None and (folders.boundary(self._folder) or source):
                # What was cut off, and where, does not add up over fetches: a new mirror would see another history.
                self._begin_anew(len(tip.commit))
            folders.clear_leavings(self._folder)
            commit = self._download(lock, len(tip.commit))
            folders.remember_source(self._folder, source)
            return commit

    def _download(self, lock: int, width: int) -> str:
        try:
            self._fetch_branch(lock)
        except GitFailed as failure:
            if not is_mirrors(failure) or self._is_whole():
                raise
            self._make_again(lock, width)
        commit = self._tip_here()
        if commit is None:
            raise Unavailable("upstream", f"{self._address.shown}: the branch holds no commit")
        return commit

    def _fetch_branch(self, lock: int) -> None:
        options = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--update-shallow")
        try:
            self._fetching.run(
                "fetch", *options, "--", self._address.url, f"+{ref_of(self._branch)}:{_TIP}", held=(lock,)
            )
        except GitFailed as failure:
            if "couldn't find remote ref" in failure.words:
                raise branch_gone(self._address, self._branch) from None
            raise

    def has(self, commit: str) -> bool:
        """Tell whether the mirror holds a commit (maybe from before a rewritten history)."""
        if not self._folder.is_dir():
            return False
        with self._upstream_errors():
            return self._inside.succeeds("cat-file", "-e", _checked(commit) + "^{commit}")

    def tree(self, commit: str) -> list[Entry]:
        """Return all paths of a commit, folders left out, in git's order."""
        return self._reading((commit,), lambda: tree.entries(self._inside, commit))

    def changed(self, old: str, new: str) -> set[bytes]:
        """Return the paths whose tree entries differ: mode, blob or presence."""
        return self._reading((old, new), lambda: tree.changed_paths(self._inside, old, new))

    def is_ancestor(self, old: str, new: str) -> bool:
        """Tell whether `old` is `new` or one of its ancestors: if not, history was rewritten."""
        with self._upstream_errors():
            return self._inside.succeeds("merge-base", "--is-ancestor", _checked(old), _checked(new))

    def on_first_parent_line(self, old: str, new: str) -> bool:
        """Tell whether `old` is `new` or one of its first parents."""
        return self._reading((new,), lambda: tree.is_on_first_parent_line(self._inside, _checked(old), new))

    def newest_commits(
        self, new: str, *, since: str | None = None, wanted: Collection[bytes] | None = None
    ) -> dict[bytes, Change]:
        """Return for each path the newest commit on the first-parent line that changed it (see `forge.tree`)."""
        commits = (new,) if since is None else (since, new)
        return self._reading(commits, lambda: tree.newest_changes(self._inside, new, since=since, wanted=wanted))

    def boundary(self) -> str:
        """Return "" for a whole history, else a digest of where it is cut off (the source is a shallow clone).

        Of a source on this machine it is what the source says now, so that one that is deepened at the same tip shows.
        """
        return folders.boundary(self._folder) + self._source_boundary()

    @contextmanager
    def blobs(self) -> Iterator[Callable[[str], bytes]]:
        """Give a function from a blob's id to its bytes; one process answers, until the block is left."""
        with self._upstream_errors():
            reader = Blobs(self._inside)

        def read(blob: str) -> bytes:
            nonlocal reader
            _checked(blob)
            with self._upstream_errors():
                try:
                    return reader.read(blob)
                except GitFailed as failure:
                    reader.close()
                    self._make_again_or_give_up(failure, len(blob))
                    reader = Blobs(self._inside)
                return reader.read(blob)

        try:
            yield read
        finally:
            reader.close()

    def _reading(self, commits: tuple[str, ...], read: Callable[[], Answer]) -> Answer:
        """Read from the mirror; when that fails, make the mirror again and read once more."""
        for commit in commits:
            _checked(commit)
        with self._upstream_errors():
            try:
                return read()
            except GitFailed as failure:
                if self._tip_here() is not None:
                    self._require(commits)
                self._make_again_or_give_up(failure, len(commits[0]))
            try:
                return read()
            except GitFailed:
                self._require(commits)
                raise

    def _require(self, commits: tuple[str, ...]) -> None:
        for commit in commits:
            if not self.has(commit):
                raise CommitGone(commit)

    def _make_again_or_give_up(self, failure: GitFailed, width: int) -> None:
        if self._was_made_again or not is_mirrors(failure):
            raise explained(failure, self._address) from None
        with folders.claimed(self._folder) as lock:
            self._make_again(lock, width)

    def _make_again(self, lock: int, width: int) -> None:
        self._was_made_again = True
        self._begin_anew(width)
        self._fetch_branch(lock)

    def _begin_anew(self, width: int) -> None:
        folders.discard(self._folder)
        folders.create(self._folder, self._outside, width=width)

    def _is_usable(self, width: int) -> bool:
        if not (self._folder / "HEAD").is_file():
            return False
        try:
            said = self._inside.run("rev-parse", "--is-bare-repository", "--show-object-format").split()
        except GitFailed:
            return False
        return said == [b"true", b"sha256" if width == 64 else b"sha1"]

    def _is_whole(self) -> bool:
        """Tell whether everything the mirror's tip needs is there. Slow: asked only when something went wrong."""
        return self._fetching.succeeds("fsck", "--connectivity-only", "--no-dangling", "--no-progress")

    def _tip_here(self) -> str | None:
        try:
            return self._inside.run("rev-parse", "--verify", "--quiet", _TIP + "^{commit}").decode().strip() or None
        except GitFailed:
            return None

    def _source_boundary(self) -> str:
        if not self._address.local:
            return ""
        url = self._address.url
        return folders.source_boundary(Path(unquote(url.removeprefix("file://")) if url.startswith("file://") else url))

    @contextmanager
    def _upstream_errors(self) -> Iterator[None]:
        try:
            yield
        except GitFailed as failure:
            raise explained(failure, self._address) from None
        except GitTimedOut as failure:
            raise timed_out(failure, self._address) from None
        except OSError as failure:
            reason = f"the mirror cannot be written: {failure.strerror}"
            raise Unavailable("disk", reason, next_step="check the state folder's owner and its free space") from None


def _checked(object_id: str) -> str:
    """Let only whole ids through to git: they are neither options nor expressions."""
    if not OBJECT_ID.fullmatch(object_id):
        raise ValueError("not the id of a git object")
    return object_id
