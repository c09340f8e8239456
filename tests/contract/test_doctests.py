"""The examples in the library's documentation, run on a small index."""

from __future__ import annotations

import doctest
from pathlib import Path

import huginn.search.opened
from tests.support.git import Repository
from tests.support.workspace import Workspace


def test_the_examples_of_an_open_index_are_true(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "remote.git")
    repository.commit({"birds/heron.md": "The heron stands in the water.\n", "kettle.md": "Boil the kettle.\n"})
    workspace = Workspace(tmp_path, {"repo": repository.path})
    workspace.refresh()
    tried = doctest.testmod(huginn.search.opened, extraglobs={"settings": workspace.settings}, verbose=False)
    assert (tried.failed, tried.attempted > 5) == (0, True)
