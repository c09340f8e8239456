"""Verify is silent on a sound index, and names each kind of fault by source; it writes nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import pytest

import huginn.rules
from huginn.errors import Unavailable
from huginn.ids import chat_id, digest, forge_ids
from huginn.index.payload import ChatMessage, moment_of, told
from huginn.index.port import StoredPoint
from huginn.run import open_run
from huginn.verify import verify
from tests.support.chat_workspace import ChatWorkspace
from tests.support.command_line import CommandLine
from tests.support.faults import Fuse, Killed, fused
from tests.support.git import Repository
from tests.support.model_homeserver import HOUR, READER, START, ModelRoom
from tests.support.qdrant_server import StandIn
from tests.support.tampering import add, change, points_of, remove
from tests.support.workspace import Workspace

A = "@a:example.org"
TEXT = "".join(f"def part{number}():\n    return {number} * 'heron in the water'\n\n\n" for number in range(60))
TWICE = ("same = 'the same text'\n" * 20 + "\n\n") * 6


SETTINGS = f"""
state = "state"
[forge]
name = "Test"
[chat]
homeserver = "http://127.0.0.1:9"
user = "{READER}"
[index]
min_free_bytes = 0
"""


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "one.git")
    repository.commit({"many.py": TEXT, "twice.py": TWICE, "walrus.md": "walrus\n"})
    return repository


@pytest.fixture(params=["embedded", "server"])
def forge(request: pytest.FixtureRequest, tmp_path: Path, repository: Repository) -> Workspace:
    workspace = Workspace(tmp_path, {"one": repository.path})
    if request.param == "server":
        standin: StandIn = request.getfixturevalue("standin")
        workspace.index_settings = {"url": standin.url, "timeout_seconds": 5}
    workspace.refresh()
    return workspace


@pytest.fixture
def chat(tmp_path: Path) -> ChatWorkspace:
    return ChatWorkspace.at(tmp_path)


@pytest.fixture
def garden(chat: ChatWorkspace) -> ModelRoom:
    """A room with windows of several messages, a long message in parts, an edit, and what was redacted."""
    room = chat.homeserver.new_room("garden")
    sent = [room.send(A, f"heron {number}", START + number * HOUR // 4) for number in range(12)]
    room.send(A, "a very long message " * 300, START + 20 * HOUR)
    room.edit(A, sent[1], "osprey 1")
    room.redact(A, room.edit(A, sent[2], "quince"))
    room.redact(A, sent[3])
    chat.refresh()
    return room


def kinds(workspace: Workspace) -> list[tuple[str, str | None, int]]:
    return [(fault.kind, fault.source, fault.count) for fault in verify(workspace.settings).faults]


def window_of(like: StoredPoint, event_id: str) -> dict[str, Any]:
    """The fields of a window, sound in itself, with one message."""
    message = ChatMessage(event_id=event_id, sender=A, time=moment_of(START), body="words")
    text = told([message])
    times = {"time": message.model_dump(mode="json")["time"], "end_time": message.model_dump(mode="json")["time"]}
    return {
        **times,
        "part": 0,
        "event_id": event_id,
        "last_event_id": event_id,
        "messages": [message.model_dump(mode="json")],
        "text": text,
        "text_sha256": digest(text),
        "embedded_sha256": digest("words"),
    }


def test_a_sound_index_has_no_fault(forge: Workspace, repository: Repository) -> None:
    report = verify(forge.settings)
    assert (report.faults, report.notes, report.unsettled, report.refreshing) == ([], [], [], None)
    assert (report.points, report.sources) == (len(forge.points()), 1)
    numbered = [point for point in points_of(forge, "one") if point.payload["path"] == "twice.py"]
    assert len({point.payload["text_sha256"] for point in numbered}) < len(numbered), "equal texts in one file"
    repository.commit({"many.py": "# moved\n" + TEXT, "walrus.md": None})
    forge.refresh()
    assert kinds(forge) == []


def test_sound_rooms_have_no_fault(chat: ChatWorkspace, garden: ModelRoom) -> None:
    assert kinds(chat) == []
    garden.send(A, "more", START + 2 * HOUR + 1)
    garden.state("m.room.canonical_alias", "", {"alias": "#green:example.org"})
    chat.refresh()
    assert kinds(chat) == []


def test_nothing_is_written(chat: ChatWorkspace, garden: ModelRoom) -> None:
    before = {path: path.read_bytes() for path in chat.settings.state.glob("checkpoints*")}
    verify(chat.settings)
    assert {path: path.read_bytes() for path in chat.settings.state.glob("checkpoints*")} == before
    chat.lose_checkpoints()
    verify(chat.settings)
    assert not list(chat.settings.state.glob("checkpoints*"))


CHANGES: dict[str, tuple[Callable[[Workspace, StoredPoint], None], list[tuple[str, str, int]]]] = {
    "removed": (lambda there, point: remove(there, point), [("points_differ", "one", 1)]),
    "shape": (lambda there, point: change(there, point, start_line="first"), [("invalid_payload", "one", 1)]),
    "form": (lambda there, point: change(there, point, start_line="7"), [("invalid_payload", "one", 1)]),
    "field": (lambda there, point: change(there, point, run="r1"), [("invalid_payload", "one", 1)]),
    "text": (lambda there, point: change(there, point, text="other words"), [("invalid_payload", "one", 1)]),
    "place": (lambda there, point: change(there, point, path="elsewhere.py"), [("foreign_id", "one", 1)]),
    "stranger": (
        lambda there, point: add(there, point, str(uuid4())),
        [("points_differ", "one", 1), ("foreign_id", "one", 1)],
    ),
    "source": (
        lambda there, point: add(
            there,
            point,
            forge_ids("two", str(point.payload["path"]), [str(point.payload["text_sha256"])])[0],
            source="two",
        ),
        [("no_cursor", "two", 1), ("not_in_settings", "two", 1)],
    ),
}


@pytest.mark.parametrize("change_of", CHANGES)
def test_each_change_by_hand_is_seen_for_what_it_is(forge: Workspace, change_of: str) -> None:
    tamper, expected = CHANGES[change_of]
    count = len(forge.points())
    tamper(forge, points_of(forge, "one")[0])
    found = kinds(forge)
    assert [(kind, source) for kind, source, _ in found] == [(kind, source) for kind, source, _ in expected]
    assert all(number in (1, count - 1, count + 1) for _, _, number in found)
    forge.backfill()
    assert kinds(forge) == []


def test_points_of_no_source_are_counted(forge: Workspace) -> None:
    change(forge, points_of(forge, "one")[0], corpus="neither")
    assert ("no_source", None, 1) in kinds(forge)


def test_a_cut_off_run_is_an_open_cursor(forge: Workspace, repository: Repository) -> None:
    repository.commit({"walrus.md": "more\n"})
    found = set()
    for length in range(0, 40, 5):
        with fused(Fuse(length)), suppress(Killed):
            forge.refresh()
        found |= {kind for kind, _, _ in kinds(forge)}
    assert found == {"open_cursor"}
    forge.refresh()
    assert kinds(forge) == []


def test_a_source_that_left_the_settings_is_told_until_it_is_forgotten(
    forge: Workspace, repository: Repository
) -> None:
    forge.repos = {"two": repository.path}
    assert [(kind, source) for kind, source, _ in kinds(forge)] == [("not_in_settings", "one")]
    forge.refresh()
    assert kinds(forge) == []


def test_a_lost_store_leaves_points_without_cursor(forge: Workspace) -> None:
    forge.lose_checkpoints()
    assert kinds(forge) == [("no_cursor", "one", len(forge.points()))]


def test_a_room_that_must_not_be_read_has_points_and_a_redacted_message_too(
    chat: ChatWorkspace, garden: ModelRoom
) -> None:
    point = points_of(chat, garden.id)[0]
    pruned = next(
        event["event_id"] for _, event in garden.events if event["type"] == "m.room.message" and not event["content"]
    )
    add(chat, point, chat_id(garden.id, pruned, 0), **window_of(point, pruned))
    assert [kind for kind, _, _ in kinds(chat)] == ["points_differ", "redacted"]
    chat.backfill()
    assert kinds(chat) == []
    garden.state("m.bridge", "irc://x", {"protocol": {}})
    chat.refresh()
    add(chat, point, point.id, vector=False)
    assert [kind for kind, _, _ in kinds(chat)] == ["no_cursor", "refused_room"]


def test_a_purged_message_that_has_points_is_told_and_the_command_ends_with_1(
    chat: ChatWorkspace, garden: ModelRoom, capsys: pytest.CaptureFixture[str]
) -> None:
    point = points_of(chat, garden.id)[0]
    chat.purge(garden.id, moment_of(START), moment_of(START + 1))
    chat.refresh()
    assert kinds(chat) == []
    add(chat, point, chat_id(garden.id, "$back:example.org", 0), **window_of(point, "$back:example.org"))
    found = [fault for fault in verify(chat.settings).faults if fault.kind == "purged"]
    assert [(fault.source, fault.ids) for fault in found] == [(garden.id, [chat_id(garden.id, "$back:example.org", 0)])]
    huginn = CommandLine(chat.root, capsys)
    huginn.settings(SETTINGS)
    ended = huginn("--config", str(chat.root / "huginn.toml"), "verify")
    assert ended.code == 1
    assert "purged" in ended.out
    chat.refresh()
    assert kinds(chat) == []


def test_what_must_be_nowhere_is_found_in_an_index_that_is_kept(chat: ChatWorkspace, garden: ModelRoom) -> None:
    point = points_of(chat, garden.id)[0]
    garden.state("m.bridge", "irc://x", {"protocol": {}})
    chat.refresh()
    add(chat, point, point.id, vector=False)
    old = verify(chat.settings).index
    chat.exclude_rooms = ("!none:example.org",)
    versions = {**huginn.rules.versions(), "chunker": "next"}
    with (
        patch.object(huginn.rules, "versions", lambda: versions),
        patch.object(huginn.chat.intake, "known_sources", lambda *_: set()),
    ):
        chat.refresh()
        chat.refresh()
        faults = verify(chat.settings).faults
    assert ("refused_room", old) in [(fault.kind, fault.index) for fault in faults]


def test_a_message_in_two_windows_is_a_duplicate(chat: ChatWorkspace, garden: ModelRoom) -> None:
    windows = [point for point in points_of(chat, garden.id) if len(list(point.payload["messages"])) > 1]  # type: ignore[call-overload] # a list
    second = windows[0].payload["messages"][1]["event_id"]  # type: ignore[index] # a list of dicts
    add(chat, windows[0], chat_id(garden.id, second, 0), **window_of(windows[0], second))
    found = {fault.kind: fault for fault in verify(chat.settings).faults}
    assert set(found) == {"points_differ", "duplicate"}
    assert set(found["duplicate"].ids) == {windows[0].id, chat_id(garden.id, second, 0)}
    chat.backfill()
    assert kinds(chat) == []


@pytest.mark.parametrize("field", ["messages", "text", "embedded_sha256", "last_event_id", "part"])
def test_a_window_that_does_not_say_what_its_messages_say_is_told(
    chat: ChatWorkspace, garden: ModelRoom, field: str
) -> None:
    point = points_of(chat, garden.id)[0]
    change(chat, point, **{field: 7 if field == "part" else [] if field == "messages" else "x"})
    assert [kind for kind, _, _ in kinds(chat)] == ["foreign_id" if field == "part" else "invalid_payload"]


def test_other_rules_are_a_note_and_no_fault(forge: Workspace) -> None:
    versions = {**huginn.rules.versions(), "chunker": "next"}
    with patch.object(huginn.rules, "versions", lambda: versions):
        report = verify(forge.settings)
    assert report.faults == []
    assert len(report.notes) == 1


def test_beside_a_refresh_what_is_being_written_is_unsettled_and_not_wrong(
    forge: Workspace, repository: Repository
) -> None:
    repository.commit({"walrus.md": "more\n"})
    with open_run(forge.settings) as run:
        sound = verify(forge.settings)
        run.refresh("one")
        after = verify(forge.settings)
        run._parts.checkpoints.begin(run._parts.index.id, "forge", "one")
        writer = run._parts.index.writer("forge", "one")
        writer.remove([points_of(forge, "one")[0].id])
        writer.acknowledge()
        during = verify(forge.settings)
    assert (sound.faults, sound.unsettled) == ([], [])
    assert sound.refreshing is not None
    assert after.faults == []
    assert (during.faults, during.unsettled) == ([], ["one"])
    assert [kind for kind, _, _ in kinds(forge)] == ["open_cursor"]


def test_without_an_index_there_is_nothing_to_verify(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="there is none yet"):
        verify(Workspace(tmp_path, {}).settings)
