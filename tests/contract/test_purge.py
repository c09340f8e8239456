"""A purge of a span of a room: what goes, what stays, and that nothing ever brings it back."""

from __future__ import annotations

import errno
import json
import shutil
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import pytest

import huginn.rules
from huginn.embed.wordllama import WordLlamaEmbedder
from huginn.errors import Busy, HuginnError, Refused, Unavailable
from huginn.index.opening import open_all
from huginn.index.payload import moment_of
from huginn.index.port import Place
from huginn.lock import writer_lock
from huginn.purging import Request, entries, lift, purge
from tests.support.chat_workspace import ChatWorkspace
from tests.support.faults import Fuse, Killed, fused
from tests.support.model_homeserver import HOUR, READER, START, ModelRoom
from tests.support.qdrant_server import StandIn
from tests.support.workspace import Workspace

A = "@a:example.org"
FROM, TO = moment_of(START + HOUR), moment_of(START + 2 * HOUR)


@pytest.fixture
def workspace(tmp_path: Path) -> ChatWorkspace:
    return ChatWorkspace.at(tmp_path)


@pytest.fixture
def garden(workspace: ChatWorkspace) -> ModelRoom:
    """A room of which one stretch lies across both ends of the span, so that one window holds both."""
    room = workspace.homeserver.new_room("garden")
    room.send(A, "heron before", START + HOUR - 1)
    room.send(A, "walrus at the start", START + HOUR)
    for minutes in (20, 40, 59):
        room.send(A, f"walrus after {minutes}", START + HOUR + minutes * 60_000)
    room.send(A, "heron at the end", START + 2 * HOUR)
    workspace.refresh()
    return room


def in_all_indexes(workspace: ChatWorkspace) -> str:
    with open_all(workspace.settings, wait=5) as indexes:
        return "\n".join(repr(dict(point.payload)) for index in indexes for point in index.stored(Place()))


def as_built_fresh(workspace: ChatWorkspace) -> bool:
    return workspace.points() == workspace.fresh().filled().points()


