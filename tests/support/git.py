"""A small builder of real repositories, deterministic to the commit id, for all tests.

In go contents by path (None removes), out come commits. Nothing goes through a work tree, so paths may be any bytes.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

EPOCH = 1_700_000_000

FILE = "100644"
EXECUTABLE = "100755"
LINK = "120000"
SUBMODULE = "160000"

Content = bytes | str | None


def environment(time: int = EPOCH) -> dict[str, str]:
    """Return an environment in which git depends on nothing but its arguments."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    person = {"NAME": "Case Author", "EMAIL": "author@example.org", "DATE": f"{time} +0000"}
    for role in ("AUTHOR", "COMMITTER"):
        kept.update({f"GIT_{role}_{key}": value for key, value in person.items()})
    return kept | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}


class Repository:
    """A bare repository at `path` to commit to; each commit is one minute younger than the one before."""

    def __init__(self, path: Path, *, branch: str = "main", object_format: str = "sha1") -> None:
        self.path = path
        self.branch = branch
        self._commits = 0
        path.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "--bare", "--template=", "-b", branch, f"--object-format={object_format}", str(path))

    def git(self, *arguments: str, stdin: bytes = b"", index: str | None = None) -> str:
        """Run git here and return what it says, without the line end."""
        return os.fsdecode(self.output(*arguments, stdin=stdin, index=index)).strip()

    def output(self, *arguments: str, stdin: bytes = b"", index: str | None = None) -> bytes:
        """Run git here and return what it writes."""
        settings = environment(EPOCH + 60 * self._commits) | {"GIT_DIR": str(self.path)}
        if index:
            settings["GIT_INDEX_FILE"] = str(self.path / index)
        done = subprocess.run(["git", *arguments], input=stdin, env=settings, capture_output=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"git {arguments[0]}: {done.stderr.decode(errors='replace')}")
        return done.stdout

    @property
    def head(self) -> str:
        """The commit at the tip of the branch."""
        return self.git("rev-parse", self.branch)

    def blob(self, content: bytes | str) -> str:
        """Store a file's content and return its id."""
        return self.git("hash-object", "-w", "--stdin", stdin=_bytes(content))

    def commit(
        self,
        files: Mapping[str | bytes, Content] | None = None,
        *,
        message: str = "A change",
        mode: str = FILE,
        branch: str | None = None,
        parents: list[str] | None = None,
        time: int | None = None,
    ) -> str:
        """Commit these files on top of the branch: None removes; `mode` is for all; a submodule's content is an id.

        `parents` given: the commit stands on the first of them and joins the others; none of them: a new root.
        """
        branch = branch or self.branch
        if parents is None:
            parents = [self.git("rev-parse", branch)] if self.has_branch(branch) else []
        self._commits += 1
        lines = []
        for path, content in (files or {}).items():
            encoded = os.fsencode(path) if isinstance(path, str) else path
            if content is None:
                lines.append(b"0 " + b"0" * 40 + b"\t" + encoded)
            else:
                blob = _bytes(content).decode() if mode == SUBMODULE else self.blob(content)
                lines.append(f"{mode} {blob}\t".encode() + encoded)
        self.git("read-tree", parents[0] if parents else "--empty", index="building")
        records = b"".join(line + b"\0" for line in lines)
        self.git("update-index", "-z", "--replace", "--index-info", stdin=records, index="building")
        tree = self.git("write-tree", "--missing-ok", index="building")
        return self.commit_tree(tree, parents, message=message, branch=branch, time=time)

    def commit_tree(
        self,
        tree: str,
        parents: list[str],
        *,
        message: str = "A tree",
        branch: str | None = None,
        time: int | None = None,
    ) -> str:
        """Commit a tree that was made by other means (`git mktree` takes names that the index refuses)."""
        arguments = [part for parent in parents for part in ("-p", parent)]
        when = EPOCH + 60 * self._commits if time is None else time
        done = subprocess.run(
            ["git", "commit-tree", tree, *arguments],
            input=message.encode(),
            env=environment(when) | {"GIT_DIR": str(self.path)},
            capture_output=True,
            check=True,
        )
        commit = done.stdout.decode().strip()
        self.reset(commit, branch=branch)
        return commit

    def merge(self, other: str, *, files: Mapping[str | bytes, Content] | None = None, foxtrot: bool = False) -> str:
        """Merge a commit or branch: `files` on the first parent's tree. Foxtrot: the other becomes the first parent."""
        ours, theirs = self.head, self.git("rev-parse", other)
        parents = [theirs, ours] if foxtrot else [ours, theirs]
        if files is None:
            # Without files of its own a merge takes all of the other side that this side lacks.
            lacking = ("diff", "-z", "--name-only", "--no-renames", "--diff-filter=D", parents[1], parents[0])
            paths = [os.fsdecode(path) for path in self.output(*lacking).split(b"\0") if path]
            files = {path: self.read(parents[1], path) for path in paths}
        return self.commit(files, message="A merge", parents=parents)

    def rename(self, old: str, new: str) -> str:
        """Move a file in a commit of its own."""
        return self.commit({old: None, new: self.read(self.head, old)}, message="A rename")

    def reset(self, commit: str, *, branch: str | None = None) -> None:
        """Put the branch at a commit, as a forced push does."""
        self.git("update-ref", f"refs/heads/{branch or self.branch}", commit)

    def forget(self) -> None:
        """Remove every object that no ref reaches."""
        self.git("reflog", "expire", "--expire=now", "--all")
        self.git("gc", "-q", "--prune=now")

    def read(self, commit: str, path: str) -> bytes:
        """Return a file's content."""
        return self.output("cat-file", "blob", f"{commit}:{path}")

    def has_branch(self, branch: str) -> bool:
        """Tell whether there is such a branch."""
        return bool(self.git("for-each-ref", f"refs/heads/{branch}"))


def _bytes(content: bytes | str) -> bytes:
    return content.encode() if isinstance(content, str) else content
