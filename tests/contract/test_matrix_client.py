"""What the client makes of a real Synapse, and what it counts on there, in three versions of rooms."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import SecretStr

from huginn.chat.client import Client, Patience
from huginn.chat.homeserver import FactsUnread, TokenUnknown
from huginn.chat.matrix import MatrixHomeserver
from huginn.chat.scope import ScopedRoom, accepted_before
from huginn.errors import Refused, Unavailable
from tests.support.faulty_homeserver import Fault, FaultyHomeserver
from tests.support.synapse import VERSIONS, Answered, Synapse, User

Open = Callable[[User], MatrixHomeserver]


@dataclass(frozen=True)
class Talk:
    """A room with Alice and the reader in it."""

    alice: User
    reader: User
    homeserver: MatrixHomeserver
    room: str

    def events(self, since: str | None = None) -> list[Any]:
        return [event for page in self.homeserver.messages(scoped(self.room), since) for event in page.events]


@pytest.fixture
def opened(synapse: Synapse) -> Iterator[Open]:
    """Homeservers as users see them."""
    held: list[MatrixHomeserver] = []

    def open_as(user: User) -> MatrixHomeserver:
        client = Client(
            synapse.url, SecretStr(user.token), timeout_seconds=30, patience=Patience(attempts=2, first=0.01)
        )
        held.append(MatrixHomeserver(client, user.id))
        return held[-1]

    yield open_as
    for homeserver in held:
        homeserver.close()


@pytest.fixture
def recorded(synapse: Synapse) -> Iterator[FaultyHomeserver]:
    """The same homeserver, with somebody who keeps what it says and can go away."""
    between = FaultyHomeserver(upstream=synapse.url)
    yield between
    between.stop()


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def talk(synapse: Synapse, opened: Open, version: str) -> Talk:
    alice, reader = synapse.user("alice"), synapse.user("reader")
    room = alice.create_room(version)
    reader.join(room)
    return Talk(alice, reader, opened(reader), room)


def scoped(room: str) -> ScopedRoom:
    return accepted_before(room, None)


def bodies(events: list[Any]) -> list[str]:
    return [event["content"]["body"] for event in events if "body" in event.get("content", {})]


def test_all_messages_come_oldest_first_and_later_ones_from_the_token_on(talk: Talk) -> None:
    sent = [talk.alice.send(talk.room, f"message {number}") for number in range(5)]
    token = talk.homeserver.changes(None).token
    assert [event["event_id"] for event in talk.events() if event["type"] == "m.room.message"] == sent
    assert talk.events(token) == []
    later = talk.alice.send(talk.room, "later")
    assert [event["event_id"] for event in talk.events(token)] == [later]
    assert talk.homeserver.joined_rooms() == {talk.room}
    assert talk.homeserver.whoami() == talk.homeserver.user == talk.reader.id


def test_a_room_is_read_over_many_pages_and_no_event_twice(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huginn.chat.matrix.PAGE_SIZE", 3)
    sent = [talk.alice.send(talk.room, f"message {number}") for number in range(10)]
    pages = list(talk.homeserver.messages(scoped(talk.room), None))
    events: list[Any] = [event for page in pages for event in page.events]
    assert len(pages) > 4
    assert all(len(page.events) <= 3 for page in pages)
    assert pages[-1].end is None
    assert [event["event_id"] for event in events if event["type"] == "m.room.message"] == sent
    assert len({event["event_id"] for event in events}) == len(events)


def test_a_look_for_changes_tells_rooms_and_shows_no_content(
    synapse: Synapse, talk: Talk, version: str, recorded: FaultyHomeserver
) -> None:
    """A timeline of one event hides the others: their state must be told all the same."""
    quiet, seen = talk.alice.create_room(version), talk.alice.create_room(version)
    for room in (quiet, seen):
        talk.reader.join(room)
    homeserver = MatrixHomeserver(
        Client(recorded.url, SecretStr(talk.reader.token), timeout_seconds=30), talk.reader.id
    )
    first = homeserver.changes(None)
    assert first.rooms == first.state_changed == {talk.room, quiet, seen}
    assert homeserver.changes(first.token).rooms == frozenset()
    talk.alice.set_state(talk.room, "m.room.topic", {"topic": "a secret topic"})
    original = talk.alice.send(talk.room, "a secret message")
    talk.alice.edit(talk.room, original, "a secret edit")
    for number in range(12):
        talk.alice.send(talk.room, f"a secret message {number}")
    talk.alice.send(seen, "a secret message")
    second = homeserver.changes(first.token)
    assert second.rooms == {talk.room, seen}
    assert second.state_changed == {talk.room}
    talk.alice.set_state(seen, "m.bridge", {"protocol": "a secret"}, "key")
    third = homeserver.changes(second.token)
    assert third.rooms == third.state_changed == {seen}
    homeserver.close()
    answers = b"".join(recorded.bodies)
    assert b"secret" not in answers
    assert b'"content"' not in answers
    assert b"m.room.message" in answers


def test_a_member_who_comes_or_goes_is_a_change_of_state(synapse: Synapse, talk: Talk) -> None:
    token = talk.homeserver.changes(None).token
    bob = synapse.user("bob")
    bob.join(talk.room)
    for number in range(12):
        talk.alice.send(talk.room, f"message {number}")
    came = talk.homeserver.changes(token)
    assert came.state_changed == {talk.room}
    bob.leave(talk.room)
    talk.alice.send(talk.room, "bye")
    assert talk.homeserver.changes(came.token).state_changed == {talk.room}


def test_the_same_look_asked_again_is_answered_anew(talk: Talk) -> None:
    """Synapse keeps an answer for two minutes: a run that was killed must not be told that nothing happened since."""
    token = talk.homeserver.changes(None).token
    talk.alice.send(talk.room, "one")
    assert talk.homeserver.changes(token).state_changed == frozenset()
    talk.alice.set_state(talk.room, "m.room.topic", {"topic": "new"})
    assert talk.homeserver.changes(token).state_changed == {talk.room}


def test_what_others_only_read_is_no_change(talk: Talk) -> None:
    event = talk.alice.send(talk.room, "one")
    token = talk.homeserver.changes(None).token
    talk.alice.call("POST", f"/rooms/{talk.room}/receipt/m.read/{event}", {})
    talk.reader.call("PUT", f"/user/{talk.reader.id}/rooms/{talk.room}/account_data/m.tag", {"tags": {}})
    assert talk.homeserver.changes(token).rooms == frozenset()


def test_the_reader_leaves_no_trace(synapse: Synapse, talk: Talk) -> None:
    event = talk.alice.send(talk.room, "one")
    before = talk.reader.call("GET", "/devices")
    talk.homeserver.changes(talk.homeserver.changes(None).token)
    talk.homeserver.facts(talk.room)
    talk.events()
    seen = talk.alice.call("GET", "/sync", timeout=0)["rooms"]["join"][talk.room]
    assert talk.reader.id not in json.dumps(seen["ephemeral"])
    assert talk.events()[-1]["event_id"] == event
    devices = [{**device, "last_seen_ts": 0} for device in talk.reader.call("GET", "/devices")["devices"]]
    assert devices == [{**device, "last_seen_ts": 0} for device in before["devices"]]


def test_the_facts_hold_state_aliases_and_all_members_ever(synapse: Synapse, talk: Talk) -> None:
    carol, puppet = synapse.user("carol"), synapse.puppet()
    talk.alice.invite(talk.room, carol, is_direct=True)
    carol.join(talk.room)
    carol.leave(talk.room)
    puppet.join(talk.room)
    talk.alice.set_state(talk.room, "m.bridge", {"protocol": {"id": "irc"}}, "some.key")
    alias = f"#a{carol.id[1:]}"
    talk.alice.set_alias(talk.room, alias)
    talk.alice.send(talk.room, "a message")
    facts = talk.homeserver.facts(talk.room)
    members: list[Any] = list(facts.members)
    state: list[Any] = list(facts.state)
    assert facts.aliases == [alias]
    assert {"m.room.create", "m.room.join_rules", "m.bridge"} <= {event["type"] for event in state}
    assert [event["state_key"] for event in state if event["type"] == "m.bridge"] == ["some.key"]
    assert {event["type"] for event in members} == {"m.room.member"}
    assert any(event["content"].get("is_direct") and event["state_key"] == carol.id for event in members)
    assert puppet.id in {event["state_key"] for event in members}


def test_facts_of_a_room_that_cannot_be_looked_at_are_unread(synapse: Synapse, opened: Open) -> None:
    alice, reader = synapse.user("alice"), synapse.user("reader")
    private = alice.create_room(preset="private_chat")
    for room in (private, "!nowhere:hs.test"):
        with pytest.raises(FactsUnread, match="M_FORBIDDEN"):
            opened(reader).facts(room)
        with pytest.raises(FactsUnread, match="M_FORBIDDEN"):
            list(opened(reader).messages(scoped(room), None))


def test_direct_chats_are_those_of_the_account(synapse: Synapse, opened: Open) -> None:
    reader = synapse.user("reader")
    homeserver = opened(reader)
    assert homeserver.direct_rooms() == frozenset()
    reader.set_direct(
        {"@a:hs.test": ["!one:hs.test", "!two:hs.test"], "@b:hs.test": ["!two:hs.test"], "@c:hs.test": []}
    )
    assert homeserver.direct_rooms() == {"!one:hs.test", "!two:hs.test"}


def test_the_token_of_another_account_is_noticed(synapse: Synapse, opened: Open) -> None:
    alice, reader = synapse.user("alice"), synapse.user("reader")
    homeserver = MatrixHomeserver(opened(alice)._client, reader.id)
    with pytest.raises(Refused, match=r"chat\.user: the token belongs to @alice"):
        homeserver.direct_rooms()


def test_a_token_of_the_stream_that_is_none_says_so(talk: Talk) -> None:
    with pytest.raises(TokenUnknown):
        talk.homeserver.changes("garbage")
    with pytest.raises(TokenUnknown):
        talk.events("garbage")


def test_a_token_that_was_logged_out_ends_with_what_to_do(talk: Talk) -> None:
    talk.reader.log_out()
    for question in (talk.homeserver.joined_rooms, lambda: talk.homeserver.facts(talk.room), talk.events):
        with pytest.raises(Refused, match=r"chat\.token_file: .*M_UNKNOWN_TOKEN.*new token") as refusal:
            question()
        assert talk.reader.token not in str(refusal.value)


def test_a_suspended_account_can_read_and_nothing_else(synapse: Synapse, talk: Talk) -> None:
    talk.alice.send(talk.room, "before")
    synapse.suspend(talk.reader, synapse.user("admin", is_admin=True))
    token = talk.homeserver.changes(None).token
    talk.alice.send(talk.room, "after")
    assert bodies(talk.events()) == ["before", "after"]
    assert talk.homeserver.changes(token).rooms == {talk.room}
    assert talk.homeserver.facts(talk.room).state
    assert talk.homeserver.direct_rooms() == frozenset()
    with pytest.raises(Answered, match="M_USER_SUSPENDED"):
        talk.reader.send(talk.room, "no")


def test_edits_and_events_are_asked_for_one_by_one(talk: Talk) -> None:
    original = talk.alice.send(talk.room, "first")
    edits = [talk.alice.edit(talk.room, original, f"edit {number}") for number in range(7)]
    talk.alice.react(talk.room, original)
    assert {event["event_id"] for event in found(talk, original)} == set(edits)
    event: Any = talk.homeserver.event(scoped(talk.room), original)
    assert event["content"]["body"] == "first"
    assert talk.homeserver.event(scoped(talk.room), "$nothing") is None
    assert list(talk.homeserver.edits(scoped(talk.room), "$nothing")) == []


def test_a_redacted_edit_is_no_edit_and_the_edits_of_a_redacted_message_are_none(talk: Talk) -> None:
    original = talk.alice.send(talk.room, "first")
    kept, taken_back = talk.alice.edit(talk.room, original, "kept"), talk.alice.edit(talk.room, original, "taken back")
    talk.alice.redact(talk.room, taken_back)
    assert [event["event_id"] for event in found(talk, original)] == [kept]
    assert "taken back" not in json.dumps(talk.events())
    talk.alice.redact(talk.room, original)
    assert found(talk, original) == []
    event: Any = talk.homeserver.event(scoped(talk.room), original)
    assert event["content"] == {}
    assert "kept" in json.dumps(talk.events())  # what a client must know: the edit itself is served with its text


def found(talk: Talk, original: str) -> list[Any]:
    return list(talk.homeserver.edits(scoped(talk.room), original))


def test_a_redaction_of_an_old_event_comes_by_behind_the_token(talk: Talk) -> None:
    original = talk.alice.send(talk.room, "first")
    token = talk.homeserver.changes(None).token
    redaction = talk.alice.redact(talk.room, original)
    changes = talk.homeserver.changes(token)
    assert changes.rooms == {talk.room}
    [event] = talk.events(token)
    assert event["event_id"] == redaction
    assert original in (event.get("redacts"), event["content"].get("redacts"))


def test_a_room_that_the_reader_left_is_in_no_list(talk: Talk) -> None:
    token = talk.homeserver.changes(None).token
    talk.alice.kick(talk.room, talk.reader)
    talk.alice.send(talk.room, "now that it is gone")
    assert talk.homeserver.joined_rooms() == frozenset()
    assert talk.homeserver.changes(token).rooms == frozenset()


def test_a_purge_is_told_by_no_look_and_takes_events_away(synapse: Synapse, talk: Talk) -> None:
    talk.alice.send(talk.room, "old")
    last = talk.alice.send(talk.room, "new")
    token = talk.homeserver.changes(None).token
    synapse.purge(talk.room, last, synapse.user("admin", is_admin=True))
    assert talk.homeserver.changes(token).rooms == frozenset()
    assert bodies(talk.events()) == ["new"]


def test_a_deleted_room_is_in_no_list(synapse: Synapse, talk: Talk) -> None:
    synapse.delete_room(talk.room, synapse.user("admin", is_admin=True))
    assert talk.homeserver.joined_rooms() == frozenset()
    with pytest.raises(FactsUnread):
        talk.homeserver.facts(talk.room)


def test_a_clock_that_lies_does_not_change_the_order_of_pages(synapse: Synapse, talk: Talk) -> None:
    puppet = synapse.puppet()
    puppet.join(talk.room)
    sent = [puppet.send(talk.room, "future", ts=4102444800000), puppet.send(talk.room, "past", ts=1)]
    assert [event["event_id"] for event in talk.events()][-2:] == sent
    assert [event["origin_server_ts"] for event in talk.events()][-2:] == [4102444800000, 1]


def test_a_room_that_was_upgraded_stays_readable_and_the_reader_is_not_moved(talk: Talk) -> None:
    talk.alice.send(talk.room, "in the old room")
    new = talk.alice.upgrade(talk.room, "12")
    assert talk.homeserver.joined_rooms() == {talk.room}
    assert bodies(talk.events())[0] == "in the old room"
    tombstones: list[Any] = [event for event in talk.events() if event["type"] == "m.room.tombstone"]
    assert tombstones[0]["content"]["replacement_room"] == new


def test_a_space_is_read_like_any_room(synapse: Synapse, opened: Open) -> None:
    alice, reader = synapse.user("alice"), synapse.user("reader")
    space = alice.create_room(creation_content={"type": "m.space"})
    reader.join(space)
    homeserver = opened(reader)
    assert homeserver.facts(space).state
    assert bodies([event for page in homeserver.messages(scoped(space), None) for event in page.events]) == []


def test_a_page_that_fails_in_the_middle_ends_the_reading(
    talk: Talk, recorded: FaultyHomeserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huginn.chat.matrix.PAGE_SIZE", 3)
    for number in range(6):
        talk.alice.send(talk.room, f"message {number}")
    client = Client(recorded.url, SecretStr(talk.reader.token), timeout_seconds=5, patience=Patience(2, 1.0, 0.01))
    pages = MatrixHomeserver(client, talk.reader.id).messages(scoped(talk.room), None)
    next(pages)
    recorded.faults = [Fault(502)]
    began = time.monotonic()
    with pytest.raises(Unavailable):
        list(pages)
    assert time.monotonic() - began < 5
    client.close()
