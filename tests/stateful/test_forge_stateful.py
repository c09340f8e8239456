"""Whatever upstream does and wherever a refresh is cut off: the index is what a fresh build would give.

Hypothesis plays on real repositories, with the real engine, embedder and checkpoint store; after each refresh that
ends, all points (ids, payloads and the bits of the vectors) are held against a build of HEAD from nothing.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

import huginn.rules
from tests.support.faults import Fuse, Killed, fused
from tests.support.git import LINK, Repository
from tests.support.workspace import Workspace

RULES = huginn.rules.versions()
PATHS = st.sampled_from(["a.md", "b.py", "src/c.py", "src/lib/d.txt", "odd \u00e9 name.md", "yarn.lock"])
WORDS = st.sampled_from(["heron", "walrus", "osprey", "quince", "kettle", "ladder"])
LINES = st.lists(WORDS, min_size=0, max_size=6)
LONG = st.integers(1, 60)


def text_of(lines: list[str], times: int) -> str:
    """A file: a definition and some lines, long enough at times for several chunks, with equal texts in it at times."""
    body = "".join(f"    {word} = {word!r} + {word!r}  # the {word} line\n" for word in lines)
    return "".join(f"def part{number % 7}():\n{body}\n" for number in range(times)) if lines else ""


class ForgeMachine(RuleBasedStateMachine):
    """One repository, one index, and everything that may happen to either."""

    @initialize()
    def begin(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="stateful-", dir=_memory()))
        self.repository = Repository(self.root / "remote.git")
        self.repository.commit({"a.md": "the first heron\n", "src/c.py": text_of(["quince"], 30)})
        self.commits = [self.repository.head]
        self.workspace = Workspace(self.root, {"repo": self.repository.path})
        self.release = "now"

    def teardown(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def _tip(self, commit: str) -> None:
        self.commits.append(commit)

    @rule(path=PATHS, lines=LINES, times=LONG)
    def edit(self, path: str, lines: list[str], times: int) -> None:
        self._tip(self.repository.commit({path: text_of(lines, times)}))

    @rule(path=PATHS)
    def delete(self, path: str) -> None:
        if path in self._paths():
            self._tip(self.repository.commit({path: None}))

    @rule(path=PATHS)
    def turn_into_link(self, path: str) -> None:
        self._tip(self.repository.commit({path: "a.md"}, mode=LINK))

    @rule(old=PATHS, new=PATHS)
    def rename(self, old: str, new: str) -> None:
        if old in self._paths() and old != new:
            content = self.repository.git("cat-file", "blob", f"{self.repository.head}:{old}") + "\n"
            self._tip(self.repository.commit({old: None, new: content}))

    @rule(data=st.data(), foxtrot=st.booleans(), path=PATHS, lines=LINES)
    def merge(self, data: st.DataObject, foxtrot: bool, path: str, lines: list[str]) -> None:
        """A side branch from somewhere in the past is merged, or HEAD is merged into it (foxtrot)."""
        start = data.draw(st.sampled_from(self.commits))
        self.repository.git("branch", "-f", "side", start)
        side = self.repository.commit({path: text_of(lines, 20)}, branch="side")
        self._tip(self.repository.merge(side, foxtrot=foxtrot))

    @rule(data=st.data())
    def revert(self, data: st.DataObject) -> None:
        """A new commit with the tree of an old one."""
        tree = self.repository.git("rev-parse", data.draw(st.sampled_from(self.commits)) + "^{tree}")
        self._tip(self.repository.commit_tree(tree, [self.repository.head]))

    @rule(data=st.data())
    def force_push(self, data: st.DataObject) -> None:
        self.repository.reset(data.draw(st.sampled_from(self.commits)))

    @rule(exclude=st.sampled_from([(), ("src/",), ("*.md",)]))
    def change_settings(self, exclude: tuple[str, ...]) -> None:
        self.workspace.exclude = exclude

    @rule()
    def lose_checkpoints(self) -> None:
        self.workspace.lose_checkpoints()

    @rule()
    def lose_mirror(self) -> None:
        self.workspace.lose_mirrors()

    @rule(version=st.sampled_from(["now", "next"]))
    def change_rules(self, version: str) -> None:
        """Another release of the code: the index is built anew beside, or the building is given up again."""
        self.release = version

    @rule(length=st.integers(0, 40))
    def refresh_and_be_killed(self, length: int) -> None:
        with self._release(), fused(Fuse(length)), suppress(Killed):
            self.workspace.refresh()

    @rule()
    def refresh(self) -> None:
        with self._release():
            self._refresh()

    @contextmanager
    def _release(self) -> Iterator[None]:
        versions = {**RULES, "release": self.release}
        with patch.object(huginn.rules, "versions", lambda: versions):
            yield

    def _refresh(self) -> None:
        report = self.workspace.refresh_one()
        assert report.outcome in ("ok", "unchanged"), report.reason
        assert report.seen == report.stored + sum(report.skipped.values()) + report.failed
        assert report.seen == len(self._paths())
        fresh = self.workspace.fresh()
        fresh_report = fresh.refresh_one()
        assert self.workspace.points() == fresh.points()
        assert (report.stored, report.skipped) == (fresh_report.stored, fresh_report.skipped)
        again = self.workspace.refresh_one()
        assert (again.outcome, again.embedded, again.written) == ("unchanged", 0, 0)

    def _paths(self) -> list[str]:
        listed = self.repository.output("ls-tree", "-r", "-z", "--name-only", self.repository.head)
        return [path.decode() for path in listed.split(b"\0") if path]


def _memory() -> str | None:
    """A file system in memory, where there is one: the machine makes thousands of small files."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


TestForge = ForgeMachine.TestCase
TestForge.settings = settings(
    max_examples=30,
    stateful_step_count=15,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@pytest.mark.soak
@pytest.mark.timeout(3600)
class TestForgeSoak(TestForge):  # type: ignore[misc, valid-type] # its base is made by Hypothesis
    """The same with many more examples."""

    settings = settings(TestForge.settings, max_examples=300)
