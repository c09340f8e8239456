"""Which rooms of a real Synapse are read, when they are forgotten, and what a run over them costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import huginn.chat.client
from huginn.chat.client import Patience
from huginn.chat.homeserver import RoomFacts
from huginn.chat.matrix import MatrixHomeserver
from huginn.errors import Refused
from huginn.report import RunReport
from tests.support.chat_on_synapse import SynapseWorkspace
from tests.support.faulty_homeserver import Fault, FaultyHomeserver
from tests.support.synapse import VERSIONS, Synapse, User


@dataclass
class Team:
    """A moderator, a second member, a reader, and rooms by the names of their table. Each holds a word of its own."""

    synapse: Synapse
    mod: User
    ada: User
    workspace: SynapseWorkspace
    rooms: dict[str, str] = field(default_factory=dict)

    @property
    def reader(self) -> User:
        return self.workspace.reader

    def room(self, called: str, version: str | None = None, *, members: int = 3, **options: Any) -> str:
        """A new room, joined by the reader; of two members the other one is the moderator."""
        room = self.mod.create_room(version, **options)
        for user in (self.ada, self.reader)[3 - members :]:
            if options.get("preset") == "private_chat":
                self.mod.invite(room, user)
            user.join(room)
        self.mod.send(room, f"marker{called} is shown here")
        self.rooms[called] = room
        return room

    def outcomes(self, report: RunReport) -> dict[str, str]:
        """By the rooms' names: the outcome, or for what a room was refused."""
        names = {room: name for name, room in self.rooms.items()}
        return {
            names[source.source]: (source.reason or "").partition(":")[0]
            if source.outcome == "refused"
            else source.outcome.value
            for source in report.sources
            if source.source in names
        }


@pytest.fixture
def between(synapse: Synapse, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyHomeserver]:
    """The homeserver, with somebody in between who counts and can go wrong; then the client soon gives up."""
    monkeypatch.setattr(huginn.chat.client, "Patience", lambda: Patience(attempts=2, first=0.01))
    proxy = FaultyHomeserver(upstream=synapse.url)
    yield proxy
    proxy.stop()


@pytest.fixture
def team(synapse: Synapse, between: FaultyHomeserver, tmp_path: Path) -> Team:
    workspace = SynapseWorkspace.at(tmp_path, synapse, url=between.url)
    return Team(synapse, synapse.user("mod"), synapse.user("ada"), workspace)


def messages_asked(between: FaultyHomeserver, room: str) -> bool:
    """Whether the history of a room was asked for, other than who its members are and were."""
    asked = [request for request in between.requests if "/messages?" in request and "filter=" not in request]
    return any(room.strip("!").partition(":")[0] in request for request in asked)


