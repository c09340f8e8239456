"""The commands on a real repository, with the real model and engine: to a citation, and what goes wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import huginn as huginn_package
from huginn.cli.exits import ExitCode
from huginn.lock import writer_lock
from huginn.report import RunReport, StatusReport
from tests.support.command_line import CommandLine
from tests.support.git import Repository

ROOT = str(Path(huginn_package.__file__).parents[1])
NEST = "# Heron\n\nHerons nest in reeds and fish at dawn.\n"


@pytest.fixture
def birds(huginn: CommandLine) -> CommandLine:
    """The command line, with settings that name one repository of one file."""
    repository = Repository(huginn.folder / "birds.git")
    repository.commit({"docs/nest.md": NEST, "logo.png": b"\x89PNG\x00\x00"})
    huginn.settings('[[forge.repos]]\nname = "birds"\nurl = "birds.git"\n')
    return huginn


def outcomes(document: dict[str, Any], check: str) -> list[str]:
    """The outcomes of one kind of check in a doctor's document."""
    return [finding["outcome"] for finding in document["checks"] if finding["check"] == check]


def test_from_nothing_to_a_citation(birds: CommandLine) -> None:
    ended = birds("doctor", "--json")
    assert (ended.code, ended.err) == (ExitCode.WELL, "")
    assert outcomes(ended.document, "index") == ["note"]

    ended = birds("refresh")
    assert (ended.code, ended.err) == (ExitCode.WELL, "")
    assert ended.out.splitlines()[-1] == "1 source: 1 ok; 1 chunk written, 0 removed"
    report = RunReport.model_validate(birds("refresh", "--json").document)
    assert [source.outcome for source in report.sources] == ["unchanged"]

    ended = birds("search", "where do herons live")
    assert ended.out.startswith("birds@")
    assert ":docs/nest.md#L1-L3  " in ended.out
    assert "│ 3  Herons nest in reeds" in ended.out
    [hit] = birds("sources", "where do herons live", "--json").document["hits"]
    assert hit["citation"]["path"] == "docs/nest.md"

    ended = birds("status", "-v")
    assert ended.out.splitlines()[-1] == "1 source: 1 well; 1 point; 1 path skipped, 0 failed"
    assert "  logo.png: binary, since " in ended.out
    assert birds("status", "--max-age", "1h").code == ExitCode.WELL
    assert birds("status", "--max-age", "0s").code == ExitCode.STALE
    assert outcomes(birds("doctor", "--json").document, "index") == ["well"]


def test_before_the_first_refresh_a_search_says_what_to_do_and_every_source_is_stale(birds: CommandLine) -> None:
    ended = birds("search", "herons")
    assert ended.code == ExitCode.AWAY
    assert "next: run 'huginn refresh'" in ended.err
    report = StatusReport.model_validate(birds("status", "--json").document)
    assert report.index.points is None
    assert birds("status", "--max-age", "2h").code == ExitCode.STALE


def test_a_bad_source_costs_only_itself(birds: CommandLine) -> None:
    more = '[[forge.repos]]\nname = "evil"\nurl = "ext::sh -c id"\n[[forge.repos]]\nname = "gone"\nurl = "gone.git"\n'
    birds.settings((birds.folder / "huginn.toml").read_text() + more)
    ended = birds("refresh", "--json")
    assert ended.code == ExitCode.SOME_FAILED
    report = RunReport.model_validate(ended.document)
    assert [source.outcome for source in report.sources] == ["ok", "refused", "failed"]
    ended = birds("doctor", "--json")
    assert ended.code == ExitCode.SOME_FAILED
    assert outcomes(ended.document, "repository") == ["well", "wrong", "wrong"]
    ended = birds("doctor")
    assert "\nwrong  repository   evil: forge.repos[1].url: " in ended.out
    assert ended.out.splitlines()[-1].endswith("2 wrong")
    ended = birds("refresh", "--only", "nobody")
    assert ended.code == ExitCode.REFUSED
    assert "nobody" in ended.err


def test_another_writer_is_told_and_is_no_fault_to_a_doctor(birds: CommandLine) -> None:
    with writer_lock(birds.folder / ".huginn", "a test"):
        assert birds("refresh").code == ExitCode.BUSY
        assert birds("refresh", "--json").document["outcome"] == "busy"
        ended = birds("doctor", "--json")
    assert ended.code == ExitCode.WELL
    assert outcomes(ended.document, "lock") == ["note"]


