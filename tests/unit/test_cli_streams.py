"""Standard streams that are closed or full: no traceback, no false exit code, and no file in their place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import huginn as huginn_package
from huginn.cli.exits import ExitCode
from tests.support.command_line import CommandLine

ROOT = str(Path(huginn_package.__file__).parents[1])
NEXT_FILE = """
import os, sys
from huginn.cli.terminal import prepare_streams
prepare_streams()
print(sys.stdin.read(), "out")
print("err", file=sys.stderr)
sys.exit(os.open(os.devnull, os.O_RDONLY))
"""
LOST = "huginn: output: cannot be written: No space left on device\n  next: make room, or send it elsewhere\n"

needs_a_full_device = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
both_bufferings = pytest.mark.parametrize("unbuffered", ["", "1"])


def ended(arguments: str, redirections: str, unbuffered: str = "") -> tuple[int, str]:
    """The exit code and what stood on standard error after Python ran with these streams, in a shell."""
    environment = {**os.environ, "PYTHONPATH": ROOT, "PYTHONUNBUFFERED": unbuffered}
    command = f'exec "$0" {arguments} {redirections}'
    done = subprocess.run(["sh", "-c", command, sys.executable], stderr=subprocess.PIPE, text=True, env=environment)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("arguments", "redirections", "code"),
    [
        ("status", ">&-", ExitCode.WELL),
        ("status --json", ">&-", ExitCode.WELL),
        ("refresh nosuch --json", ">&-", ExitCode.REFUSED),
        ("refresh nosuch", "2>&-", ExitCode.REFUSED),
        ("refresh nosuch", "<&- >&- 2>&-", ExitCode.REFUSED),
    ],
)
def test_a_stream_that_is_closed_changes_no_exit_code(
    huginn: CommandLine, arguments: str, redirections: str, code: int
) -> None:
    assert ended(f"-m huginn.cli {arguments}", redirections) == (code, "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_no_file_gets_the_number_of_a_stream_that_is_closed(huginn: CommandLine, closed: str) -> None:
    (huginn.folder / "next.py").write_text(NEXT_FILE)
    code, _ = ended("next.py", f"< /dev/null > /dev/null {closed}")
    assert code == 3


@needs_a_full_device
@both_bufferings
@pytest.mark.parametrize("arguments", ["status", "status --json", "refresh nosuch --json", "search '' --json"])
def test_output_that_cannot_be_written_is_told_once(huginn: CommandLine, arguments: str, unbuffered: str) -> None:
    assert ended(f"-m huginn.cli {arguments}", "> /dev/full", unbuffered) == (ExitCode.AWAY, LOST)


@needs_a_full_device
@both_bufferings
def test_when_nothing_can_be_told_the_exit_code_stands(huginn: CommandLine, unbuffered: str) -> None:
    assert ended("-m huginn.cli refresh nosuch", "2> /dev/full", unbuffered) == (ExitCode.REFUSED, "")
    assert ended("-m huginn.cli status --json", "> /dev/full 2>&1", unbuffered) == (ExitCode.AWAY, "")


@needs_a_full_device
def test_a_help_text_that_cannot_be_written_leaves_nothing_for_the_end_of_the_process(huginn: CommandLine) -> None:
    assert ended("-m huginn.cli --help", "> /dev/full") == (ExitCode.AWAY, LOST)
