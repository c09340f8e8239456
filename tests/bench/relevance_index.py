"""An index of a repository's tree at the base of a set of questions."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from huginn.run import open_run
from huginn.settings import load
from tests.bench.relevance_sets import Set

_PERSON = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Case"), ("EMAIL", "case@example.org"), ("DATE", "1700000000 +0000"))
}


def indexed(folder: Path, questions: Set, clone: Path) -> Path:
    """The settings file of a new index in `folder` that holds the base's tree, as one commit without a past."""
    repository = folder / f"{questions.name}.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(repository)], check=True)
    (repository / "objects/info/alternates").write_text(f"{clone.resolve() / 'objects'}\n", encoding="utf-8")
    commit = _git(repository, "commit-tree", f"{questions.base}^{{tree}}", "-m", "The base")
    _git(repository, "update-ref", "refs/heads/main", commit)
    settings = folder / f"{questions.name}.toml"
    lines = [
        f"state = {json.dumps(str(folder / questions.name))}",
        "[forge]",
        'name = "Bench"',
        "[[forge.repos]]",
        f"name = {json.dumps(questions.name)}",
        f"url = {json.dumps(str(repository))}",
    ]
    settings.write_text("\n".join([*lines, "[index]", "min_free_bytes = 0", ""]), encoding="utf-8")
    loaded = load(settings)
    with open_run(loaded) as run:
        report = run.finish([run.refresh(name) for name in run.sources])
    assert all(source.is_well for source in report.sources), [source.reason for source in report.sources]
    return settings


def _git(repository: Path, *arguments: str) -> str:
    command = ["git", "--git-dir", str(repository), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **_PERSON})
    return done.stdout.strip()
