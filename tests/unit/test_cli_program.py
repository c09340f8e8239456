"""Help is a manual, mistakes are told in one sentence, and the exit codes are what they say."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import huginn as huginn_package
from huginn import __version__
from huginn.cli.exits import MEANING, ExitCode, code_of
from huginn.errors import Busy, HuginnError, Refused, Unavailable
from tests.support import fake_search
from tests.support.command_line import CommandLine

COMMANDS = ("init", "doctor", "refresh", "search", "sources", "chat search", "chat window", "status")
PROGRAM = [sys.executable, "-m", "huginn.cli"]
ROOT = str(Path(huginn_package.__file__).parents[1])


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ROOT)  # for child processes, which run in another folder
    fake_search.install(monkeypatch)


def test_every_exit_code_has_a_meaning_and_is_in_the_help(huginn: CommandLine) -> None:
    told = huginn("--help").out
    assert set(MEANING) == set(ExitCode)
    for code, meaning in MEANING.items():
        assert f"{code.value:<4} {meaning}" in told


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_the_help_of_a_command_has_examples_and_exit_codes(huginn: CommandLine, command: str, option: str) -> None:
    ended = huginn(*command.split(), option)
    assert ended.code == ExitCode.WELL
    assert ended.err == ""
    assert "  Examples:\n    huginn " in ended.out
    assert "  Exit codes:\n    0    " in ended.out
    assert "--config FILE" in ended.out


@pytest.mark.parametrize("command", [(), ("chat",), *(tuple(command.split()) for command in COMMANDS)])
def test_a_help_text_fits_into_80_columns_save_for_examples(huginn: CommandLine, command: tuple[str, ...]) -> None:
    lines = huginn(*command, "--help").out.split("\n")
    assert [line for line in lines if len(line) > 80 and not line.startswith("    huginn ")] == []
    assert "..." not in "".join(line for line in lines if line.startswith("  doctor"))


def test_without_a_command_the_help_is_shown(huginn: CommandLine) -> None:
    ended = huginn()
    assert ended.code == ExitCode.WELL
    assert "huginn COMMAND --help" in ended.out


def test_the_version_is_told(huginn: CommandLine) -> None:
    assert huginn("--version").out == f"huginn, version {__version__}\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Refused("top_k", "no"), ExitCode.REFUSED),
        (Unavailable("index", "no"), ExitCode.AWAY),
        (Busy("no"), ExitCode.BUSY),
        (HuginnError("no"), ExitCode.REFUSED),
    ],
)
def test_each_kind_of_error_has_its_exit_code(error: HuginnError, code: ExitCode) -> None:
    assert code_of(error) == code


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("serch", "x"), "arguments"),
        (("search",), "texts"),
        (("search", "x", "--top-k", "many"), "top_k"),
        (("search", "x", "--mode", "magic"), "mode"),
        (("search", "x", "--corpus", "mail"), "corpus"),
        (("status", "--max-age", "soon"), "max_age"),
        (("refresh", "--onyl", "heron"), "--onyl"),
        (("refresh", "mail"), "corpus"),
    ],
)
def test_a_mistake_in_the_arguments_is_refused_by_name(
    huginn: CommandLine, arguments: tuple[str, ...], field: str
) -> None:
    ended = huginn(*arguments)
    assert ended.code == ExitCode.REFUSED
    assert ended.out == ""
    assert ended.err.startswith(f"huginn: {field}: ")
    assert "\n  next: " in ended.err
    assert "Traceback" not in ended.err


def test_a_mistake_in_the_arguments_is_a_document_for_programs(huginn: CommandLine) -> None:
    ended = huginn("search", "x", "--top-k", "many", "--json")
    assert ended.code == ExitCode.REFUSED
    assert ended.err == ""
    assert ended.document["error"] == {
        "kind": "refused",
        "field": "top_k",
        "reason": "'many' is not a valid integer",
        "next_step": "see 'huginn search --help'",
    }


def test_an_argument_behind_two_dashes_is_a_text_and_asks_for_no_document(huginn: CommandLine) -> None:
    (huginn.folder / "huginn.toml").unlink()
    ended = huginn("search", "--top-k", "many", "--", "--json")
    assert ended.out == ""
    assert ended.err.startswith("huginn: top_k: ")


@pytest.mark.parametrize("command", [("status",), ("refresh",), ("search", "x")])
def test_without_a_settings_file_it_is_told_what_to_do(huginn: CommandLine, command: tuple[str, ...]) -> None:
    (huginn.folder / "huginn.toml").unlink()
    ended = huginn(*command)
    assert ended.code == ExitCode.REFUSED
    assert "there is no huginn.toml in" in ended.err
    assert "next: write one with 'huginn init'" in ended.err


@pytest.mark.parametrize("command", [("status",), ("refresh",), ("search", "x")])
def test_all_problems_of_the_settings_are_told_together_and_harmless(
    huginn: CommandLine, command: tuple[str, ...]
) -> None:
    huginn.settings('[index]\nmin_free_byte = 1\n[embedder]\nkind = "magic"\n"\\u001b[31mred" = 1\n')
    ended = huginn(*command)
    assert ended.code == ExitCode.REFUSED
    assert "\n  index.min_free_byte: no such key; did you mean min_free_bytes?" in ended.err
    assert "\n  embedder.kind: " in ended.err
    assert "\x1b" not in ended.err
    assert all(line.startswith(("huginn: ", "  ")) for line in ended.err.splitlines())


@pytest.mark.parametrize("arguments", [("--config", "other.toml", "status"), ("status", "--config", "other.toml")])
def test_the_settings_file_may_be_named_before_and_after_the_command(
    huginn: CommandLine, arguments: tuple[str, ...]
) -> None:
    ended = huginn(*arguments)
    assert ended.code == ExitCode.REFUSED
    assert f"cannot read {huginn.folder / 'other.toml'}" in ended.err


def test_help_comes_at_once_and_imports_nothing_heavy(tmp_path: Path) -> None:
    heavy = ("pydantic", "rich", "duckdb", "numpy", "git", "wordllama", "qdrant_edge", "kingfisher_sdk", "prefect")
    script = (
        "import sys\nfrom huginn.cli import main\n"
        f"main(['search', '--help'])\nprint([name for name in {heavy!r} if name in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines()[-1] == "[]"


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    for arguments in (["--help"], ["search", "x", "--config", "nowhere", "--json"], ["doctor", "--config", "nowhere"]):
        read_end, write_end = os.pipe()
        os.close(read_end)
        ended = subprocess.run([*PROGRAM, *arguments], check=False, stdout=write_end, stderr=subprocess.PIPE, text=True)
        os.close(write_end)
        assert ended.stderr == ""


def test_an_encoding_without_a_character_gets_its_escape(huginn: CommandLine, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ended = subprocess.run(
        [*PROGRAM, "--config", "Grüße.toml", "status"], check=False, capture_output=True, text=True, env=environment
    )
    assert ended.returncode == ExitCode.REFUSED
    assert "Gr\\xfc\\xdfe.toml" in ended.stderr


INTERRUPTED = """
import sys, time
from contextlib import contextmanager
import huginn.run
from huginn.cli import main
from huginn.progress import Progress
class Run:
    rebuild = None
    progress = Progress()
    sources = ["a", "b", "c", "d", "e", "f"]
    def refresh(self, source):
        print("at work", flush=True)
        time.sleep(60)
@contextmanager
def open_run(settings, **_):
    yield Run()
huginn.run.open_run = open_run
sys.exit(main(["refresh"]))
"""


def test_ctrl_c_ends_a_refresh_at_once_without_a_traceback(huginn: CommandLine) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    child.stdout.readline()
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    _, told = child.communicate(timeout=20)
    assert child.returncode == ExitCode.INTERRUPTED
    assert time.monotonic() - began < 10
    assert told == "\nhuginn: stopped\n"


def test_ctrl_c_ends_any_command_with_130(huginn: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("huginn.settings.load", interrupted)
    ended = huginn("refresh")
    assert ended.code == ExitCode.INTERRUPTED
    assert "Traceback" not in ended.err


def test_an_error_of_the_operating_system_is_told_without_a_traceback(
    huginn: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "/var/lib/huginn")

    monkeypatch.setattr("huginn.settings.load", full)
    ended = huginn("search", "x", "--json")
    assert ended.code == ExitCode.AWAY
    assert ended.document["error"]["part"] == "disk"
    assert ended.document["error"]["reason"] == "cannot use /var/lib/huginn: No space left on device"
    assert json.loads(huginn("refresh", "--json").out)["outcome"] == "failed"
