"""The command line. In: arguments. Out: an exit code (`huginn.cli.exits`); one file for each command."""

from __future__ import annotations

from huginn.cli.program import main

__all__ = ["main"]
