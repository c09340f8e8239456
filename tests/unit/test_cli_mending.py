"""Backfill, rebuild of a source and verify on the command line: a real repository, model and engine."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from huginn import settings
from huginn.cli.exits import ExitCode
from huginn.index.opening import open_shelf
from huginn.index.port import Place
from huginn.verify import VerifyReport
from tests.support.command_line import CommandLine, Terminal
from tests.support.git import Repository


@pytest.fixture
def birds(huginn: CommandLine) -> CommandLine:
    """The command line, with one repository that has been taken in."""
    Repository(huginn.folder / "birds.git").commit({"nest.md": "herons nest in reeds\n", "sea.md": "ospreys fish\n"})
    huginn.settings('[[forge.repos]]\nname = "birds"\nurl = "birds.git"\n[index]\nmin_free_bytes = 0\n')
    huginn("refresh")
    return huginn


@pytest.fixture
def damaged(birds: CommandLine) -> CommandLine:
    """The same, and one of its two points has gone."""
    shelf = open_shelf(settings.load(birds.folder / "huginn.toml"))
    collection = shelf.current()
    assert collection is not None
    index = shelf.open(collection, wait=1)
    writer = index.writer("forge", "birds")
    writer.remove([next(index.stored(Place())).id])
    writer.acknowledge()
    index.close()
    return birds


def test_verify_tells_each_fault_and_ends_with_1(damaged: CommandLine) -> None:
    ended = damaged("verify")
    assert (ended.code, ended.err) == (ExitCode.SOME_FAILED, "")
    heading, row, last = ended.out.splitlines()
    assert heading.split() == ["fault", "source", "points", "what"]
    assert row.split() == ["points_differ", "birds", "1", "its", "cursor", "says", "2"]
    assert last == "1 point of 1 source: 1 fault"
    report = VerifyReport.model_validate(damaged("verify", "--json").document)
    assert [(fault.kind, fault.source) for fault in report.faults] == [("points_differ", "birds")]


def test_a_backfill_tells_the_drift_and_mends_it(damaged: CommandLine) -> None:
    dry = damaged("backfill", "--all", "--dry-run")
    assert dry.code == ExitCode.WELL
    assert "birds: drift: 1 missing, 0 stale, 0 foreign" in dry.out
    ended = damaged("backfill", "birds", "--json")
    assert (ended.code, ended.err) == (ExitCode.WELL, "")
    assert ended.document["flow"] == "backfill"
    assert ended.document["sources"][0]["drift"] == {"missing": 1, "stale": 0, "foreign": 0}
    ended = damaged("verify")
    assert (ended.code, ended.out) == (ExitCode.WELL, "2 points of 1 source: nothing wrong\n")
    assert "no drift" in damaged("backfill", "--all").out.splitlines()


def test_a_refresh_tells_no_drift(birds: CommandLine) -> None:
    assert "drift" not in birds("refresh").out


@pytest.mark.parametrize("command", ["backfill", "rebuild"])
def test_what_is_meant_must_be_named(birds: CommandLine, command: str) -> None:
    for arguments in ((), ("--all", "birds"), ("wren",), ("#birds:example.org",), ("!a:example.org",)):
        ended = birds(command, *arguments)
        assert ended.code == ExitCode.REFUSED
        assert ended.err.startswith(("huginn: SOURCE: ", "huginn: sources: "))
    assert birds("verify").code == ExitCode.WELL


def test_a_rebuild_of_a_source_asks_first(birds: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = birds("rebuild", "birds")
    assert ended.code == ExitCode.REFUSED
    assert "give --yes" in ended.err
    document = birds("rebuild", "birds", "--json").document
    assert (document["flow"], document["outcome"]) == ("rebuild", "refused")
    monkeypatch.setattr(sys, "stdin", answering("n\n"))
    assert birds("rebuild", "birds").code == ExitCode.INTERRUPTED
    [run] = birds("refresh", "--json").document["sources"]
    assert run["outcome"] == "unchanged"

    monkeypatch.setattr(sys, "stdin", answering("y\n"))
    ended = birds("rebuild", "birds")
    assert ended.code == ExitCode.WELL
    assert "All points of birds go" in ended.err
    assert ended.out.splitlines()[-1] == "1 source: 1 ok; 2 chunks written, 2 removed"


def test_a_rebuild_without_its_upstream_says_that_the_points_are_gone(birds: CommandLine) -> None:
    path = birds.folder / "birds.git"
    path.rename(path.with_suffix(".away"))
    ended = birds("rebuild", "birds", "--yes")
    assert ended.code == ExitCode.SOME_FAILED
    assert "birds: all 2 points of it are gone; the next refresh takes it in again" in ended.out.splitlines()
    assert json.loads(birds("verify", "--json").out)["points"] == 0
    path.with_suffix(".away").rename(path)
    birds("refresh")
    assert birds("verify").code == ExitCode.WELL


def answering(text: str) -> io.StringIO:
    """Standard input on a terminal, where somebody types this."""
    terminal = Terminal(text)
    assert terminal.isatty()
    return terminal


def test_without_an_index_there_is_nothing_to_verify(huginn: CommandLine, tmp_path: Path) -> None:
    ended = huginn("verify")
    assert ended.code == ExitCode.AWAY
    assert "there is none yet" in ended.err
