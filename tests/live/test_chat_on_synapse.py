"""What people say, edit and take back on a real Synapse, refreshed by the real client, held against fresh builds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest

import huginn.chat.client
import huginn.chat.matrix
import huginn.chat.reading
from huginn.chat.client import Patience
from huginn.embed.wordllama import WordLlamaEmbedder
from huginn.errors import Unavailable
from tests.support.chat_on_synapse import Replay, SynapseWorkspace
from tests.support.faults import Fuse, Killed, fused
from tests.support.faulty_homeserver import Fault, FaultyHomeserver
from tests.support.synapse import VERSIONS, Synapse, User

CASES = Path(__file__).parents[1] / "cases"
GARDEN, OTHER = "!garden:example.org", "!other:example.org"
HOUR = 3_600_000
START = 1_767_225_600_000  # 2026-01-01T00:00:00Z


@dataclass(frozen=True)
class Garden:
    """A room with two people in it and the reader. Ada and Bo have clocks that say what they like."""

    ada: User
    bo: User
    room: str
    workspace: SynapseWorkspace


@pytest.fixture
def between(synapse: Synapse, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyHomeserver]:
    """The homeserver, with somebody in between who counts and can go wrong; then the client soon gives up."""
    monkeypatch.setattr(huginn.chat.client, "Patience", lambda: Patience(attempts=2, first=0.01))
    proxy = FaultyHomeserver(upstream=synapse.url)
    yield proxy
    proxy.stop()


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def garden(version: str, synapse: Synapse, between: FaultyHomeserver, tmp_path: Path) -> Garden:
    return new_garden(version, synapse, between, tmp_path)


@pytest.fixture
def newest(synapse: Synapse, between: FaultyHomeserver, tmp_path: Path) -> Garden:
    """A garden of the newest version alone, where versions do not differ."""
    return new_garden(VERSIONS[-1], synapse, between, tmp_path)


def new_garden(version: str, synapse: Synapse, between: FaultyHomeserver, folder: Path) -> Garden:
    workspace = SynapseWorkspace.at(folder, synapse, url=between.url)
    ada, bo = synapse.puppet("clock-ada"), synapse.puppet("clock-bo")
    room = ada.create_room(version)
    bo.join(room)
    workspace.reader.join(room)
    return Garden(ada, bo, room, workspace)


def pages_asked(between: FaultyHomeserver) -> list[str]:
    """What was asked of the history, without the members that decide about the scope."""
    return [request for request in between.requests if "/messages?" in request and "filter=" not in request]


def test_mtx_01_edits_good_and_bad(garden: Garden) -> None:
    ada, bo, workspace = garden.ada, garden.bo, garden.workspace
    other = ada.create_room()
    replay = Replay(
        {"@ada:example.org": ada, "@bo:example.org": bo, "@mod:example.org": ada}, {GARDEN: garden.room, OTHER: other}
    )
    events = json.loads((CASES / "mtx_01" / "events.json").read_text())
    replay.send(events[:13])
    workspace.refresh()
    replay.send(events[13:])
    assert replay.refused == ["$e5", "$e7", "$e13"], "this server takes no edit of what it does not know"

    report = workspace.report_of(garden.room)

    bodies = workspace.bodies()
    found = {event_id: bodies[replay.ids[event_id]] for event_id in replay.ids if replay.ids[event_id] in bodies}
    tie = "greengage" if replay.ids["$e6b"] > replay.ids["$e6a"] else "damson"
    words = {"$o1": "rubber seal", "$o2": "marmalade", "$o3": "pomelo", "$o4": "papaya", "$o5": "apricot", "$o6": tie}
    words |= {"$o7": "rhubarb", "$o8": "persimmon", "$o9": "waves a salak", "$o10": "cherimoya", "$o11": "feijoa"}
    words |= {"$o15": "mangosteen"}  # its edit is in the record alone, inside of it
    assert found.keys() == words.keys()
    for event_id, word in words.items():
        assert word in found[event_id], event_id
    never = [
        "quince",
        "mallory",
        "tangerine",
        "kumquat",
        "plum",
        "soursop",
        "loquat",
        "jujube",
        "tamarillo",
        "longan",
        "durian",
    ]
    texts = workspace.texts()
    for word in [*never, "ladder is gone", "* ", "greengage" if tie == "damson" else "damson"]:
        assert word not in texts, word
    assert report.edits > 0
    assert workspace.is_as_built_from_nothing()


def test_mtx_06_what_a_server_lets_through(newest: Garden) -> None:
    events = json.loads((CASES / "mtx_06" / "events.json").read_text())
    big = next(event for event in events if isinstance(event, dict) and event["event_id"] == "$w11")
    big["content"]["body"] = big["content"]["body"][-50_000:]  # a server takes no event of more than 64 KiB
    replay = Replay({"@ada:example.org": newest.ada}, {GARDEN: newest.room})
    replay.send(events)
    workspace = newest.workspace

    report = workspace.report_of(newest.room)

    bodies = workspace.bodies()
    searchable = {"$w10": "dugong", "$w11": "bigtail", "$w12": "ocelot", "$w13": "caracal", "$w14": "margay"}
    searchable |= {"$w16": "quoll", "$w22": "echidna", "$w24": "cassowary", "$w29": "bandicoot", "$w31": "pademelon"}
    searchable |= {"$w28": "spoiler outside", "$w32": "dunnart", "$w36": "thylacine"}
    for event_id, word in searchable.items():
        assert word in bodies[replay.ids[event_id]], event_id
    texts = workspace.texts()
    never = ["AAAA", "serval", "lyrebird", "IMG_2041", "IMG_2042", "bilby", "potoroo", "tapir", "antechinus", "numbat"]
    for word in [*never, "\\x00"]:
        assert word not in texts, word
    served = workspace.reader.call("GET", f"/rooms/{newest.room}/messages", dir="f", limit=1000)["chunk"]
    assert report.messages + report.edits + report.redactions + sum(report.skipped.values()) == len(served)
    again = workspace.report_of(newest.room)
    assert (again.outcome, again.embedded, again.written) == ("unchanged", 0, 0)
    later = newest.ada.send(newest.room, "a later wombat", ts=START)
    assert workspace.report_of(newest.room).messages == 1
    assert workspace.bodies()[later] == "a later wombat", "a clock that lies moves no cursor"
    assert workspace.is_as_built_from_nothing()


def test_what_is_taken_back_is_in_no_point_after_the_next_refresh(garden: Garden, between: FaultyHomeserver) -> None:
    ada, bo, room, workspace = garden.ada, garden.bo, garden.room, garden.workspace
    plain = ada.send(room, "a regretted walrus")
    edited = ada.send(room, "an edited jackdaw")
    ada.edit(room, edited, "a regretted osprey")
    fallback = {"m.in_reply_to": {"event_id": plain}}
    quote = f"> <{ada.id}> a regretted walrus\n\nthe answer"
    reply = bo.send(room, {"msgtype": "m.text", "body": quote, "m.relates_to": fallback})
    back = ada.send(room, "the first heron")
    kept, last = ada.edit(room, back, "the second heron"), ada.edit(room, back, "the third quince")
    whole = bo.send(room, "never to be changed")
    only = bo.edit(room, whole, "changed by a medlar")
    reaction = bo.react(room, back)
    image = ada.send(room, {"msgtype": "m.image", "body": "a.jpg", "url": "mxc://hs.test/1"})
    caption = ada.send(
        room, {"msgtype": "m.image", "body": "a captioned stoat", "filename": "a.jpg", "url": "mxc://hs.test/1"}
    )
    topic = ada.set_state(room, "m.room.topic", {"topic": "about birds"})
    twice = bo.send(room, "a regretted lychee")
    workspace.refresh()
    assert workspace.bodies()[edited] == "a regretted osprey"
    assert workspace.bodies()[reply] == "the answer"
    assert workspace.bodies()[back] == "the third quince"
    assert workspace.bodies()[caption] == "a captioned stoat"
    for event in (plain, edited, last, only, reaction, image, caption, topic):
        (bo if event == only else ada).redact(room, event)
    between.requests.clear()

    report = workspace.report_of(room)

    texts = workspace.texts()
    for word in ("walrus", "jackdaw", "osprey", "quince", "medlar", "stoat", "birds"):
        assert word not in texts, word
    bodies = workspace.bodies()
    assert bodies == {
        reply: "the answer",
        back: "the second heron",
        whole: "never to be changed",
        twice: "a regretted lychee",
    }
    assert report.redactions == 8
    assert pages_asked(between)
    assert all("from=" in request for request in pages_asked(between)), "the room was read anew"
    assert sum("/event/" in request for request in between.requests) == 2

    ada.edit(room, plain, "an edit after the end: rhubarb")
    ada.edit(room, edited, "an edit after the end: damson")
    workspace.refresh()
    assert workspace.bodies() == bodies
    ada.redact(room, kept)
    bo.redact(room, bo.redact(room, twice))  # of which version 10 does not tell any more what it took back
    workspace.refresh()
    assert workspace.bodies() == {reply: "the answer", back: "the first heron", whole: "never to be changed"}
    assert workspace.is_as_built_from_nothing()


def test_what_writes_nothing_writes_nothing(newest: Garden) -> None:
    ada, bo, room, workspace = newest.ada, newest.bo, newest.room, newest.workspace
    message = ada.send(room, "heron")
    reaction = bo.react(room, message)
    image = ada.send(room, {"msgtype": "m.image", "body": "a.jpg", "url": "mxc://hs.test/1"})
    topic = ada.set_state(room, "m.room.topic", {"topic": "birds"})
    workspace.refresh()
    before = workspace.points()
    for user, event in ((bo, reaction), (ada, image), (ada, topic)):
        user.redact(room, event)
    bo.edit(room, message, "an edit by somebody else")
    ada.edit(room, message, "heron")
    ada.set_state(room, "m.room.encryption", {"algorithm": "m.megolm.v1.aes-sha2"})
    cipher = {"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "AAAA", "sender_key": "k", "device_id": "D"}
    ada.send(room, {**cipher, "session_id": "s"}, kind="m.room.encrypted")

    report = workspace.report_of(room)

    assert (report.embedded, report.written, report.updated, report.removed) == (0, 0, 0, 0)
    assert (report.skipped["encrypted"], report.skipped["edit by somebody else"], report.redactions) == (1, 1, 3)
    assert workspace.points() == before
    assert "AAAA" not in workspace.texts()


def test_text_goes_also_while_the_embedder_is_away_and_comes_back_whole(newest: Garden) -> None:
    ada, room, workspace = newest.ada, newest.room, newest.workspace
    ada.send(room, "before it")
    secret = ada.send(room, "a regretted walrus")
    ada.send(room, "after it")
    workspace.refresh()
    ada.redact(room, secret)
    with patch.object(WordLlamaEmbedder, "embed", side_effect=Unavailable("embedder", "is away")):
        assert workspace.report_of(room).outcome == "failed"
    assert "walrus" not in workspace.texts()
    workspace.refresh()
    assert sorted(workspace.bodies().values()) == ["after it", "before it"]
    assert workspace.is_as_built_from_nothing()


def test_an_edit_and_a_late_message_change_the_stretch_they_fall_into(newest: Garden) -> None:
    ada, room, workspace = newest.ada, newest.room, newest.workspace
    sent = [ada.send(room, f"heron {number}", ts=START + number * 2 * HOUR) for number in range(12)]
    workspace.refresh()
    ada.edit(room, sent[3], "walrus", ts=START + 30 * HOUR)
    late = ada.send(room, "osprey", ts=START + 10 * HOUR + 1000)

    report = workspace.report_of(room)

    assert (report.embedded, report.written) == (2, 2), "the window that held what was edited, and one that got longer"
    bodies = workspace.bodies()
    assert (bodies[sent[3]], bodies[late]) == ("walrus", "osprey")
    assert workspace.is_as_built_from_nothing()


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huginn.chat.matrix, "PAGE_SIZE", 4)
    monkeypatch.setattr(huginn.chat.reading, "_PAGES_AT_ONCE", 1)


def test_kills_between_any_two_steps_are_mended_by_the_next_run(newest: Garden, small_pages: None) -> None:
    ada, room, workspace = newest.ada, newest.room, newest.workspace
    sent = [ada.send(room, f"heron {number}", ts=START + number * HOUR) for number in range(8)]
    workspace.refresh()
    cut_off = 0
    for number, length in enumerate((4, 11, 20, 29, 40)):
        victim, edited = sent.pop(0), sent[1]
        ada.edit(room, victim, f"a regretted walrus {number}")
        ada.edit(room, edited, f"osprey {number}")
        sent.append(ada.send(room, f"quince {number}", ts=START + (20 + number) * HOUR))
        if number % 2:
            workspace.lose_checkpoints()
        with fused(Fuse(length)), suppress(Killed):
            workspace.refresh()
            cut_off -= 1
        cut_off += 1
        ada.redact(room, victim)
        workspace.refresh()
        texts = workspace.texts()
        assert "walrus" not in texts
        assert f"osprey {number}" in texts
    assert cut_off >= 4
    assert workspace.is_as_built_from_nothing()


def test_a_page_that_does_not_come_fails_the_room_and_leaves_no_gap(
    newest: Garden, small_pages: None, between: FaultyHomeserver
) -> None:
    ada, room, workspace = newest.ada, newest.room, newest.workspace
    first = ada.send(room, "heron")
    workspace.refresh()
    kinds: list[str | int] = ["cut_off", 502, "garbage"]
    for kind in kinds:
        later = [ada.send(room, f"quince {number}") for number in range(11)]
        ada.redact(room, first)
        between.faults = [Fault(kind, only="from=t")]  # t…: the second page after a token of /sync
        assert workspace.report_of(room).outcome == "failed"
        between.faults = []
        later.append(ada.send(room, "walrus"))

        assert workspace.report_of(room).outcome == "ok"

        bodies = workspace.bodies()
        assert bodies.keys() >= set(later)
        assert first not in bodies
        first = later[5]
    assert workspace.is_as_built_from_nothing()