def test_mtx_04_rooms_of_one_server(team: Team, between: FaultyHomeserver) -> None:
    mod, ada, reader, synapse = team.mod, team.ada, team.reader, team.synapse
    expected: dict[str, str] = dict.fromkeys(["r01", "r07", "r08", "r09", "r11", "r20", "r21", "r22"], "ok")
    expected |= dict.fromkeys(["r02", "r03", "r04", "r05", "r06"], "direct")
    expected |= dict.fromkeys(["r12", "r13", "r14", "r15"], "bridged")
    team.room("r01")
    direct = [team.room("r02", name="A name"), team.room("r06")]
    reader.set_direct({ada.id: direct})
    for name in ("r03", "r04"):
        team.rooms[name] = mod.create_room(preset="private_chat")
        mod.invite(team.rooms[name], reader, is_direct=True)
        reader.join(team.rooms[name])
        mod.send(team.rooms[name], f"marker{name}")
        mod.invite(team.rooms[name], ada)
        ada.join(team.rooms[name])
    member = {"membership": "join", "displayname": "A reader"}
    reader.set_state(team.rooms["r04"], "m.room.member", member, reader.id)
    team.room("r05", members=2, preset="private_chat")
    team.room("r07", preset="private_chat")
    for name, rule in (("r08", {"join_rule": "knock"}), ("r09", {"join_rule": "restricted", "allow": []})):
        mod.set_state(team.room(name), "m.room.join_rules", rule)
    mod.set_state(team.room("r11"), "m.room.encryption", {"algorithm": "m.megolm.v1.aes-sha2"})
    cipher = {"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "AAAA", "sender_key": "k", "device_id": "D"}
    ada.send(team.rooms["r11"], {**cipher, "session_id": "s"}, kind="m.room.encrypted")
    bridge = {"bridgebot": mod.id, "protocol": {"id": "irc"}}
    mod.set_state(team.room("r12", "10"), "m.bridge", bridge, "irc://a")
    mod.set_state(team.room("r13", "11"), "uk.half-shot.bridge", bridge, "b")
    synapse.puppet("_irc_").join(team.room("r14"))
    mod.set_state(team.room("r15"), "m.bridge", bridge, "c")
    mod.set_state(team.rooms["r15"], "m.bridge", {}, "c")
    reader.leave(team.room("r17"))
    mod.ban(team.room("r18"), reader)
    team.rooms["r19"] = mod.create_room()
    mod.invite(team.rooms["r19"], reader)
    new = mod.upgrade(team.room("r20", "10"), "12")
    mod.send(new, "markernew")
    team.room("r21", creation_content={"type": "m.space"})
    team.room("r22", members=2, name="Two in a public room")

    report = team.workspace.refresh()

    assert team.outcomes(report) == expected
    assert report.outcome == "ok"
    texts = team.workspace.texts()
    for name in team.rooms:
        assert (f"marker{name} " in texts) == (expected.get(name) == "ok"), name
        assert messages_asked(between, team.rooms[name]) == (expected.get(name) == "ok"), name
    assert "markernew" not in texts
    assert "AAAA" not in texts
    named = team.workspace.refresh(team.rooms["r17"], team.rooms["r19"], team.rooms["r02"])
    assert team.outcomes(named) == {"r17": "not joined", "r19": "not joined", "r02": "direct"}

    mod.set_state(team.rooms["r01"], "m.room.join_rules", {"join_rule": "invite"})
    mod.set_state(team.rooms["r22"], "m.bridge", bridge, "wa")
    turned = team.outcomes(team.workspace.refresh())
    assert (turned["r01"], turned["r22"]) == ("ok", "bridged")
    assert "markerr22 " not in team.workspace.texts()
    reader.join(new)
    team.workspace.refresh()
    texts = team.workspace.texts()
    assert "markerr20 " in texts, "the old room keeps its text"
    assert "markernew" in texts
    assert team.workspace.is_as_built_from_nothing()
    assert not [request for request in between.requests if not request.startswith("/")], "something was sent"


@pytest.mark.parametrize("path", ["m.direct", "/state"])
def test_where_nothing_can_be_read_no_verdict_changes(team: Team, between: FaultyHomeserver, path: str) -> None:
    old = team.room("old")
    team.workspace.refresh()
    before = team.workspace.points()
    team.room("new")
    team.mod.set_state(old, "m.room.topic", {"topic": "so that its state is read again"})
    team.mod.send(old, "walrus")
    between.faults = [Fault(500, only=path)]

    report = team.workspace.refresh()

    assert team.outcomes(report) == {"old": "unread", "new": "unread"}
    assert report.outcome == "failed"
    assert team.workspace.points() == before
    between.faults = []
    assert team.outcomes(team.workspace.refresh()) == {"old": "ok", "new": "ok"}
    assert "walrus" in team.workspace.texts()


def bridge(team: Team, room: str, kind: str) -> None:
    """Let a sign of a bridge come up in a room, between two messages."""
    team.mod.send(room, "a new walrus")
    if kind == "puppet":
        puppet = team.synapse.puppet("_telegram_")
        puppet.join(room)
        puppet.send(room, "what a puppet says: osprey")
        puppet.leave(room)
    else:
        team.mod.set_state(room, kind, {"protocol": {"id": "irc"}}, "irc://x")
    team.mod.send(room, "a quince after it")


@pytest.mark.parametrize(
    ("kind", "version"), [("m.bridge", "10"), ("uk.half-shot.bridge", "11"), ("puppet", VERSIONS[-1])]
)
def test_a_sign_that_comes_up_while_a_room_is_read_refuses_it_whole(
    team: Team, between: FaultyHomeserver, monkeypatch: pytest.MonkeyPatch, kind: str, version: str
) -> None:
    room, other = team.room("garden", version), team.room("kitchen")
    team.workspace.refresh()
    assert "markergarden" in team.workspace.texts()
    team.mod.set_state(room, "m.room.topic", {"topic": "so that its state is read again"})
    facts = MatrixHomeserver.facts

    def and_then(self: MatrixHomeserver, of: str) -> RoomFacts:
        found = facts(self, of)
        if of == room:
            bridge(team, room, kind)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(MatrixHomeserver, "facts", and_then)
        report = team.workspace.refresh()

    assert team.outcomes(report) == {"garden": "bridged", "kitchen": "unchanged"}
    (refused,) = [source for source in report.sources if source.source == room]
    assert refused.reason
    texts = team.workspace.texts()
    assert "markerkitchen" in texts
    for word in ("markergarden", "walrus", "osprey", "quince", "@_"):
        assert word not in texts
    between.requests.clear()
    team.workspace.refresh()
    assert not messages_asked(between, room), "it is read again to find the same"
    assert other in {source.source for source in team.workspace.refresh().sources}


def test_rooms_that_leave_the_scope_are_forgotten_in_the_same_run(team: Team) -> None:
    reasons = dict.fromkeys(["left", "kicked", "banned", "deleted"], "not joined")
    reasons |= {"excluded": "excluded", "aliased": "excluded", "listed": "direct"}
    rooms = {name: team.room(name) for name in [*reasons, "kept"]}
    team.workspace.refresh()
    assert all(f"marker{name} " in team.workspace.texts() for name in rooms)
    team.reader.leave(rooms["left"])
    team.mod.kick(rooms["kicked"], team.reader)
    team.mod.send(rooms["kicked"], "what is said behind its back: osprey")
    team.mod.ban(rooms["banned"], team.reader)
    team.synapse.delete_room(rooms["deleted"], team.synapse.user("admin", is_admin=True))
    team.reader.set_direct({team.ada.id: [rooms["listed"]]})
    alias = f"#lobby-{team.mod.id.strip('@').partition(':')[0]}"
    team.mod.set_alias(rooms["aliased"], f"{alias}:hs.test")
    team.workspace.exclude_rooms = (rooms["excluded"], alias)

    found = team.outcomes(team.workspace.refresh())

    assert found == {**reasons, "kept": found["kept"]}
    assert found["kept"] in ("ok", "unchanged")
    texts = team.workspace.texts()
    assert [name for name in rooms if f"marker{name} " in texts] == ["kept"]
    assert "osprey" not in texts
    for name in ("left", "kicked"):
        team.reader.join(rooms[name])
    assert team.outcomes(team.workspace.refresh()) == {"left": "ok", "kicked": "ok", "kept": "unchanged"}
    assert "osprey" in team.workspace.texts()
    assert team.workspace.is_as_built_from_nothing()


def test_a_suspended_reader_reads_and_one_who_is_logged_out_is_told_what_to_do(team: Team) -> None:
    room = team.room("garden")
    team.workspace.refresh()
    team.synapse.suspend(team.reader, team.synapse.user("admin", is_admin=True))
    team.mod.send(room, "walrus")
    assert team.outcomes(team.workspace.refresh()) == {"garden": "ok"}
    assert "walrus" in team.workspace.texts()
    team.reader.log_out()
    with pytest.raises(Refused, match=r"chat\.token_file: .*new token") as refusal:
        team.workspace.refresh()
    assert team.reader.token not in str(refusal.value)


def test_a_purge_of_history_is_noticed_by_no_refresh_but_by_a_reading_from_the_beginning(team: Team) -> None:
    room = team.room("garden")
    last = team.mod.send(room, "walrus")
    team.workspace.refresh()
    team.synapse.purge(room, last, team.synapse.user("admin", is_admin=True))
    team.mod.send(room, "osprey")
    team.workspace.refresh()
    assert "markergarden" in team.workspace.texts()
    team.workspace.lose_checkpoints()
    team.workspace.refresh()
    assert "markergarden" not in team.workspace.texts()
    assert sorted(team.workspace.bodies().values()) == ["osprey", "walrus"]
    assert team.workspace.is_as_built_from_nothing()


def test_an_idle_run_asks_three_times_and_one_new_message_six_times_at_most(
    team: Team, between: FaultyHomeserver
) -> None:
    rooms = [team.room(f"room{number}") for number in range(6)]
    team.mod.set_state(rooms[0], "m.bridge", {}, "x")
    team.workspace.refresh()
    before = team.workspace.points()
    between.requests.clear()

    report = team.workspace.refresh()

    assert len(between.requests) <= 3, between.requests
    assert set(team.outcomes(report).values()) == {"unchanged"}
    assert team.workspace.points() == before
    team.mod.send(rooms[3], "one more")
    team.mod.send(rooms[0], "in a room that is out of scope")
    between.requests.clear()
    report = team.workspace.refresh()
    assert len(between.requests) <= 6, between.requests
    assert sum(source.embedded for source in report.sources) == 1
    assert sum(source.written for source in report.sources) == 1
