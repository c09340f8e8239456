"""Real SIGKILLs of a real refresh, at any moment, with upstream moving in between: the next refresh ends right."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from huginn.checkpoints import Checkpoints
from huginn.index.folder import Folders
from tests.support.git import Repository
from tests.support.workspace import Workspace

KILLS = 24


def many(word: str, files: int = 80) -> dict[str | bytes, bytes | str | None]:
    """Enough text that writing it is most of a refresh."""
    part = "def part{n}_{m}():\n    return '{word} {n} {m}' * {m}  # stands in the shallow water and waits\n\n\n"
    return {f"src/file{n}.py": "".join(part.format(n=n, m=m, word=word) for m in range(150)) for n in range(files)}


def write_settings(root: Path, repository: Repository) -> Path:
    settings = root / "huginn.toml"
    repos = f'[[forge.repos]]\nname = "repo"\nurl = "{repository.path}"\n'
    settings.write_text(f'state = "state"\n[forge]\nname = "Test"\n{repos}[index]\nmin_free_bytes = 0\n')
    return settings


def refresh_and_kill(settings: Path, seconds: float) -> None:
    command = [sys.executable, "-m", "huginn.cli", "--config", str(settings), "refresh", "--json"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)


def is_open(state: Path) -> bool:
    collection = Folders(state, 0).current()
    store = Checkpoints(state)
    if collection is None or not store.store.exists():
        return False
    return store.ledger(collection.id, "forge").cursor("repo").is_open


@pytest.mark.slow
def test_kills_at_any_moment_leave_nothing_that_the_next_refresh_does_not_mend(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "remote.git")
    commits = [repository.commit(many("heron"))]
    commits.append(repository.commit({**many("osprey", 70), "src/file79.py": None}))
    commits.append(repository.commit({**many("quince", 75), "new.md": "marmalade\n"}))
    workspace = Workspace(tmp_path, {"repo": repository.path})
    settings = write_settings(tmp_path, repository)
    chance = random.Random(int(os.environ.get("HUGINN_TEST_SEED", "7")))
    refresh_and_kill(settings, 120)  # the first one compiles the scrub's rules, too
    repository.reset(commits[0])
    began = time.monotonic()
    refresh_and_kill(settings, 120)
    whole = time.monotonic() - began
    cut_off = 0
    for number in range(KILLS):
        repository.reset(chance.choice(commits))
        if number % 10 == 5:
            workspace.lose_checkpoints()
        refresh_and_kill(settings, chance.uniform(0.4, 1.0) * whole)
        cut_off += is_open(workspace.settings.state)
        if number % 6 == 5:
            assert workspace.refresh_one().outcome in ("ok", "unchanged")
            fresh = workspace.fresh()
            fresh.refresh()
            assert workspace.points() == fresh.points()
    assert cut_off >= 3, "too few kills fell between intent and advance to say anything"
