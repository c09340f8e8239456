"""The roster on a real Synapse: what is joined, left and refused, and what the reader's token can do afterwards."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import huginn.chat.client
from huginn.chat.account import AdminsAccount
from huginn.chat.client import Patience
from huginn.cli.exits import ExitCode
from tests.support.command_line import CommandLine, Ended, Terminal
from tests.support.faulty_homeserver import Fault, FaultyHomeserver
from tests.support.synapse import Answered, Synapse, User


@dataclass
class Stewards:
    """A homeserver with an admin, a moderator, a member and a reader; and the command line."""

    synapse: Synapse
    between: FaultyHomeserver
    admin: User
    mod: User
    ada: User
    reader: User
    huginn: CommandLine

    def run(self, *rooms: str, by: User | None = None, arguments: tuple[str, ...] = ("--yes",)) -> Ended:
        """`huginn roster` with a roster of these rooms."""
        (self.huginn.folder / "roster.token").write_text((by or self.admin).token)
        entries = [f'[[rooms]]\nroom = "{room}"\nasked_by = "ada"\nwhy = "asked"\n' for room in rooms]
        (self.huginn.folder / "roster.toml").write_text("\n".join(entries))
        self.huginn.settings(
            f'[chat]\nhomeserver = "{self.between.url}"\nuser = "{self.reader.id}"\n'
            '[chat.roster]\nfile = "roster.toml"\ntoken_file = "roster.token"\n'
        )
        return self.huginn("roster", "--json", *arguments)

    def room(self, *, preset: str = "public_chat", alias: str | None = None) -> str:
        """A room of the moderator and the member."""
        room = self.mod.create_room(preset=preset)
        if preset == "private_chat":
            self.mod.invite(room, self.ada)
        self.ada.join(room)
        self.mod.send(room, "walrus")
        if alias:
            self.mod.set_alias(room, alias)
        return room

    @property
    def joined(self) -> set[str]:
        return set(self.reader.call("GET", "/joined_rooms")["joined_rooms"])

    @property
    def is_suspended(self) -> bool:
        path = f"/_synapse/admin/v2/users/{self.reader.id}"
        return bool(self.synapse.call("GET", path, token=self.admin.token)["suspended"])


@pytest.fixture
def stewards(
    synapse: Synapse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Stewards]:
    monkeypatch.setattr(huginn.chat.client, "Patience", lambda: Patience(attempts=2, first=0.01))
    monkeypatch.delenv("HUGINN_ROSTER_TOKEN", raising=False)
    monkeypatch.chdir(tmp_path)
    between = FaultyHomeserver(upstream=synapse.url)
    mod, ada, reader = (synapse.user(name) for name in ("mod", "ada", "reader"))
    admin = synapse.user("admin", is_admin=True)
    yield Stewards(synapse, between, admin, mod, ada, reader, CommandLine(tmp_path, capsys))
    between.stop()


def outcomes(ended: Ended) -> dict[str, str]:
    return {room["name"]: room["outcome"] for room in ended.document["rooms"]}


def refuses(call: object, *arguments: object) -> bool:
    assert callable(call)
    with pytest.raises(Answered) as no:
        call(*arguments)
    return no.value.errcode == "M_USER_SUSPENDED"


def test_rooms_are_joined_and_left_and_the_account_can_then_read_and_nothing_else(stewards: Stewards) -> None:
    mod, reader = stewards.mod, stewards.reader
    alias = f"#garden-{reader.id.strip('@').replace(':', '-')}:hs.test"
    public, invited, old = stewards.room(alias=alias), stewards.room(preset="private_chat"), stewards.room()
    of_admin = stewards.room(preset="private_chat")
    mod.invite(of_admin, stewards.admin)
    stewards.admin.join(of_admin)
    mod.invite(invited, reader)
    reader.join(old)
    wanted = (alias, invited, of_admin)

    would = stewards.run(*wanted, arguments=("--dry-run",))
    assert outcomes(would) == {alias: "join", invited: "join", of_admin: "join", old: "leave"}
    assert (would.code, stewards.joined) == (ExitCode.WELL, {old})
    assert not [request for request in stewards.between.requests if request.startswith(("POST", "PUT"))]
    asked = stewards.run(*wanted, arguments=())
    assert asked.code == ExitCode.REFUSED
    assert "--yes" in asked.document["error"]["next_step"]
    assert stewards.joined == {old}

    ended = stewards.run(*wanted)

    assert outcomes(ended) == {alias: "joined", invited: "joined", of_admin: "joined", old: "left"}
    assert (ended.code, ended.document["suspended"]) == (ExitCode.WELL, True)
    assert stewards.joined == {public, invited, of_admin}
    assert "walrus" in json.dumps(reader.call("GET", f"/rooms/{public}/messages", dir="b"))
    assert refuses(reader.send, public, "osprey")
    assert refuses(reader.join, old)
    assert refuses(reader.create_room)
    assert refuses(reader.set_state, public, "m.room.topic", {"topic": "mine"})
    assert all("access_token" not in request for request in stewards.between.requests)

    stewards.between.requests.clear()
    again = stewards.run(*wanted)
    assert set(outcomes(again).values()) == {"stays"}
    assert not [request for request in stewards.between.requests if request.startswith(("POST", "PUT"))]
    # Suspended as it is: lifted for the joining alone.
    more = stewards.run(*wanted, old)
    assert outcomes(more)[old] == "joined"
    assert stewards.is_suspended
    assert outcomes(stewards.run(alias)) == {alias: "stays", invited: "left", of_admin: "left", old: "left"}
    assert stewards.joined == {public}


@pytest.mark.parametrize(("answer", "code"), [("y\n", ExitCode.WELL), ("n\n", ExitCode.INTERRUPTED)])
def test_on_a_terminal_the_difference_is_shown_and_asked_about(
    stewards: Stewards, monkeypatch: pytest.MonkeyPatch, answer: str, code: ExitCode
) -> None:
    wanted, old = stewards.room(), stewards.room()
    stewards.reader.join(old)
    stewards.run(wanted, arguments=("--dry-run",))
    keys, shown = Terminal(answer), Terminal()
    monkeypatch.setattr(sys, "stdin", keys)
    monkeypatch.setattr(sys, "stderr", shown)

    ended = stewards.huginn("roster")

    assert f"to join   {wanted}\n" in shown.getvalue()
    assert f"to leave  {old}  (not in the roster)\n" in shown.getvalue()
    assert f"{stewards.reader.id} is to be suspended" in shown.getvalue()
    assert ended.code == code
    assert stewards.joined == ({wanted} if code == ExitCode.WELL else {old})
    assert (f"{stewards.reader.id} is suspended" in ended.out) == (code == ExitCode.WELL)


def test_what_the_scope_would_refuse_is_never_joined_by_an_admin(stewards: Stewards) -> None:
    mod, reader = stewards.mod, stewards.reader
    number = reader.id.strip("@").partition(":")[0]
    excluded = stewards.room(alias="#patrons:hs.test")
    bridged, puppets, direct, pair = stewards.room(), stewards.room(), stewards.room(), mod.create_room()
    mod.set_state(bridged, "m.bridge", {}, "irc://x")
    puppet = stewards.synapse.puppet("_irc_")
    puppet.join(puppets)
    puppet.leave(puppets)
    mod.invite(direct, reader, is_direct=True)
    mod.set_state(pair, "m.room.join_rules", {"join_rule": "invite"})
    mod.invite(pair, reader)
    listed = stewards.room()
    reader.set_direct({mod.id: [listed]})
    gone = f"#none-{number}:hs.test"
    rooms = [excluded, "#patrons:hs.test", bridged, puppets, direct, pair, listed, gone]
    kept = stewards.room()
    reader.join(kept)

    ended = stewards.run(*rooms)

    reasons = {room["name"]: (room["reason"] or "").partition(":")[0] for room in ended.document["rooms"]}
    assert ended.code == ExitCode.SOME_FAILED
    assert outcomes(ended) == {
        **dict.fromkeys([excluded, bridged, puppets, direct, pair, listed], "refused"),
        gone: "failed",
        kept: "stays",
    }
    assert [reasons[room] for room in (excluded, bridged, puppets, direct, pair, listed)] == [
        "excluded",
        "bridged",
        "bridged",
        "direct",
        "direct",
        "direct",
    ]
    assert stewards.joined == {kept}, "nothing is left while a room cannot be found"
    assert not [request for request in stewards.between.requests if "/join/" in request]


def test_with_the_readers_own_token_a_refused_room_is_joined_and_left_again(stewards: Stewards) -> None:
    fine, bridged, closed, old = stewards.room(), stewards.room(), stewards.room(preset="private_chat"), stewards.room()
    stewards.mod.set_state(bridged, "uk.half-shot.bridge", {}, "irc")
    stewards.reader.join(old)

    ended = stewards.run(fine, bridged, closed, by=stewards.reader)

    assert outcomes(ended) == {fine: "joined", bridged: "refused", closed: "failed", old: "left"}
    reasons = {room["name"]: room["reason"] for room in ended.document["rooms"]}
    assert reasons[bridged].startswith("joined and left again: bridged")
    assert "invite" in reasons[closed]
    assert (ended.code, ended.document["suspended"]) == (ExitCode.SOME_FAILED, None)
    assert stewards.joined == {fine}
    assert not stewards.is_suspended


@pytest.mark.parametrize("whose", ["mod", "logged out"])
def test_another_token_is_refused_before_anything_is_sent(stewards: Stewards, whose: str) -> None:
    if whose == "logged out":
        stewards.mod.log_out()
    ended = stewards.run(stewards.room() if whose == "mod" else "!any", by=stewards.mod)
    assert ended.code == ExitCode.REFUSED
    assert ended.document["error"]["field"] == "chat.roster.token_file"
    assert stewards.mod.token not in ended.out + ended.err
    assert not [request for request in stewards.between.requests if request.startswith(("POST", "PUT"))]


def test_the_account_is_suspended_again_also_when_joining_goes_wrong(stewards: Stewards) -> None:
    first, second = stewards.room(), stewards.room()
    stewards.synapse.suspend(stewards.reader, stewards.admin)
    stewards.between.faults = [Fault(500, only=f"/join/{first}")]

    ended = stewards.run(first, second)

    assert outcomes(ended) == {first: "failed", second: "joined"}
    assert ended.code == ExitCode.SOME_FAILED
    assert stewards.is_suspended
    third = stewards.room()
    stewards.between.faults = [Fault(500, only="/suspend/", times=4)]
    unlifted = stewards.run(first, second, third)
    assert outcomes(unlifted) == {first: "failed", second: "stays", third: "failed"}
    assert stewards.is_suspended
    stewards.between.faults = []
    assert outcomes(stewards.run(first, second)) == {first: "joined", second: "stays"}


def test_the_account_is_suspended_again_after_ctrl_c(stewards: Stewards, monkeypatch: pytest.MonkeyPatch) -> None:
    room = stewards.room()
    stewards.synapse.suspend(stewards.reader, stewards.admin)
    join = AdminsAccount.join

    def and_stop(self: AdminsAccount, of: str, server: str) -> None:
        join(self, of, server)
        assert not stewards.is_suspended
        raise KeyboardInterrupt

    monkeypatch.setattr(AdminsAccount, "join", and_stop)
    assert stewards.run(room).code == ExitCode.INTERRUPTED
    assert stewards.joined == {room}
    assert stewards.is_suspended


def test_an_account_that_is_left_unsuspended_is_told_loudly_and_mended_by_the_next_run(stewards: Stewards) -> None:
    room = stewards.room()
    stewards.between.faults = [Fault(500, only="/suspend/")]

    ended = stewards.run(room)

    assert ended.code == ExitCode.AWAY
    assert "not suspended" in ended.document["error"]["reason"]
    assert stewards.joined == {room}
    stewards.between.faults = []
    mended = stewards.run(room)
    assert (mended.code, mended.document["suspended"], outcomes(mended)) == (ExitCode.WELL, True, {room: "stays"})
    assert stewards.is_suspended
