"""A refresh of rooms through the real engine, embedder and checkpoint store: what it reads, removes and costs."""

from __future__ import annotations

import re
from pathlib import Path
from unittest.mock import patch

import pytest

import huginn.rules
from huginn.embed.wordllama import WordLlamaEmbedder
from huginn.errors import Unavailable
from huginn.index.embedded import EmbeddedWriter
from huginn.index.port import Place
from huginn.report import RunReport
from tests.support.chat_workspace import ChatWorkspace
from tests.support.model_homeserver import HOUR, READER, START, ModelRoom

A, B = "@a:example.org", "@b:example.org"
PUPPETS = re.compile(r"@_.*|@(discord|telegram|signal|whatsapp|slack|irc)_.*")


@pytest.fixture
def workspace(tmp_path: Path) -> ChatWorkspace:
    return ChatWorkspace.at(tmp_path)


@pytest.fixture
def garden(workspace: ChatWorkspace) -> ModelRoom:
    return workspace.homeserver.new_room("garden")


def outcome_of(report: RunReport, room: ModelRoom) -> tuple[str, str | None]:
    (source,) = [source for source in report.sources if source.source == room.id]
    return source.outcome.value, source.reason


def calls_of(workspace: ChatWorkspace, *only: str) -> list[str]:
    """Refresh, and what the homeserver was asked for it."""
    workspace.homeserver.calls.clear()
    workspace.refresh(*only)
    return list(workspace.homeserver.calls)


def test_rooms_that_are_out_of_scope_are_never_read(workspace: ChatWorkspace) -> None:
    homeserver = workspace.homeserver
    rooms = {name: homeserver.new_room(name) for name in ("left", "direct", "excluded", "bridged", "irc", "puppet")}
    for name, room in rooms.items():
        room.send(A, f"marker{name}")
    rooms["left"].leave(READER)
    homeserver.direct.add(rooms["direct"].id)
    workspace.exclude_rooms = (rooms["excluded"].id,)
    rooms["bridged"].state("m.bridge", "irc://x", {"protocol": {}})
    rooms["irc"].state("uk.half-shot.bridge", "y", {})
    rooms["puppet"].join("@_discord_7:example.org")

    report = workspace.refresh(*(room.id for room in rooms.values()))

    assert "messages" not in homeserver.calls
    assert outcome_of(report, rooms["left"]) == ("refused", "not joined: the reader is not in the room")
    assert outcome_of(report, rooms["direct"])[1] == "direct: listed in the reader's account"
    assert outcome_of(report, rooms["excluded"])[1] == "excluded: by its id"
    for name in ("bridged", "irc", "puppet"):
        assert (outcome_of(report, rooms[name])[1] or "").startswith("bridged: "), name
    assert report.outcome == "ok", "a room out of scope is no failure"
    workspace.refresh()
    assert "messages" not in homeserver.calls
    assert workspace.points() == {}


@pytest.mark.parametrize("sign", ["m.bridge", "uk.half-shot.bridge", "puppet"])
def test_a_sign_in_the_middle_of_reading_refuses_the_room_whole(
    workspace: ChatWorkspace, garden: ModelRoom, sign: str
) -> None:
    garden.send(A, "an old heron")
    workspace.refresh()
    assert "heron" in workspace.texts()
    facts = workspace.homeserver.facts(garden.id)
    garden.send(A, "a new walrus")
    if sign == "puppet":
        garden.send("@_discord_1:example.org", "a puppet's osprey")
    else:
        garden.state(sign, "x", {})
    garden.send(A, "a quince after it")
    embedded: list[str] = []
    embed = WordLlamaEmbedder.embed

    def watched(self: WordLlamaEmbedder, texts: list[str]) -> object:
        embedded.extend(texts)
        return embed(self, texts)  # type: ignore[arg-type] # the texts are as clean as they came

    # The state was read before the sign came, and nothing told that it has changed.
    with (
        patch.object(workspace.homeserver, "facts", lambda _: facts),
        patch.object(WordLlamaEmbedder, "embed", watched),
    ):
        report = workspace.refresh()

    assert (outcome_of(report, garden)[1] or "").startswith("bridged: ")
    assert workspace.points() == {}
    assert not any(word in text for text in embedded for word in ("walrus", "osprey", "quince"))
    assert "messages" not in calls_of(workspace), "it is not read again to find the same"


