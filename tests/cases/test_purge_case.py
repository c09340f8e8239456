"""PRG-01 on the files as they are: two rooms and a repository, purged from the command line."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import huginn.settings
from huginn.index.port import Place
from huginn.purging import PurgeReport, entries
from tests.support.chat_workspace import ChatWorkspace
from tests.support.command_line import CommandLine, Ended
from tests.support.git import environment
from tests.support.workspace import Workspace

MAKE = Path(__file__).parent / "prg_01" / "make.py"
GARDEN = "!garden:example.org"
SPAN = ("--from", "2024-03-10T00:00:00Z", "--to", "2024-03-11T00:00:00Z", "--reason", "as was asked")
GO = ["startedge", "middle", "lastms", "originalinside", "editedlater"]
STAY = ["beforeedge", "endedge", "localnight", "localevening", "otherroom", "editedinside", "future", "leapday"]
STAY += ["springgap", "repobefore", "repoinside", "repoauthored", "repooffset"]


class Case:
    """The rooms and the repository of the case, in one index, with the command line on it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        subprocess.run([sys.executable, str(MAKE), str(folder)], check=True)
        subprocess.run(["sh", str(folder / "make-repo.sh"), str(folder / "repo")], check=True, env=environment())
        self.repository = Workspace(folder, {"repo": folder / "repo"})
        self.rooms = ChatWorkspace.at(folder)
        events: list[dict[str, Any]] = json.loads((folder / "events.json").read_text())
        for room in ("garden", "orchard"):
            self.rooms.homeserver.new_room(room)
        for event in events:
            there = self.rooms.homeserver.rooms[event["room_id"]]
            there.events.append((next(there.server.stream), {**event, "unsigned": {}}))
        self.late = next(event for event in events if event["event_id"] == "$p12")
        self._command_line = CommandLine(folder, capsys)
        self.refresh()

    def refresh(self) -> None:
        self.repository.refresh()
        self.rooms.refresh()

    def purge(self, *arguments: str) -> Ended:
        with patch.object(huginn.settings, "load", lambda _: self.settings()):
            return self._command_line("purge", *arguments)

    def settings(self) -> huginn.settings.Settings:
        """Those of the rooms with the repository."""
        return self.rooms.settings.model_copy(update={"forge": self.repository.settings.forge})

    def held(self) -> str:
        return self.rooms.texts()

    def check(self) -> None:
        held = self.held()
        assert [word for word in GO if word in held] == []
        assert [word for word in STAY if word not in held] == []


@pytest.fixture
def case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Case:
    case = Case(tmp_path, capsys)
    assert [word for word in [*GO, *STAY] if word not in case.held()] == ["originalinside"], "it was edited since"
    return case


def test_prg_01_what_goes_and_what_stays(case: Case) -> None:
    before = len(list(_points(case)))
    dry = PurgeReport.model_validate_json(case.purge(GARDEN, *SPAN, "--dry-run", "--json").out)
    assert dry.messages == 4
    assert entries(case.settings()) == []

    report = PurgeReport.model_validate_json(case.purge(GARDEN, *SPAN, "--yes", "--expect", "4", "--json").out)

    assert (report.messages, report.windows, report.points) == (dry.messages, dry.windows, dry.points)
    assert len(list(_points(case))) == before - report.points + report.written
    assert (report.start, report.end) == (datetime(2024, 3, 10, tzinfo=UTC), datetime(2024, 3, 11, tzinfo=UTC))
    case.check()
    for word in GO:
        assert not [hit for hit in case.rooms.search(word, mode="words").hits if word in hit.text]


def test_prg_01_the_words_are_in_no_file_after_a_hard_purge(case: Case) -> None:
    def held_in_files() -> set[str]:
        files = [path.read_bytes() for path in case.settings().state.rglob("*") if path.is_file()]
        return {word for word in [*GO, *STAY] if any(word.encode() in content for content in files)}

    assert held_in_files() >= {"startedge", "middle", "lastms"}, "else this test proves nothing"
    ended = case.purge(GARDEN, *SPAN, "--yes", "--expect", "4", "--hard")
    assert (ended.code, "written anew" in ended.out) == (0, True)
    assert held_in_files().isdisjoint(GO)
    case.check()


