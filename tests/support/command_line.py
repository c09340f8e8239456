"""Runs the command line in the process, and gives what it printed and its exit code."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from huginn.cli import main


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one document on standard output; fails if there is anything else."""
        document = json.loads(self.out)
        assert isinstance(document, dict)
        return document


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    @property
    def encoding(self) -> str:  # type: ignore[override] # a plain attribute of the base class
        return "utf-8"

    def isatty(self) -> bool:
        return True


class CommandLine:
    """The command line, in a folder with settings."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Ended:
        """Run `huginn` with these arguments."""
        self._capsys.readouterr()
        code = main(arguments)
        printed = self._capsys.readouterr()
        return Ended(int(code), printed.out, printed.err)

    def on_terminal(self, *arguments: str) -> str:
        """What `huginn` prints on a standard output that is a terminal."""
        terminal = Terminal()
        with contextlib.redirect_stdout(terminal):
            main(arguments)
        return terminal.getvalue()

    def settings(self, text: str) -> None:
        """Write the settings of this folder."""
        (self.folder / "huginn.toml").write_text(text, encoding="utf-8")


TWO_REPOSITORIES = """
[[forge.repos]]
name = "heron"
url = "https://forge.example.org/birds/heron.git"
[[forge.repos]]
name = "osprey"
url = "https://forge.example.org/birds/osprey.git"
"""
