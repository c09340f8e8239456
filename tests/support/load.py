"""A large load in a repository, and a refresh of it in a process of its own, which is looked at while it works."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support.git import Repository, environment
from tests.support.workspace import Workspace

MAKE = Path(__file__).parents[1] / "cases" / "scl_01" / "make.py"


def make(folder: Path, *, files: int, big_mb: int) -> Repository:
    """A repository of so many files, and one of so many megabytes."""
    options = ["--files", str(files), "--messages", "0", "--big-mb", str(big_mb)]
    subprocess.run([sys.executable, str(MAKE), str(folder), *options], check=True)
    repository = Repository(folder / "remote.git")
    git = ["git", "-C", str(folder / "files"), "--git-dir", str(repository.path), "--work-tree", "."]
    subprocess.run([*git, "add", "-A"], check=True, env=environment())
    tree = subprocess.run([*git, "write-tree"], check=True, env=environment(), capture_output=True, text=True)
    repository.commit_tree(tree.stdout.strip(), [])
    return repository


class Refreshing:
    """`huginn refresh` of a workspace in another process; what it holds at most is noted until it ends."""

    def __init__(self, workspace: Workspace) -> None:
        settings = workspace.root / "huginn.toml"
        settings.write_text(_toml(workspace), encoding="utf-8")
        command = [sys.executable, "-m", "huginn.cli", "--config", str(settings), "refresh", "--json"]
        self.peak_kib = self.files = self.children = 0
        self._out = (workspace.root / "refresh.json").open("w+")
        self.child = subprocess.Popen(command, stdout=self._out)
        self._watcher = threading.Thread(target=self._watch)
        self._watcher.start()

    @property
    def is_at_work(self) -> bool:
        return self.child.poll() is None

    def kill(self) -> None:
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()
        self._watcher.join()

    def report(self) -> dict[str, Any]:
        """Wait until it has ended; the report of the only source."""
        self.child.wait(600)
        self._watcher.join()
        self._out.seek(0)
        (source,) = json.load(self._out)["sources"]
        assert isinstance(source, dict)
        return source

    def _watch(self) -> None:
        folder = Path("/proc") / str(self.child.pid)
        while True:
            with suppress(OSError):
                lines = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
                self.peak_kib = max(self.peak_kib, int(lines.get("VmHWM", "0").split()[0]))
                self.files = max(self.files, len(os.listdir(folder / "fd")))
                children = (task / "children" for task in (folder / "task").iterdir())
                self.children = max(self.children, sum(len(each.read_text().split()) for each in children))
            with suppress(subprocess.TimeoutExpired):
                self.child.wait(0.05)
                return


def _toml(workspace: Workspace) -> str:
    lines = [f'state = "{workspace.settings.state}"', "[forge]", 'name = "Test"']
    for name, url in workspace.repos.items():
        lines += ["[[forge.repos]]", f'name = "{name}"', f'url = "{url}"']
    index = {"min_free_bytes": 0, **workspace.index_settings}
    for section, given in (("index", index), ("embedder", workspace.embedder)):
        lines += [f"[{section}]", *(f"{key} = {json.dumps(value)}" for key, value in given.items())]
    return "\n".join(lines)