def _points(case: Case) -> list[str]:
    with case.rooms.index() as index:
        return [point.id for point in index.stored(Place(corpus="chat"))]


@pytest.mark.parametrize("what", ["lost cursor", "full rebuild", "edit once more", "backup"])
def test_prg_01_nothing_comes_back(case: Case, what: str) -> None:
    state, backup = case.settings().state, case.rooms.root / "backup"
    shutil.copytree(state, backup)
    case.purge(GARDEN, *SPAN, "--yes", "--expect", "4")
    garden = case.rooms.homeserver.rooms[GARDEN]
    garden.events.append((next(garden.server.stream), {**case.late, "unsigned": {}}))
    garden.react("@ada:example.org", "$p03")
    if what == "lost cursor":
        case.rooms.lose_checkpoints()
    elif what == "full rebuild":
        shutil.rmtree(state / "index")
    elif what == "backup":
        shutil.copy(backup / "checkpoints.duckdb", state / "checkpoints.duckdb")
    case.refresh()
    case.check()


def test_prg_01_twice_is_none_and_well(case: Case) -> None:
    case.purge(GARDEN, *SPAN, "--yes", "--expect", "4")
    again = case.purge(GARDEN, *SPAN, "--yes", "--expect", "0", "--json")
    assert (again.code, again.document["messages"], again.document["points"]) == (0, 0, 0)
    case.check()


def test_prg_01_the_repository_and_what_cannot_be_meant_are_refused(case: Case) -> None:
    before = case.rooms.points()
    mistakes: list[tuple[str, ...]] = [
        ("repo", *SPAN),
        ("!nowhere:example.org", *SPAN),
        (GARDEN, "--from", SPAN[3], "--to", SPAN[1], *SPAN[4:]),
        (GARDEN, "--from", "1970-01-01T00:00:00Z", "--to", "2100-01-01T00:00:00Z", *SPAN[4:]),
        (GARDEN, "--from", "2024-03-10T00:00:00", "--to", SPAN[3], *SPAN[4:]),
        (GARDEN, "--from", "2024-03-10", "--to", SPAN[3], *SPAN[4:]),
        (GARDEN, *SPAN[2:]),
        (GARDEN, *SPAN[:4]),
        (GARDEN,),
        (),
        ("--lift", "nothing", *SPAN[4:]),
    ]
    for arguments in mistakes:
        ended = case.purge(*arguments, "--yes", "--expect", "100")
        assert ended.code == 2, arguments
        assert ended.err
    assert "exclude" in case.purge("repo", *SPAN, "--dry-run").err
    assert case.purge(GARDEN, *SPAN).code == 2, "there is no terminal to ask on"
    assert case.purge(GARDEN, *SPAN, "--yes").code == 2
    assert case.rooms.points() == before
    assert entries(case.settings()) == []


def test_prg_01_the_record_is_listed_and_a_lift_brings_the_text_back(case: Case) -> None:
    assert "nothing has been purged" in case.purge("--list").out
    case.purge(GARDEN, *SPAN, "--yes", "--expect", "4")
    (entry,) = case.purge("--list", "--json").document["entries"]
    assert (entry["room"], entry["from"], entry["to"]) == (GARDEN, "2024-03-10T00:00:00Z", "2024-03-11T00:00:00Z")
    assert (entry["reason"], entry["lifts"]) == ("as was asked", None)
    lifted = case.purge("--lift", entry["id"], "--reason", "a mistake", "--json").document
    assert lifted["lifts"] == entry["id"]
    assert len(case.purge("--list").out.splitlines()) == 2
    case.refresh()
    assert "middle" in case.held()
