"""Fixtures of the unit tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.command_line import TWO_REPOSITORIES, CommandLine


@pytest.fixture
def huginn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line in an empty folder with settings of two repositories, and no variables of its own."""
    for variable in [name for name in os.environ if name.startswith("HUGINN_")]:
        monkeypatch.delenv(variable)
    monkeypatch.chdir(tmp_path)
    command_line = CommandLine(tmp_path, capsys)
    command_line.settings(TWO_REPOSITORIES)
    return command_line
