"""A purge that writes the files of the index anew: the words are in none, whatever was there, wherever it is killed."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import pytest

import huginn.rules
from huginn.chat.purge import rewrite_marked
from huginn.errors import Refused, Unavailable
from huginn.index import graph, rewriting
from huginn.index.payload import moment_of
from huginn.purging import entries
from tests.support.chat_workspace import ChatWorkspace
from tests.support.faults import Fuse, Killed, fused
from tests.support.model_homeserver import HOUR, START, ModelRoom
from tests.support.qdrant_server import StandIn
from tests.support.workspace import Workspace

A = "@a:example.org"
FROM, TO = moment_of(START + HOUR), moment_of(START + 2 * HOUR)


@pytest.fixture
def workspace(tmp_path: Path) -> ChatWorkspace:
    return ChatWorkspace.at(tmp_path)


@pytest.fixture
def garden(workspace: ChatWorkspace) -> ModelRoom:
    """A room with a span in it, alone and beside others in one window, that is to go."""
    room = workspace.homeserver.new_room("garden")
    room.send(A, "heron before", START + HOUR - 1)
    room.send(A, "walrus at the start", START + HOUR)
    room.send(A, "walrus alone", START + HOUR + 50 * 60_000)
    room.send(A, "heron behind", START + 3 * HOUR)
    workspace.refresh()
    return room


def files_with(workspace: Workspace, word: bytes) -> list[Path]:
    """The files of the state folder that hold a word."""
    return [path for path in workspace.settings.state.rglob("*") if path.is_file() and word in path.read_bytes()]


def test_the_words_are_in_no_file_and_cursors_and_vectors_stay(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    with workspace.index() as index:
        before = index.id
    assert files_with(workspace, b"walrus"), "else this test proves nothing"

    report = workspace.purge(garden.id, FROM, TO, hard=True)

    assert (report.messages, report.rewritten, report.pending) == (2, 1, None)
    assert files_with(workspace, b"walrus") == []
    assert files_with(workspace, b"heron before")
    assert workspace.points() == workspace.fresh().filled().points()
    with workspace.index() as index:
        assert index.id == before
    assert [source.outcome for source in workspace.refresh().sources] == ["unchanged"]
    assert "heron" in repr(workspace.search("heron", mode="words").hits)


def test_it_may_follow_a_purge_that_has_left_the_words_in_files(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    assert workspace.purge(garden.id, FROM, TO).rewritten == 0
    assert files_with(workspace, b"walrus"), "else this test proves nothing"
    again = workspace.purge(garden.id, FROM, TO, hard=True)
    assert (again.messages, again.rewritten) == (0, 1)
    assert files_with(workspace, b"walrus") == []
    assert len(entries(workspace.settings)) == 1


def test_every_index_on_disk_is_reached_and_what_kills_have_left(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    kitchen = workspace.homeserver.new_room("kitchen")
    kitchen.send(A, "quince")
    workspace.refresh()
    folder = workspace.settings.state / "index"
    (current,) = (path.parent for path in folder.glob("*/label.json"))
    shutil.copytree(current, folder / ("0" * 32))
    (folder / ("0" * 32) / "label.json").unlink()  # as of a collection that was being dropped
    shutil.copytree(current / "shard", current / "shard-of-a-graph-that-was-being-built")
    versions = {**huginn.rules.versions(), "fold": "another"}
    with patch.object(huginn.rules, "versions", lambda: versions):
        workspace.homeserver.away = {f"messages {kitchen.id}"}
        workspace.refresh()  # so that the new index is not complete
        workspace.homeserver.away = set()
        assert workspace.purge(garden.id, FROM, TO, hard=True).rewritten == 2
        assert files_with(workspace, b"walrus") == []
        workspace.refresh()
        assert workspace.points() == workspace.fresh().filled().points()


def test_wherever_it_is_killed_the_next_run_of_anything_finishes_it(
    workspace: ChatWorkspace, garden: ModelRoom
) -> None:
    expected = None
    with fused(Fuse()) as fuse:
        whole = workspace.copy("whole")
        whole.purge(garden.id, FROM, TO, hard=True)
        expected = whole.points()
    steps = 0
    last = range(fuse.burnt - 4, fuse.burnt)
    for length in (*range(0, last.start, 5), *last):  # those between are tried without the rewriting
        killed = workspace.copy("killed")
        with suppress(Killed), fused(Fuse(length)):
            killed.purge(garden.id, FROM, TO, hard=True)
        if not entries(killed.settings):
            continue
        steps += 1
        killed.refresh() if length % 2 else Workspace(killed.root, {}).refresh()
        assert files_with(killed, b"walrus") == [], length
        killed.refresh()
        assert killed.points() == expected, length
    assert steps > 6


@pytest.mark.parametrize("step", ["make_shard", "_copy", "write"])
def test_killed_while_it_writes_the_files_it_leaves_one_whole_index(
    workspace: ChatWorkspace, garden: ModelRoom, step: str
) -> None:
    expected = workspace.copy("whole")
    expected.purge(garden.id, FROM, TO)
    asked = getattr(rewriting, step)

    def killed(*arguments: object, **named: object) -> None:
        if step != "write" or "holds_removed=True" not in repr(arguments):
            asked(*arguments, **named)
            raise Killed
        asked(*arguments, **named)

    # What a killed process cannot do either: clean up behind itself.
    with suppress(Killed), patch.object(rewriting, step, killed), patch.object(shutil, "rmtree"):
        workspace.purge(garden.id, FROM, TO, hard=True)
    assert files_with(workspace, b"walrus")
    assert workspace.points() == expected.points()
    workspace.refresh()
    assert files_with(workspace, b"walrus") == []
    assert workspace.points() == expected.points()


def test_a_graph_that_is_built_meanwhile_takes_the_mark_along(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    full = Unavailable("disk", "0 MiB are free", next_step="make room")
    with patch.object(rewriting, "require_space", side_effect=full):
        with pytest.raises(Unavailable):
            workspace.purge(garden.id, FROM, TO, hard=True)
        with patch.object(graph, "is_due", lambda *_: True):
            report = workspace.refresh()
    assert any("through a graph" in note for note in report.notes)
    workspace.refresh()
    assert files_with(workspace, b"walrus") == []


def test_without_room_it_says_so_and_a_later_run_does_it(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    full = Unavailable("disk", "0 MiB are free", next_step="make room")
    with patch.object(rewriting, "require_space", side_effect=full):
        with pytest.raises(Unavailable, match=r"still in files .* make room; the next run then writes them anew"):
            workspace.purge(garden.id, FROM, TO, hard=True)
        assert "walrus" not in workspace.texts()
        report = workspace.refresh()
        assert report.outcome == "ok", "a refresh does its own work all the same"
        assert any("make room" in note for note in report.notes)
    assert files_with(workspace, b"walrus")
    assert workspace.refresh().notes == []
    assert files_with(workspace, b"walrus") == []


def test_other_runs_write_nothing_anew(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    workspace.purge(garden.id, FROM, TO, hard=True)
    with patch.object(rewriting, "rewrite", side_effect=AssertionError):
        workspace.refresh()
        workspace.purge(garden.id, FROM, TO)
        assert rewrite_marked([]) == 0


def test_on_a_server_it_is_refused_before_anything_is_done(tmp_path: Path, standin: StandIn) -> None:
    workspace = ChatWorkspace(tmp_path, {}, index_settings={"url": standin.url, "timeout_seconds": 5})
    room = workspace.homeserver.new_room("garden")
    room.send(A, "heron", START)
    room.send(A, "walrus", START + HOUR)
    workspace.refresh()
    with pytest.raises(Refused, match=r"hard: .*Qdrant server.*optimiser.*snapshots"):
        workspace.purge(room.id, FROM, TO, hard=True)
    assert entries(workspace.settings) == []
    assert "walrus" in workspace.texts()
