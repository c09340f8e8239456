"""A backfill finds what no refresh can see, tells it by kind, and embeds what is missing alone; a source taken in from
the beginning loses its points first."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch
from uuid import uuid4

import pytest

import huginn.rules
from huginn.checkpoints import Checkpoints, Cursor
from huginn.embed.port import BatchFailed
from huginn.embed.wordllama import WordLlamaEmbedder
from huginn.errors import Refused, Unavailable
from huginn.report import Drift, RunReport
from tests.support.chat_workspace import ChatWorkspace
from tests.support.faults import Fuse, Killed, fused
from tests.support.git import Repository
from tests.support.model_homeserver import HOUR, READER, START, ModelRoom
from tests.support.tampering import add, change, points_of, remove, without_vector
from tests.support.workspace import Workspace, outcomes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from huginn.embed import Vector
    from huginn.scrub import Clean

A, B = "@a:example.org", "@b:example.org"
TEXT = "".join(f"def part{number}():\n    return {number} * 'heron in the water'\n\n\n" for number in range(60))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "one.git")
    repository.commit({"many.py": TEXT, "walrus.md": "walrus\n"})
    return repository


@pytest.fixture
def forge(tmp_path: Path, repository: Repository) -> Workspace:
    workspace = Workspace(tmp_path, {"one": repository.path})
    workspace.refresh()
    return workspace


@pytest.fixture
def chat(tmp_path: Path) -> ChatWorkspace:
    return ChatWorkspace.at(tmp_path)


@pytest.fixture
def garden(chat: ChatWorkspace) -> ModelRoom:
    """A room of eight windows, with an edit, a redacted edit and a redacted message."""
    room = chat.homeserver.new_room("garden")
    sent = [room.send(A, f"heron {number}", START + number * HOUR) for number in range(9)]
    room.edit(A, sent[1], "osprey 1")
    room.redact(A, room.edit(A, sent[2], "quince"))
    room.redact(A, sent[3])
    chat.refresh()
    return room


def drift_of(report: RunReport) -> tuple[int, int, int]:
    drifts = [source.drift for source in report.sources]
    return sum(d.missing for d in drifts), sum(d.stale for d in drifts), sum(d.foreign for d in drifts)


def embedded(report: RunReport) -> int:
    return sum(source.embedded for source in report.sources)


@contextmanager
def embedder_away() -> Iterator[None]:
    def away(*_: object) -> None:
        raise Unavailable("embedder", "no host answers")

    with patch.object(WordLlamaEmbedder, "embed", away):
        yield


def test_a_sound_index_has_no_drift_and_nothing_is_embedded(forge: Workspace) -> None:
    before = forge.points()
    report = forge.backfill()
    assert outcomes(report) == [("one", "ok")]
    assert (drift_of(report), embedded(report)) == ((0, 0, 0), 0)
    assert report.sources[0].written == report.sources[0].removed == 0
    assert forge.points() == before


def test_a_room_as_it_should_be_has_no_drift_and_nothing_is_embedded(chat: ChatWorkspace, garden: ModelRoom) -> None:
    before = chat.points()
    report = chat.backfill()
    assert outcomes(report) == [(garden.id, "ok")]
    assert (drift_of(report), embedded(report)) == ((0, 0, 0), 0)
    assert report.sources[0].removed == 0
    assert chat.points() == before
    assert outcomes(chat.refresh()) == [(garden.id, "unchanged")]


def test_each_kind_of_drift_in_a_repository_is_told_and_mended(forge: Workspace) -> None:
    before = forge.points()
    one, two, three, four, *_ = points_of(forge, "one")
    remove(forge, one, two)
    change(forge, three, start_line=999)
    change(forge, four, embedded_sha256="0" * 64)
    add(forge, four, str(uuid4()))
    add(forge, four, str(uuid4()), path="never-there.md", text="a stranger")

    report = forge.backfill()

    assert drift_of(report) == (2, 2, 2)
    assert embedded(report) <= 3, "what is missing, and the text whose digest was another"
    assert forge.points() == before
    assert drift_of(forge.backfill()) == (0, 0, 0)


def test_as_many_foreign_points_as_missing_ones_deceive_a_refresh_and_no_backfill(forge: Workspace) -> None:
    before = forge.points()
    one, two, *_ = points_of(forge, "one")
    remove(forge, one)
    add(forge, two, str(uuid4()))
    assert outcomes(forge.refresh()) == [("one", "unchanged")]

    report = forge.backfill()

    assert (drift_of(report), embedded(report)) == ((1, 0, 1), 1)
    assert forge.points() == before


def test_each_kind_of_drift_in_a_room_is_told_and_mended(chat: ChatWorkspace, garden: ModelRoom) -> None:
    before = chat.points()
    one, two, three, four, *_ = points_of(chat, garden.id)
    remove(chat, one, two)
    change(chat, three, last_event_id="$never")
    change(chat, four, embedded_sha256="0" * 64)
    add(chat, four, str(uuid4()))

    report = chat.backfill()

    assert drift_of(report) == (2, 2, 1)
    assert embedded(report) == 3
    assert chat.points() == before


def test_history_purged_on_the_homeserver_is_found_by_a_backfill_alone(chat: ChatWorkspace, garden: ModelRoom) -> None:
    purged = [event["event_id"] for _, event in garden.events if "heron 5" in str(event) or "heron 6" in str(event)]
    garden.purge(*purged)
    chat.refresh()
    assert "heron 5" in chat.texts(), "no refresh is told of a purge"

    report = chat.backfill(garden.id)

    assert (drift_of(report), embedded(report)) == ((0, 0, 2), 0)
    assert "heron 5" not in chat.texts()
    assert chat.points() == chat.fresh().filled().points()


def test_a_window_that_loses_a_message_is_stale(chat: ChatWorkspace) -> None:
    room = chat.homeserver.new_room("pond")
    for number in range(3):
        room.send(A, f"heron {number}", START + number * 1000)
    chat.refresh()
    room.purge(room.events[-1][1]["event_id"])

    report = chat.backfill()

    assert (drift_of(report), embedded(report)) == ((0, 1, 0), 1)
    assert "heron 2" not in chat.texts()


def test_a_message_redacted_before_a_lost_token_goes_and_its_window_is_stale(chat: ChatWorkspace) -> None:
    room = chat.homeserver.new_room("pond")
    sent = [room.send(A, f"heron {number}", START + number * 1000) for number in range(3)]
    chat.refresh()
    room.redact(A, sent[1])

    report = chat.backfill()

    assert drift_of(report) == (0, 1, 0)
    assert "heron 1" not in chat.texts()
    assert chat.points() == chat.fresh().filled().points()


def test_a_room_that_is_gone_from_the_homeserver_is_forgotten(chat: ChatWorkspace, garden: ModelRoom) -> None:
    del chat.homeserver.rooms[garden.id]
    report = chat.backfill()
    assert outcomes(report) == [(garden.id, "refused")]
    assert chat.points() == {}


def test_points_of_a_room_out_of_scope_that_came_back_with_a_backup_are_forgotten(
    chat: ChatWorkspace, garden: ModelRoom
) -> None:
    point = points_of(chat, garden.id)[0]
    garden.state("m.bridge", "irc://x", {"protocol": {}})
    chat.refresh()
    assert chat.points() == {}
    add(chat, point, point.id, vector=False)
    chat.refresh()
    assert chat.points() == {}
    assert "messages" not in [*chat.homeserver.calls[-5:]]


def test_a_text_that_the_embedder_refused_is_asked_again(forge: Workspace) -> None:
    before = forge.points()
    point = points_of(forge, "one")[0]
    without_vector(forge, point)
    assert outcomes(forge.refresh()) == [("one", "unchanged")]

    embed = WordLlamaEmbedder.embed

    def refuses(self: WordLlamaEmbedder, texts: Sequence[Clean]) -> Sequence[Vector]:
        if any(text.endswith(str(point.payload["text"])) for text in texts):
            raise BatchFailed("it is too odd")
        return embed(self, texts)

    with patch.object(WordLlamaEmbedder, "embed", refuses):
        report = forge.backfill()
    assert drift_of(report) == (0, 0, 0), "it is as it was"
    assert report.sources[0].words_only == 1
    report = forge.backfill()
    assert embedded(report) == 1
    assert report.sources[0].words_only == 0
    assert forge.points() == before


def test_a_window_without_a_vector_is_asked_again_and_stays_while_the_embedder_is_away(
    chat: ChatWorkspace, garden: ModelRoom
) -> None:
    before = chat.points()
    without_vector(chat, points_of(chat, garden.id)[0])
    with embedder_away():
        assert outcomes(chat.backfill()) == [(garden.id, "failed")]
    assert chat.points().keys() == before.keys()
    assert embedded(chat.backfill()) == 1
    assert chat.points() == before


@pytest.mark.parametrize("length", range(0, 30, 3))
def test_a_backfill_that_is_killed_anywhere_is_finished_by_the_next(forge: Workspace, length: int) -> None:
    before = forge.points()
    one, two, *_ = points_of(forge, "one")
    remove(forge, one)
    add(forge, two, str(uuid4()))
    with fused(Fuse(length)), suppress(Killed):
        forge.backfill()
    forge.backfill()
    assert forge.points() == before


@pytest.mark.parametrize("is_rebuild", [False, True])
def test_a_backfill_or_rebuild_of_a_room_that_is_killed_anywhere_is_mended_by_the_next_run(
    chat: ChatWorkspace, garden: ModelRoom, is_rebuild: bool
) -> None:
    garden.purge(garden.events[-5][1]["event_id"])  # history goes, and no refresh is told
    expected = chat.fresh().filled().points()
    assert chat.points() != expected
    with fused(Fuse()) as fuse:
        whole = chat.copy("whole")
        whole.start_over(garden.id) if is_rebuild else whole.backfill()
    assert whole.points() == expected
    cut_off = 0
    for length in range(is_rebuild, fuse.burnt, 2):
        killed = chat.copy("killed")
        with suppress(Killed), fused(Fuse(length)):
            killed.start_over(garden.id) if is_rebuild else killed.backfill()
        is_begun = killed.points() != chat.points() or cursor_of(killed, garden.id).is_open
        cut_off += is_begun
        killed.refresh() if is_begun else killed.backfill()
        assert killed.points() == expected, length
    assert cut_off > 5, "too few kills fell between intent and advance to say anything"


def cursor_of(workspace: Workspace, source: str) -> Cursor:
    with workspace.index() as index:
        return Checkpoints(workspace.settings.state).ledger(index.id, "chat").cursor(source)


def test_a_source_that_loses_most_of_its_points_says_so_before_and_afterwards(
    forge: Workspace, repository: Repository
) -> None:
    before = len(forge.points())
    repository.commit({"many.py": None})
    told = f"{before - 1} of its {before} points at once"
    assert told in forge.refresh_one(dry_run=True).notes[0]
    assert told in forge.refresh_one().notes[0]
    repository.commit({"walrus.md": "walrus and heron\n"})
    assert forge.refresh_one().notes == [], "what is replaced is not lost"


def test_a_repository_is_taken_in_from_the_beginning(forge: Workspace) -> None:
    before = forge.points()
    add(forge, points_of(forge, "one")[0], str(uuid4()))
    report = forge.start_over("one")
    (source,) = report.sources
    assert (source.outcome, source.embedded) == ("ok", source.chunks)
    assert source.removed == len(before) + 1
    assert source.notes == []
    assert forge.points() == before
    assert outcomes(forge.refresh()) == [("one", "unchanged")]


@pytest.mark.parametrize("named", ["id", "alias"])
def test_a_room_is_taken_in_from_the_beginning(chat: ChatWorkspace, garden: ModelRoom, named: str) -> None:
    garden.state("m.room.canonical_alias", "", {"alias": "#green:example.org"})
    kitchen = chat.homeserver.new_room("kitchen")
    kitchen.send(A, "walrus")
    chat.refresh()
    before = chat.points()
    report = chat.start_over(garden.id if named == "id" else "#green:example.org")
    (source,) = report.sources
    assert (source.source, source.outcome, source.embedded) == (garden.id, "ok", 8)
    assert chat.points() == before


def test_without_its_embedder_the_points_are_gone_and_the_next_refresh_fills_it(
    forge: Workspace, repository: Repository
) -> None:
    before = forge.points()
    with embedder_away():
        (source,) = forge.start_over("one").sources
    assert (source.outcome, source.removed, source.cursor.after) == ("failed", len(before), None)
    assert source.notes == [f"all {len(before)} points of it are gone; the next refresh takes it in again"]
    assert forge.points() == {}
    forge.refresh()
    assert forge.points() == before


def test_without_its_upstream_the_points_are_gone_and_the_next_refresh_fills_it(
    forge: Workspace, repository: Repository
) -> None:
    before = forge.points()
    repository.path.rename(repository.path.with_suffix(".away"))
    (source,) = forge.start_over("one").sources
    assert source.outcome == "failed"
    assert "points of it are gone" in source.notes[0]
    assert forge.points() == {}
    repository.path.with_suffix(".away").rename(repository.path)
    forge.refresh()
    assert forge.points() == before


@pytest.mark.parametrize("part", ["joined_rooms", "facts", "messages"])
def test_without_the_homeserver_the_points_of_a_room_are_gone_and_that_is_told(
    chat: ChatWorkspace, garden: ModelRoom, part: str
) -> None:
    before = chat.points()
    garden.state("m.room.topic", "", {"topic": "its state is read again"})
    chat.homeserver.away.add(part)
    told = ""
    try:
        told = " ".join(chat.start_over(garden.id).sources[0].notes)
    except Unavailable as error:
        told = str(error)
    assert "8 points of" in told
    assert "the next refresh takes" in told
    assert chat.points() == {}
    chat.homeserver.away.clear()
    chat.refresh()
    assert chat.points() == before


def test_starting_over_reaches_every_index_on_disk(forge: Workspace, tmp_path: Path) -> None:
    versions = {**huginn.rules.versions(), "chunker": "next"}
    with patch.object(huginn.rules, "versions", lambda: versions):
        forge.refresh()
        report = forge.start_over("one")
    assert embedded(report) == report.sources[0].chunks, "no vector is left to be carried over"


@pytest.mark.parametrize("length", range(0, 40, 4))
def test_starting_over_that_is_killed_anywhere_is_finished_by_a_refresh(forge: Workspace, length: int) -> None:
    before = forge.points()
    with fused(Fuse(length)), suppress(Killed):
        forge.start_over("one")
    forge.refresh()
    assert forge.points() == before


def test_a_source_that_the_settings_refuse_or_do_not_know_keeps_its_points(forge: Workspace) -> None:
    before = forge.points()
    with pytest.raises(Refused, match="no source 'two'"):
        forge.start_over("two")
    with pytest.raises(Refused, match="nothing is named"):
        forge.start_over()
    bad = Workspace(forge.root, {"one": "http://127.0.0.1/no-such-scheme.git"})
    assert outcomes(bad.start_over("one")) == [("one", "refused")]
    assert forge.points() == before


def test_the_drift_is_no_part_of_a_source_that_was_not_looked_at(chat: ChatWorkspace, garden: ModelRoom) -> None:
    garden.leave(READER)
    report = chat.backfill()
    assert report.sources[0].drift == Drift()