@pytest.mark.parametrize("leaving", ["leave", "kick", "exclude", "direct", "bridge"])
def test_a_room_that_leaves_the_scope_is_forgotten_in_the_same_run(
    workspace: ChatWorkspace, garden: ModelRoom, leaving: str
) -> None:
    kitchen = workspace.homeserver.new_room("kitchen")
    garden.send(A, "heron")
    kitchen.send(A, "walrus")
    workspace.refresh()
    if leaving in ("leave", "kick"):
        garden.leave(READER)
    elif leaving == "exclude":
        workspace.exclude_rooms = (garden.id,)
    elif leaving == "direct":
        workspace.homeserver.direct.add(garden.id)
    else:
        garden.state("m.bridge", "x", {})

    report = workspace.refresh()

    assert outcome_of(report, garden)[0] == "refused"
    assert "heron" not in workspace.texts()
    assert "walrus" in workspace.texts()
    if leaving == "leave":
        garden.join(READER)
        workspace.refresh()
        assert "heron" in workspace.texts()


def test_a_redacted_message_is_in_no_point_even_when_the_embedder_is_away(
    workspace: ChatWorkspace, garden: ModelRoom
) -> None:
    garden.send(A, "before it")
    secret = garden.send(A, "a regretted walrus")
    garden.edit(A, secret, "a regretted osprey")
    garden.send(B, "after it")
    workspace.refresh()
    assert "osprey" in workspace.texts()
    garden.redact(A, secret)
    garden.edit(A, secret, "a late quince")

    away = Unavailable("embedder", "is away")
    with patch.object(WordLlamaEmbedder, "embed", side_effect=away):
        report = workspace.refresh()
    assert outcome_of(report, garden)[0] == "failed"
    assert "osprey" not in workspace.texts()

    workspace.refresh()
    texts = workspace.texts()
    assert "before it" in texts
    assert "after it" in texts
    assert not any(word in texts for word in ("walrus", "osprey", "quince"))
    assert workspace.points() == workspace.fresh().filled().points()


