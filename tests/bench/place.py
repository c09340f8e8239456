"""Where a bench takes place: a temporary folder, its sizes, settings files, and child processes.

Whatever is measured runs in a child, so that no measurement carries the memory or the warm caches of another.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bench.corpus import make_corpus

ROOT = Path(__file__).parents[2]


class CouldNotMeasure(Exception):
    """A measurement has failed; a bar that is missed is no failure."""


@dataclass
class Place:
    """`scale` makes everything smaller (1: the sizes of the bars); `times`: repetitions, of which the median counts."""

    folder: Path
    scale: float = 1.0
    times: int = 3
    _made: dict[tuple[int, int], Path] = field(default_factory=dict)

    def sized(self, number: int, least: int = 1) -> int:
        """A number of things, at this scale."""
        return max(least, round(number * self.scale))

    def corpus(self, *, files: int = 2500, copies: int = 1) -> Path:
        """The repository, made once for each size; `copies` of it under as many folders."""
        if (files, copies) not in self._made:
            path = self.folder / f"corpus-{files}-{copies}.git"
            make_corpus(path, self.sized(files, least=8), copies)
            self._made[files, copies] = path
        return self._made[files, copies]

    def settings(self, name: str, repos: Mapping[str, Path], **embedder: Any) -> Path:
        """A settings file in a new folder, with an empty state in which only the rules are compiled already."""
        folder = self.folder / name
        folder.mkdir()
        lines = ['state = "state"', "[forge]", 'name = "Bench"']
        for repo, url in repos.items():
            lines += ["[[forge.repos]]", f"name = {json.dumps(repo)}", f"url = {json.dumps(str(url))}"]
        lines += (
            ["[embedder]", *(f"{key} = {json.dumps(value)}" for key, value in embedder.items())] if embedder else []
        )
        file = folder / "huginn.toml"
        file.write_text("\n".join([*lines, "[index]", "min_free_bytes = 0", ""]), encoding="utf-8")
        rules = self.folder / "rules"
        if not rules.exists():
            self.child("tests.bench.runs:compile_rules", cache=str(rules))
        shutil.copytree(rules, folder / "state" / "cache")
        return file

    def environment(self) -> dict[str, str]:
        """That of all children: none of the caller's settings, and byte code that is kept, as after an installation."""
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("HUGINN_", "PYTHON"))}
        return {**ours, "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": str(self.folder / "pycache")}

    def child(self, function: str, **arguments: Any) -> Any:
        """What a function gives in a process of its own."""
        with self.started(function, **arguments) as running:
            return running.answer()

    @contextmanager
    def started(
        self, function: str, *, environment: Mapping[str, str] | None = None, **arguments: Any
    ) -> Iterator[Running]:
        """The same, while something else goes on; killed at the end if it is still at work."""
        command = [sys.executable, "-m", "tests.bench.child", function, json.dumps(arguments)]
        running = Running(command, {**self.environment(), **(environment or {})})
        try:
            yield running
        finally:
            running.process.kill()
            running.process.wait()


class Running:
    """A child process at work. Its standard input is a pipe: a child may wait for its end as for a word to stop."""

    def __init__(self, command: list[str], environment: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        self._errors: list[str] = []
        self._reader = threading.Thread(target=self._errors.extend, args=(self.process.stderr,), daemon=True)
        self._reader.start()

    def line(self) -> str:
        """The next line of its output."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def stop(self) -> None:
        """Tell it to come to an end."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def answer(self) -> Any:
        """Wait for the end; the document in its last line. Raises `CouldNotMeasure`."""
        assert self.process.stdout is not None
        printed = self.process.stdout.read().strip()
        if self.process.wait() != 0:
            self._reader.join(5)
            raise CouldNotMeasure(f"a child ended with {self.process.returncode}: {''.join(self._errors)[-2000:]}")
        return json.loads(printed.rpartition("\n")[2])