def test_a_disk_that_is_nearly_full_is_a_part_that_is_away(birds: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUGINN_INDEX_MIN_FREE_BYTES", str(1 << 60))
    ended = birds("refresh")
    assert ended.code == ExitCode.AWAY
    assert ended.err.startswith("huginn: disk: ")
    ended = birds("doctor", "--json")
    assert ended.code == ExitCode.AWAY
    assert outcomes(ended.document, "disk") == ["away"]


def test_an_index_of_other_rules_is_built_anew_beside_or_refused_with_what_to_do(
    birds: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    birds("refresh")
    [path] = (birds.folder / ".huginn" / "index").glob("*/label.json")
    described = json.loads(path.read_text())
    described["label"]["rules"] = "of-another-release"
    path.write_text(json.dumps(described))
    monkeypatch.setenv("HUGINN_INDEX_REBUILD", "ask")
    ended = birds("refresh")
    assert ended.code == ExitCode.REFUSED
    assert "next: 'huginn rebuild --all' builds it anew beside the old one" in ended.err
    assert birds("search", "herons").code == ExitCode.WELL
    assert "'huginn rebuild --all' builds it anew" in birds("doctor").out
    assert birds("rebuild").code == ExitCode.REFUSED
    ended = birds("rebuild", "--all")
    assert ended.code == ExitCode.WELL
    assert "vectors of equal texts are carried over" in ended.err
    assert "the index was built anew, and the new one is in use" in ended.out
    assert "made by this model and these rules" in birds("doctor").out


def test_a_broken_checkpoint_store_is_refused_with_what_to_do(birds: CommandLine) -> None:
    (birds.folder / ".huginn").mkdir()
    (birds.folder / ".huginn" / "checkpoints.duckdb").write_bytes(b"no database" * 1000)
    for arguments in (("refresh",), ("status",)):
        ended = birds(*arguments)
        assert ended.code in (ExitCode.REFUSED, ExitCode.AWAY)
        assert "\n  next: " in ended.err
    ended = birds("doctor", "--json")
    assert ended.code in (ExitCode.SOME_FAILED, ExitCode.AWAY)
    assert outcomes(ended.document, "checkpoints")[0] in ("wrong", "away")


def test_a_doctor_tells_every_problem_of_the_settings_on_a_line_of_its_own(huginn: CommandLine) -> None:
    huginn.settings("state = 1\n[forge]\nrepo = []\n")
    ended = huginn("doctor")
    assert ended.code == ExitCode.REFUSED
    lines = ended.out.splitlines()
    assert lines[0].startswith(f"wrong  settings     {huginn.folder / 'huginn.toml'}: ")
    assert [line.split(":")[0].strip() for line in lines[1:3]] == ["state", "forge.repo"]
    ended = huginn("doctor", "--json")
    assert (ended.code, ended.err) == (ExitCode.REFUSED, "")
    assert outcomes(ended.document, "settings") == ["wrong"]
    (huginn.folder / "huginn.toml").unlink()
    assert "next: write one with 'huginn init'" in huginn("doctor").out


JOURNAL_THAT_TAKES_LONG = """
import sys, time
from huginn.checkpoints import Checkpoints
from huginn.cli import main

def record(self, report, asked):
    with self.store.transaction() as db:
        print("at it", flush=True)
        db.execute("SET threads = 1")
        db.execute("SELECT count(*) FROM range(1000000000) numbers(n) WHERE hash(n) = 1").fetchall()
        time.sleep(10)  # on a machine that is as fast as that the signal comes here

Checkpoints.record = record
sys.exit(main(["refresh"]))
"""


def test_ctrl_c_while_a_run_is_noted_is_no_error(birds: CommandLine) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", JOURNAL_THAT_TAKES_LONG],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": ROOT},
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "at it\n"
    time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    _, told = child.communicate(timeout=20)
    assert (child.returncode, told) == (ExitCode.INTERRUPTED, "\nhuginn: stopped\n")
    assert birds("refresh").code == ExitCode.WELL


def test_ctrl_c_leaves_no_git_behind(birds: CommandLine) -> None:
    git = birds.folder / "bin" / "git"
    git.parent.mkdir()
    git.write_text('#!/bin/sh\nwhile true; do echo alive >> "$0.beats"; sleep 0.1; done\n')
    git.chmod(0o755)
    beats = git.with_name("git.beats")
    environment = {**os.environ, "PATH": f"{git.parent}:{os.environ['PATH']}", "PYTHONPATH": ROOT}
    child = subprocess.Popen(
        [sys.executable, "-m", "huginn.cli", "refresh"], stderr=subprocess.PIPE, text=True, env=environment
    )
    deadline = time.monotonic() + 60
    while not (beats.exists() and beats.stat().st_size > 20):
        assert time.monotonic() < deadline
        assert child.poll() is None
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    _, told = child.communicate(timeout=20)
    assert (child.returncode, told) == (ExitCode.INTERRUPTED, "\nhuginn: stopped\n")
    lived = beats.stat().st_size
    time.sleep(0.5)
    assert beats.stat().st_size == lived