def test_a_span_goes_with_its_start_and_without_its_end(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    dry = workspace.purge(garden.id, FROM, TO, dry_run=True)
    assert (dry.messages, dry.purge, entries(workspace.settings)) == (4, None, [])
    assert "walrus" in workspace.texts()

    report = workspace.purge(garden.id, FROM, TO, expect=4)

    assert (report.messages, report.windows, report.points) == (dry.messages, dry.windows, dry.points)
    assert (report.written, report.pending) == (2, None)
    assert "walrus" not in workspace.texts()
    assert "heron before" in workspace.texts()
    assert "heron at the end" in workspace.texts()
    assert as_built_fresh(workspace)
    again = workspace.refresh()
    assert [source.outcome for source in again.sources] == ["unchanged"], "the cursor has moved along with the record"


def test_a_second_purge_of_the_span_removes_nothing_and_records_nothing(
    workspace: ChatWorkspace, garden: ModelRoom
) -> None:
    first = workspace.purge(garden.id, FROM, TO)
    before = workspace.points()
    second = workspace.purge(garden.id, FROM.astimezone(), TO, expect=0)
    assert (second.messages, second.points, second.purge) == (0, 0, first.purge)
    assert workspace.points() == before
    assert len(entries(workspace.settings)) == 1


def test_more_messages_than_expected_stop_it_before_it_is_recorded(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    before = workspace.points()
    with pytest.raises(Refused, match="4 messages would go, 3 were expected"):
        workspace.purge(garden.id, FROM, TO, expect=3)
    request = Request(garden.id, FROM, TO, "as was asked", "ann")
    with pytest.raises(Refused, match="expect"):
        purge(workspace.settings, request, dry_run=False)
    assert entries(workspace.settings) == []
    assert workspace.points() == before


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    ("room", "start", "end", "field"),
    [
        ("!elsewhere:example.org", FROM, TO, "room"),
        ("Heron", FROM, TO, "room"),
        ("!garden:example.org", TO, FROM, "to"),
        ("!garden:example.org", FROM, FROM, "to"),
        ("!garden:example.org", FROM.replace(tzinfo=None), TO, "from"),
        ("!garden:example.org", FROM, TO.replace(tzinfo=None), "to"),
        ("!garden:example.org", datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC), "room"),
        ("!garden:example.org", FROM - timedelta(hours=1), TO + timedelta(milliseconds=1), "room"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_changes_nothing(
    workspace: ChatWorkspace, garden: ModelRoom, room: str, start: datetime, end: datetime, field: str, dry_run: bool
) -> None:
    before = workspace.points()
    with pytest.raises(Refused) as refused:
        workspace.purge(room, start, end, dry_run=dry_run)
    assert refused.value.field == field
    assert refused.value.next_step
    assert entries(workspace.settings) == []
    assert workspace.points() == before


def test_a_room_goes_by_its_alias_as_well(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    garden.state("m.room.canonical_alias", "", {"alias": "#garden:example.org"})
    workspace.refresh()
    assert workspace.purge("#garden:example.org", FROM, TO).room == garden.id
    assert as_built_fresh(workspace)


def test_wherever_a_purge_is_killed_the_next_run_finishes_it(workspace: ChatWorkspace) -> None:
    room = workspace.homeserver.new_room("garden")
    room.send(A, "heron", START)
    room.send(A, "walrus", START + HOUR)
    room.send(A, "osprey", START + HOUR + 1, **{"m.relates_to": {}})
    room.send(A, "heron behind", START + 2 * HOUR)
    workspace.refresh()
    whole = workspace.copy("whole")
    with fused(Fuse()) as fuse:
        whole.purge(room.id, FROM, TO)
    expected = whole.fresh().filled().points()
    assert "heron" in repr(expected)
    assert "walrus" not in repr(expected)
    steps = 0
    for length in range(fuse.burnt):
        killed = workspace.copy("killed")
        with suppress(Killed), fused(Fuse(length)):
            killed.purge(room.id, FROM, TO)
        if not entries(killed.settings):
            continue
        steps += 1
        Workspace(killed.root, {}).refresh()  # of repositories: it removes all the same
        assert "walrus" not in killed.texts(), length
        killed.refresh()
        assert killed.points() == expected, length
    assert steps > 8


def test_without_the_embedder_the_messages_go_and_the_next_refresh_mends(
    workspace: ChatWorkspace, garden: ModelRoom
) -> None:
    away = Unavailable("embedder", "is away")
    with patch.object(WordLlamaEmbedder, "embed", side_effect=away):
        report = workspace.purge(garden.id, FROM, TO)
    assert "is away" in (report.pending or "")
    assert "walrus" not in workspace.texts()
    workspace.refresh()
    assert as_built_fresh(workspace)
    assert "heron before" in workspace.texts()


@pytest.mark.parametrize("lost", ["checkpoints*", "purges.jsonl", "index"])
def test_what_is_lost_afterwards_brings_nothing_back(workspace: ChatWorkspace, garden: ModelRoom, lost: str) -> None:
    workspace.purge(garden.id, FROM, TO)
    for path in workspace.settings.state.glob(lost):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    garden.edit(A, garden.events[-3][1]["event_id"], "walrus anew")
    workspace.refresh()
    assert "walrus" not in workspace.texts()
    assert "heron before" in workspace.texts()
    assert (workspace.settings.state / "purges.jsonl").exists(), "each copy is made whole from the other"
    workspace.lose_checkpoints()
    assert as_built_fresh(workspace)


@pytest.mark.parametrize("is_index_restored", [False, True])
def test_a_store_from_before_revives_neither_a_message_nor_a_lifted_purge(
    workspace: ChatWorkspace, garden: ModelRoom, is_index_restored: bool
) -> None:
    state, backup = workspace.settings.state, workspace.root / "backup"
    names = ("checkpoints.duckdb", *(("index",) if is_index_restored else ()))

    def put_back(names: tuple[str, ...], source: Path, target: Path) -> None:
        for name in names:
            shutil.rmtree(target / name, ignore_errors=True)
            copy = shutil.copytree if (source / name).is_dir() else shutil.copy
            copy(source / name, target / name)

    backup.mkdir()
    put_back(names, state, backup)
    report = workspace.purge(garden.id, FROM, TO)
    put_back(names, backup, state)
    garden.edit(A, garden.events[-3][1]["event_id"], "walrus anew")
    workspace.refresh()
    assert "walrus" not in workspace.texts()
    assert as_built_fresh(workspace)

    put_back(names, state, backup)  # in which the purge stands
    lift(workspace.settings, report.purge or "", "a mistake", "bob")
    put_back(names, backup, state)
    workspace.refresh()
    assert "walrus at the start" in workspace.texts()
    assert as_built_fresh(workspace)


def test_a_lift_is_recorded_brings_the_text_back_and_may_be_followed_by_another_purge(
    workspace: ChatWorkspace, garden: ModelRoom
) -> None:
    before = workspace.points()
    first = workspace.purge(garden.id, FROM, TO).purge or ""
    lifted = lift(workspace.settings, first, "a mistake", "bob")
    assert lift(workspace.settings, first, "once more", "bob") == lifted
    with pytest.raises(Refused, match="no purge"):
        lift(workspace.settings, lifted.id, "a lift cannot be lifted", "bob")
    workspace.refresh()
    assert workspace.points() == before
    assert workspace.purge(garden.id, FROM, TO).purge != first
    assert "walrus" not in workspace.texts()
    assert [(entry.lifts, entry.steward) for entry in entries(workspace.settings)] == [
        (None, "ann"),
        (first, "bob"),
        (None, "ann"),
    ]


def test_a_late_edit_reaches_neither_embedder_nor_store(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    workspace.purge(garden.id, FROM, TO)
    walrus = garden.events[-3][1]["event_id"]
    garden.edit(A, walrus, "a late walrus", START + 30 * HOUR)
    garden.react(A, walrus)
    garden.send(A, "a late heron", START + 3 * HOUR)
    embedded: list[str] = []
    embed = WordLlamaEmbedder.embed

    def watched(self: WordLlamaEmbedder, texts: list[str]) -> object:
        embedded.extend(texts)
        return embed(self, texts)  # type: ignore[arg-type] # the texts are as clean as they came

    with patch.object(WordLlamaEmbedder, "embed", watched):
        workspace.refresh()
        workspace.lose_checkpoints()
        workspace.refresh()
    assert any("a late heron" in text for text in embedded)
    assert not any("walrus" in text for text in embedded)
    assert as_built_fresh(workspace)


def test_a_room_that_was_left_and_is_joined_again_brings_nothing_back(
    workspace: ChatWorkspace, garden: ModelRoom
) -> None:
    workspace.purge(garden.id, FROM, TO)
    garden.leave(READER)
    workspace.refresh()
    assert workspace.points() == {}
    garden.join(READER)
    workspace.refresh()
    assert "heron before" in workspace.texts()
    assert "walrus" not in workspace.texts()


def test_a_purge_reaches_an_index_that_is_being_built_and_the_one_it_replaces(
    workspace: ChatWorkspace, garden: ModelRoom
) -> None:
    kitchen = workspace.homeserver.new_room("kitchen")
    kitchen.send(A, "quince")
    workspace.refresh()
    versions = {**huginn.rules.versions(), "fold": "another"}
    with patch.object(huginn.rules, "versions", lambda: versions):
        workspace.homeserver.away = {f"messages {kitchen.id}"}
        workspace.refresh()  # so that the new index is not complete
        workspace.homeserver.away = set()
        assert in_all_indexes(workspace).count("walrus at the start") == 4, "the text and the messages, in either"
        report = workspace.purge(garden.id, FROM, TO)
        assert (report.messages, report.windows, report.points) == (4, 1, 2)
        assert "walrus" not in in_all_indexes(workspace)
        workspace.refresh()
        assert "walrus" not in in_all_indexes(workspace)
        assert as_built_fresh(workspace)


def test_a_purge_waits_its_turn_and_wins_over_the_refresh_that_runs(
    workspace: ChatWorkspace, garden: ModelRoom
) -> None:
    garden.send(A, "walrus of late", START + HOUR + 5)
    reading, go_on = threading.Event(), threading.Event()
    embed = WordLlamaEmbedder.embed

    def slow(self: WordLlamaEmbedder, texts: list[str]) -> object:
        reading.set()
        go_on.wait(20)
        return embed(self, texts)  # type: ignore[arg-type] # the texts are as clean as they came

    with patch.object(WordLlamaEmbedder, "embed", slow):
        refresh = threading.Thread(target=workspace.refresh)
        refresh.start()
        assert reading.wait(20)
        purging = threading.Thread(target=workspace.purge, args=(garden.id, FROM, TO))
        purging.start()
        purging.join(0.5)
        assert purging.is_alive(), "it waits"
        go_on.set()
        refresh.join(30)
        purging.join(30)
    assert "walrus" not in workspace.texts()
    assert as_built_fresh(workspace)


def test_a_purge_gives_up_when_the_other_writer_does_not_end(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    request = Request(garden.id, FROM, TO, "as was asked", "ann")
    with writer_lock(workspace.settings.state, "a test"), pytest.raises(Busy):
        purge(workspace.settings, request, dry_run=True, wait=0.1)


def test_a_torn_last_line_is_no_error_and_any_other_is_refused(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    workspace.purge(garden.id, FROM, TO)
    path = workspace.settings.state / "purges.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    workspace.lose_checkpoints()
    workspace.refresh()
    assert "walrus" not in workspace.texts()
    workspace.purge(garden.id, TO, TO + timedelta(hours=1))
    assert [json.loads(line)["from"][:16] for line in path.read_text().splitlines()] == [
        "2026-01-01T01:00",
        "2026-01-01T02:00",
    ]
    path.write_bytes(whole[:40] + b"\n" + whole)
    with pytest.raises(HuginnError, match="line 1 "):
        workspace.refresh()


def test_on_a_server_a_purge_does_the_same(tmp_path: Path, standin: StandIn) -> None:
    workspace = ChatWorkspace(tmp_path, {}, index_settings={"url": standin.url, "timeout_seconds": 5})
    room = workspace.homeserver.new_room("garden")
    room.send(A, "heron", START + HOUR - 1)
    room.send(A, "walrus", START + HOUR)
    workspace.refresh()
    report = workspace.purge(room.id, datetime.min.replace(tzinfo=UTC), FROM)
    assert (report.messages, report.written, report.pending) == (1, 1, None)
    assert "heron" not in in_all_indexes(workspace)
    assert "walrus" in in_all_indexes(workspace)
    assert [source.outcome for source in workspace.refresh().sources] == ["unchanged"]


def test_no_purged_word_is_in_the_state_beside_the_vector_store(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    workspace.purge(garden.id, FROM, TO)
    workspace.refresh()
    for path in workspace.settings.state.rglob("*"):
        if path.is_file() and "index" not in path.relative_to(workspace.settings.state).parts:
            assert b"walrus" not in path.read_bytes(), path


def test_spans_at_the_ends_of_time_stop_no_later_run(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    assert workspace.purge(garden.id, first, first + timedelta(days=1)).messages == 0
    assert workspace.purge(garden.id, first, moment_of(START + HOUR)).messages == 1
    assert workspace.purge(garden.id, TO, last).messages == 1
    assert workspace.refresh().outcome == "ok"
    assert "heron" not in workspace.texts()
    assert "walrus" in workspace.texts()
    assert as_built_fresh(workspace)


def test_a_whole_reading_counts_what_it_leaves_out_as_purged(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    garden.edit(A, garden.events[-3][1]["event_id"], "walrus anew")
    workspace.purge(garden.id, FROM, TO)
    (room,) = workspace.backfill().sources
    assert (room.skipped["purged"], room.messages, room.edits) == (4, 2, 1)
    garden.edit(A, garden.events[-3][1]["event_id"], "walrus once more")
    garden.send(A, "a late walrus", START + HOUR + 7)
    (room,) = workspace.refresh().sources
    assert (room.skipped, room.messages, room.edits) == ({"purged": 1}, 0, 1)


def test_a_full_disk_records_nothing_and_says_what_to_do(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    workspace.purge(garden.id, TO, TO + timedelta(hours=1))
    path = workspace.settings.state / "purges.jsonl"
    whole, before = path.read_bytes(), workspace.points()
    full = OSError(errno.ENOSPC, "No space left on device")
    with (
        patch("os.fsync", side_effect=full),
        pytest.raises(Unavailable, match=r"No space left on device.*nothing was recorded.*try again"),
    ):
        workspace.purge(garden.id, FROM, TO)
    assert path.read_bytes() == whole
    assert len(entries(workspace.settings)) == 1
    assert workspace.points() == before
    workspace.purge(garden.id, FROM, TO)
    assert "walrus" not in workspace.texts()