def test_a_redaction_reaches_an_index_that_is_kept_or_being_built(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    secret = garden.send(A, "a regretted walrus")
    garden.send(A, "heron")
    workspace.refresh()
    versions = {**huginn.rules.versions(), "fold": "another"}
    garden.redact(A, secret)
    with (
        patch.object(huginn.rules, "versions", lambda: versions),
        patch.object(WordLlamaEmbedder, "embed", side_effect=Unavailable("embedder", "is away")),
    ):
        workspace.refresh()  # into the new index, which is not complete: the old one goes on answering
    assert "walrus" not in workspace.texts()


def test_a_redacted_edit_reaches_an_index_that_is_being_replaced(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    message = garden.send(A, "heron")
    edit = garden.edit(A, message, "a regretted walrus")
    workspace.refresh()
    garden.redact(A, edit)
    versions = {**huginn.rules.versions(), "fold": "another"}
    with (
        patch.object(huginn.rules, "versions", lambda: versions),
        patch.object(WordLlamaEmbedder, "embed", side_effect=Unavailable("embedder", "is away")),
    ):
        workspace.refresh()
    assert "walrus" not in workspace.texts()


@pytest.mark.parametrize("is_being_replaced", [False, True])
def test_what_was_redacted_is_gone_when_the_checkpoint_store_is_lost_and_the_embedder_away(
    workspace: ChatWorkspace, garden: ModelRoom, is_being_replaced: bool
) -> None:
    message = garden.send(A, "heron")
    edit = garden.edit(A, message, "a regretted walrus")
    garden.send(A, "osprey", START + 9 * HOUR)
    workspace.refresh()
    garden.redact(A, edit)
    workspace.lose_checkpoints()
    versions = huginn.rules.versions()
    if is_being_replaced:
        versions["fold"] = "another"
    with (
        patch.object(huginn.rules, "versions", lambda: versions),
        patch.object(WordLlamaEmbedder, "embed", side_effect=Unavailable("embedder", "is away")),
    ):
        workspace.refresh()
    assert "walrus" not in workspace.texts()
    assert is_being_replaced or "osprey" in workspace.texts()


def test_a_failed_write_leaves_the_cursor_open_and_the_next_run_mends_it(
    workspace: ChatWorkspace, garden: ModelRoom
) -> None:
    garden.send(A, "heron")
    workspace.refresh()
    garden.send(A, "walrus")
    with patch.object(EmbeddedWriter, "upsert", side_effect=Unavailable("index", "is full")):
        assert outcome_of(workspace.refresh(), garden)[0] == "failed"

    report = workspace.refresh()

    assert outcome_of(report, garden)[0] == "ok"
    assert "walrus" in workspace.texts()
    assert workspace.points() == workspace.fresh().filled().points()


def test_what_writes_nothing_writes_nothing(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    message = garden.send(A, "heron")
    reaction = garden.react(B, message)
    image = garden.send(A, "a.jpg", msgtype="m.image", url="mxc://example.org/1")
    topic = garden.state("m.room.topic", "", {"topic": "birds"})
    workspace.refresh()
    before = workspace.points()
    for event in (reaction, image, topic):
        garden.redact(A, event)
    garden.edit(B, message, "an edit by somebody else")
    garden.add("m.room.encrypted", A, {"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "AAAA"})
    garden.edit(A, message, "heron")

    report = workspace.refresh()

    (source,) = report.sources
    assert (source.embedded, source.written, source.updated, source.removed) == (0, 0, 0, 0)
    assert source.skipped["encrypted"] == 1
    assert source.skipped["edit by somebody else"] == 1
    assert source.redactions == 3
    assert workspace.points() == before
    assert "AAAA" not in workspace.texts()


def test_a_redacted_edit_brings_back_the_text_before_it_without_reading_the_room_anew(
    workspace: ChatWorkspace, garden: ModelRoom
) -> None:
    message = garden.send(A, "first heron")
    garden.edit(A, message, "second walrus")
    last = garden.edit(A, message, "third osprey")
    for number in range(20):
        garden.send(B, f"talk {number}", START + (2 + number) * HOUR)
    workspace.refresh()
    assert "osprey" in workspace.texts()
    garden.redact(A, last)
    read = calls_of(workspace)

    assert "osprey" not in workspace.texts()
    assert "second walrus" in workspace.texts()
    assert read.count("messages") <= 2
    assert (read.count("event"), read.count("edits")) == (1, 1)


def test_a_redaction_of_what_nobody_knows_rebuilds_the_room_once(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    for number in range(6):
        garden.send(A, f"heron {number}")
    workspace.refresh()
    garden.redact(A, "$never-seen")

    first = calls_of(workspace)
    garden.send(A, "walrus")
    second = calls_of(workspace)

    assert first.count("messages") > 4
    assert second.count("messages") <= 2
    assert workspace.points() == workspace.fresh().filled().points()


def test_a_redaction_that_is_redacted_before_it_is_seen_takes_its_message_away(
    workspace: ChatWorkspace, garden: ModelRoom
) -> None:
    secret = garden.send(A, "a regretted walrus")
    garden.send(A, "heron")
    workspace.refresh()
    garden.redact(A, garden.redact(A, secret))

    workspace.refresh()

    assert "walrus" not in workspace.texts()
    assert "heron" in workspace.texts()
    assert workspace.points() == workspace.fresh().filled().points()
    garden.send(A, "osprey")
    assert calls_of(workspace).count("messages") <= 2, "the room is rebuilt once"


def test_facts_that_cannot_be_read_change_no_verdict(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    garden.send(A, "heron")
    workspace.refresh()
    before = workspace.points()
    new = workspace.homeserver.new_room("new")
    new.send(A, "walrus")
    garden.state("m.room.topic", "", {})
    garden.send(A, "osprey")
    for call in ("direct_rooms", "facts"):
        workspace.homeserver.away = {call}
        report = workspace.refresh()
        assert outcome_of(report, garden)[0] == "unread"
        assert outcome_of(report, new)[0] == "unread"
        assert report.outcome == "failed"
        assert workspace.points() == before

    workspace.homeserver.away = set()
    assert workspace.refresh().outcome == "ok"
    assert {"walrus", "osprey", "heron"} <= set(re.findall(r"\w+", workspace.texts()))


def test_a_room_that_fails_is_read_on_from_where_it_stood(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    kitchen = workspace.homeserver.new_room("kitchen")
    garden.send(A, "heron")
    workspace.refresh()
    garden.send(A, "walrus")
    workspace.homeserver.away = {f"messages {garden.id}"}
    assert outcome_of(workspace.refresh(), garden)[0] == "failed"
    workspace.homeserver.away = set()
    kitchen.send(A, "osprey")
    workspace.refresh()

    assert "walrus" in workspace.texts()
    assert workspace.points() == workspace.fresh().filled().points()


def test_naming_a_room_takes_nothing_from_the_others(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    kitchen = workspace.homeserver.new_room("kitchen")
    garden.send(A, "heron")
    kitchen.send(A, "walrus")
    workspace.refresh()
    garden.send(A, "osprey")
    kitchen.send(A, "quince")

    workspace.refresh(garden.id)
    assert "osprey" in workspace.texts()
    assert "quince" not in workspace.texts()
    workspace.refresh()
    assert "quince" in workspace.texts()


def test_a_token_that_the_homeserver_has_forgotten_costs_reading_and_no_embedding(
    workspace: ChatWorkspace, garden: ModelRoom
) -> None:
    for number in range(30):
        garden.send(A, f"heron {number}", START + number * HOUR)
    workspace.refresh()
    before = workspace.points()
    workspace.homeserver.forget_tokens()

    (source,) = workspace.refresh().sources

    assert (source.outcome, source.embedded) == ("ok", 0)
    assert workspace.points() == before
    assert workspace.refresh().sources[0].outcome == "unchanged"


def test_a_lost_checkpoint_store_embeds_nothing_and_changes_nothing(
    workspace: ChatWorkspace, garden: ModelRoom
) -> None:
    for number in range(60):
        garden.send(A, f"heron {number} " + "and more of it " * 20)
    workspace.refresh()
    before = workspace.points()
    workspace.lose_checkpoints()

    (source,) = workspace.refresh().sources

    assert (source.embedded, source.written, source.updated, source.removed) == (0, 0, 0, 0)
    assert workspace.points() == before


def test_another_alias_is_set_anew_over_the_room(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    for number in range(10):
        garden.send(A, f"heron {number}", START + number * HOUR)
    workspace.refresh()
    garden.state("m.room.canonical_alias", "", {"alias": "#green:example.org"})

    (source,) = workspace.refresh().sources

    assert (source.embedded, source.updated) == (0, 10)
    assert {payload[0]["alias"] for payload in workspace.points().values()} == {"#green:example.org"}  # type: ignore[index] # a payload is a dict
    assert workspace.points() == workspace.fresh().filled().points()


def test_an_alias_that_comes_after_the_first_look_at_one_room_is_seen(
    workspace: ChatWorkspace, garden: ModelRoom
) -> None:
    garden.send(A, "heron")
    workspace.refresh(garden.id)
    garden.state("m.room.canonical_alias", "", {"alias": "#green:example.org"})

    workspace.refresh()

    assert workspace.points() == workspace.fresh().filled().points()


def test_an_idle_run_asks_three_times_and_one_message_costs_one_window(workspace: ChatWorkspace) -> None:
    rooms = [workspace.homeserver.new_room(f"room{number}") for number in range(60)]
    for room in rooms:
        room.send(A, f"heron of {room.id}")
    workspace.refresh()

    assert calls_of(workspace) == ["joined_rooms", "direct_rooms", "changes"]
    rooms[7].send(A, "one more", START + 90 * HOUR)
    workspace.homeserver.calls.clear()
    report = workspace.refresh()
    assert len(workspace.homeserver.calls) <= 6
    assert sum(source.embedded for source in report.sources) == 1
    assert sum(source.written for source in report.sources) == 1
    assert [source.source for source in report.sources if source.outcome == "ok"] == [rooms[7].id]


def test_no_sender_in_any_payload_is_a_puppet(workspace: ChatWorkspace) -> None:
    for name, sender in (("one", "@_irc_x:example.org"), ("two", "@telegram_7:example.org"), ("three", A)):
        room = workspace.homeserver.new_room(name)
        room.send(A, "heron")
        room.send(sender, "walrus")
    workspace.refresh()
    with workspace.index() as index:
        stored = [point.payload for point in index.stored(Place())]
    senders = {message["sender"] for payload in stored for message in payload["messages"]}
    assert senders == {A}
    assert not any(PUPPETS.match(sender) for sender in senders)


def test_a_dry_run_writes_nothing(workspace: ChatWorkspace, garden: ModelRoom) -> None:
    garden.send(A, "heron")
    (dry,) = workspace.refresh(dry_run=True).sources
    assert (dry.messages, dry.written) == (1, 1)
    (source,) = workspace.refresh().sources
    assert (source.embedded, source.written) == (1, 1)
    garden.redact(A, garden.events[-1][1]["event_id"])
    (dry,) = workspace.refresh(dry_run=True).sources
    assert (dry.redactions, dry.removed) == (1, 1)
    assert "heron" in workspace.texts()
