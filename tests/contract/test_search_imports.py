"""`huginn search` begins at once: it loads what a search by the settings at hand needs, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.git import Repository
from tests.support.workspace import Workspace

NEVER = {"prefect", "nio", "qdrant_client", "ollama", "httpx", "requests", "urllib3", "duckdb", "wordllama", "pathspec"}
SEARCH = """
import sys
from huginn.cli import main
code = main(sys.argv[1:])
print("\\n" + " ".join(name for name in sys.modules if "." not in name))
sys.exit(code)
"""


@pytest.fixture
def settings(tmp_path: Path, pytestconfig: pytest.Config) -> Path:
    repository = Repository(tmp_path / "remote.git")
    repository.commit({"heron.md": "The heron stands in the water.\n"})
    workspace = Workspace(tmp_path, {"repo": repository.path})
    workspace.refresh()
    assert pytestconfig.cache is not None
    shutil.copytree(pytestconfig.cache.mkdir("scrub-rules"), tmp_path / "state" / "cache", dirs_exist_ok=True)
    settings = tmp_path / "huginn.toml"
    repos = f'[[forge.repos]]\nname = "repo"\nurl = "{repository.path}"\n'
    settings.write_text(f'state = "state"\n[forge]\nname = "Test"\n{repos}[index]\nmin_free_bytes = 0\n')
    return settings


def loaded_by(settings: Path, *arguments: str) -> set[str]:
    """The packages that a process has loaded which ran `huginn search` and found the heron."""
    command = [sys.executable, "-c", SEARCH, "--config", str(settings), "search", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "heron.md" in ended.stdout
    return set(ended.stdout.strip().split("\n")[-1].split())


def test_a_search_loads_no_server_no_client_and_no_database(settings: Path) -> None:
    loaded = loaded_by(settings, "where does it stand?")
    assert not loaded & NEVER
    assert "kingfisher_sdk" not in loaded, "plain words need no look for secrets by the library"


def test_a_question_that_might_hold_a_secret_is_looked_at(settings: Path) -> None:
    assert "kingfisher_sdk" in loaded_by(settings, "where does heron_2 stand?")


def test_a_search_by_words_needs_no_model(settings: Path) -> None:
    assert not loaded_by(settings, "heron", "--mode", "words") & {"tokenizers", "safetensors"}
