"""Which rooms are in scope: every sign refuses, wherever it is seen, and what could not be read accepts nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from huginn.chat.homeserver import RoomFacts
from huginn.chat.scope import Refusal, Rules, ScopedRoom, Unread, judge, sign_in
from huginn.errors import Refused
from tests.support.chat import ADA, BO, READER, facts_of, redaction, said, scoped_room, state

ROOM = "!room:example.org"
RULES = Rules(READER)


def verdict(
    facts: RoomFacts | None, *, joined: bool = True, direct: frozenset[str] | None = frozenset(), rules: Rules = RULES
) -> ScopedRoom | Refusal | Unread:
    return judge(ROOM, facts, joined=joined, direct=direct, rules=rules)


def reason(facts: RoomFacts | None, **more: Any) -> str:
    """The reason of a refusal; else the name of the verdict's class."""
    found = verdict(facts, **more)
    return found.reason if isinstance(found, Refusal) else type(found).__name__


def member(user: object, content: object | None = None, **fields: object) -> dict[str, object]:
    return state("m.room.member", {"membership": "join"} if content is None else content, user, **fields)


def test_an_ordinary_room_is_in_scope() -> None:
    assert verdict(facts_of(ROOM)) == scoped_room(ROOM)
    with pytest.raises(TypeError):
        ScopedRoom(ROOM, None)


def test_the_canonical_alias_is_told() -> None:
    for content, alias in (
        ({"alias": "#garden:x"}, "#garden:x"),
        ({}, None),
        ({"alias": 5}, None),
        ({"alias": "x"}, None),
    ):
        found = verdict(facts_of(ROOM, state("m.room.canonical_alias", content)))
        assert isinstance(found, ScopedRoom)
        assert found.alias == alias


def test_a_room_that_is_not_joined_is_refused_whatever_else_is_known() -> None:
    for facts in (None, facts_of(ROOM), RoomFacts(ROOM, [None], [], [])):
        for direct in (None, frozenset({ROOM})):
            assert reason(facts, joined=False, direct=direct) == "not joined"


def test_a_room_that_is_excluded_by_id_or_listed_as_direct_needs_no_facts() -> None:
    assert reason(None, direct=None, rules=Rules(READER, exclude=(ROOM,))) == "excluded"
    assert reason(None, direct=frozenset({ROOM})) == "direct"


@pytest.mark.parametrize(
    "alias", ["#users:example.org", "#members:other.org", "#patrons:x", "#Users:example.org", "#lobby:x"]
)
def test_an_excluded_alias_counts_wherever_it_stands(alias: str) -> None:
    rules = Rules(READER, exclude=("#lobby:x",))
    here = facts_of(ROOM)
    canonical = "m.room.canonical_alias"
    told = [
        replace(here, aliases=["#other:x", alias]),
        facts_of(ROOM, state(canonical, {"alias": alias})),
        facts_of(ROOM, state(canonical, {"alias": "#other:x", "alt_aliases": [5, "#third:x", alias]})),
        facts_of(ROOM, state(canonical, {}, unsigned={"prev_content": {"alias": alias}})),
        facts_of(ROOM, state("m.room.aliases", {"aliases": [alias]}, "example.org")),
        RoomFacts(ROOM, [state(canonical, {"alias": alias})], [], []),
    ]
    for facts in told:
        assert reason(facts, rules=rules) == "excluded"
        assert reason(facts, rules=rules, direct=None) == "excluded"


def test_other_aliases_exclude_nothing() -> None:
    rules = Rules(READER, exclude=("#lobby:x", "#team"))
    for alias in ("#lobby:y", "#users-of-tools:x", "#x-members:y", "#user:x"):
        assert isinstance(verdict(replace(facts_of(ROOM), aliases=[alias]), rules=rules), ScopedRoom)
    assert reason(replace(facts_of(ROOM), aliases=["#team:anywhere"]), rules=rules) == "excluded"


PUPPETS = [
    "@_irc_someone:x",
    "@_anything",
    "@telegram_123:x",
    "@Discord_9:x",
    "@whatsapp_49:x",
    "@signal_a:x",
    "@slack_t:x",
]
BRIDGE = state("m.bridge", {"protocol": {"id": "irc"}}, "irc://x/#y", event_id="$b")
SIGNS: list[tuple[str, dict[str, object]]] = [
    ("bridged", BRIDGE),
    ("bridged", state("uk.half-shot.bridge", {"channel": 1}, "tg", event_id="$b")),
    ("bridged", state("m.bridge", {}, "irc://x/#y", event_id="$b")),
    ("bridged", state("m.bridge", "rubbish", "", event_id="$b")),
    *[("bridged", member(user, event_id="$b")) for user in PUPPETS],
    *[("bridged", member(user, {"membership": "leave"}, event_id="$b")) for user in PUPPETS[:2]],
    *[("bridged", state("m.room.topic", {}, sender=user, event_id="$b")) for user in PUPPETS],
    ("direct", member(READER, {"membership": "join", "is_direct": True}, event_id="$b")),
    ("direct", member(READER, {"membership": "invite", "is_direct": True}, event_id="$b")),
    ("direct", member(READER, unsigned={"prev_content": {"is_direct": True}}, event_id="$b")),
    ("direct", member(READER, prev_content={"is_direct": "true"}, event_id="$b")),
]


@pytest.mark.parametrize(("why", "event"), SIGNS)
def test_a_sign_refuses_in_the_state_among_old_members_and_in_the_middle_of_reading(why: str, event: Any) -> None:
    here = facts_of(ROOM)
    for facts in (facts_of(ROOM, event), replace(here, members=[event]), RoomFacts(ROOM, [event], [], [])):
        for direct in (frozenset[str](), None):
            found = verdict(facts, direct=direct)
            assert isinstance(found, Refusal)
            assert (found.reason, found.event) == (why, "$b")
    seen = sign_in([None, said("$1", "hello"), event, said("$2", "x")], event.get("room_id", ROOM), RULES)
    assert isinstance(seen, Refusal)
    assert (seen.reason, seen.event) == (why, "$b")


@pytest.mark.parametrize("user", PUPPETS)
def test_a_message_of_a_puppet_is_a_sign(user: str) -> None:
    for event in (said("$m", "hi", sender=user), said("$m", {}, sender=user), redaction("$m", "$1", sender=user)):
        found = sign_in([said("$1", "hello"), event], str(event["room_id"]), RULES)
        assert found == Refusal("bridged", "sender in a puppet namespace", "$m")


def test_what_a_sign_tells_names_no_user() -> None:
    for _, event in SIGNS:
        found = sign_in([event], ROOM, RULES)
        assert found is not None
        assert "@" not in found.detail


def test_what_is_no_sign() -> None:
    events: list[object] = [
        said("$1", "hello", type="m.bridge", room_id=ROOM),  # no state event
        said("$2", "hello", type="m.bridge", room_id=ROOM, state_key=None),
        said("$3", "hello", sender="@_irc_x:y", room_id="!other:x"),
        member(ADA, {"membership": "join", "is_direct": True}),
        member(READER, {"membership": "join", "is_direct": False}),
        *[member(user) for user in ("@telegrambot:x", "@ircmaster:x", "@a_b:x", "@slack:x", "@bridge-1:x")],
        *[None, 5, "x", [], {}, {"type": [], "sender": {}, "state_key": []}, {"type": "m.room.member", "content": 5}],
    ]
    for event in events:
        assert sign_in([event], ROOM, RULES) is None


def test_puppets_of_the_settings_stand_beside_those_of_the_code() -> None:
    for pattern in ("@bridge-.*", "@bridge-[0-9]+", "@bridge-[0-9]+:example\\.org", "(?i)@BRIDGE-.*"):
        rules = Rules(READER, puppets=(pattern,))
        assert rules.is_puppet("@bridge-7:example.org"), pattern
        assert rules.is_puppet("@_irc_x:y")
        assert not rules.is_puppet("@abridge-7:example.org")
        assert not rules.is_puppet(ADA)
    assert Rules(READER, puppets=("@a|@b",)).is_puppet("@b:x")
    for broken in ("@(", "@[", "*"):
        with pytest.raises(Refused, match=r"chat\.puppets"):
            Rules(READER, puppets=(broken,))


def test_the_reader_is_no_puppet_of_itself() -> None:
    rules = Rules("@_huginn:example.org")
    facts = facts_of(ROOM, members=("@_huginn:example.org", ADA, BO))
    assert isinstance(verdict(facts, rules=rules), ScopedRoom)


def test_two_people_without_an_alias_or_an_open_door_cannot_be_told_from_a_direct_chat() -> None:
    two = (READER, ADA)
    assert reason(facts_of(ROOM, members=two)) == "direct"
    assert reason(facts_of(ROOM, members=(READER,))) == "direct"
    gone = member(BO, {"membership": "leave"})
    assert reason(facts_of(ROOM, gone, state("m.room.name", {"name": "team"}), members=two)) == "direct"
    assert reason(facts_of(ROOM, member(BO, {"membership": "knock"}), members=two)) == "direct"
    assert reason(facts_of(ROOM, state("m.room.canonical_alias", {}), members=two)) == "direct"
    was = state("m.room.canonical_alias", {}, unsigned={"prev_content": {"alias": "#was:x"}})
    assert reason(facts_of(ROOM, was, members=two)) == "direct", "it has no alias any more"
    for accepted in (
        facts_of(ROOM, members=two, rule="public"),
        facts_of(ROOM, member(BO, {"membership": "invite"}), members=two),
        facts_of(ROOM, state("m.room.canonical_alias", {"alias": "#a:x"}), members=two),
        facts_of(ROOM, state("m.room.canonical_alias", {"alt_aliases": ["#a:x"]}), members=two),
        replace(facts_of(ROOM, members=two), aliases=["#a:x"]),
    ):
        assert isinstance(verdict(accepted), ScopedRoom)


def test_facts_that_could_not_be_read_are_no_verdict() -> None:
    whole = facts_of(ROOM)
    assert reason(None) == reason(None, direct=None) == reason(whole, direct=None) == "Unread"
    for number in (0, 1, 2):  # the creation, the join rule, the reader's own membership
        cut = replace(whole, state=[*whole.state[:number], *whole.state[number + 1 :]])
        assert reason(cut) == "Unread"
        for content in ("rubbish", None, {"join_rule": 5, "membership": 5}):
            broken = {**whole.state[number], "content": content}  # type: ignore[dict-item] # a made one is a dict
            if number or not isinstance(content, dict):
                assert reason(replace(whole, state=[*cut.state, broken])) == "Unread"
    assert reason(facts_of(ROOM, member(READER, {"membership": "leave"}))) == "Unread"
    for strange in (None, "x", 5, said("$1", "x", room_id="!other:x")):
        assert reason(replace(whole, state=[*whole.state, strange])) == "Unread"
        assert reason(replace(whole, members=[strange])) == "Unread"
    assert reason(RoomFacts(ROOM, [], [], [])) == "Unread"


def test_a_space_is_no_error() -> None:
    space = state("m.room.create", {"type": "m.space"})
    assert isinstance(verdict(facts_of(ROOM, space)), ScopedRoom)


def test_the_fingerprint_changes_with_what_matters_and_not_with_the_order() -> None:
    rules = Rules(READER, ("#a:x", "#b:x"), ("@p.*",))
    assert rules.fingerprint == Rules(READER, ("#b:x", "#a:x", "#a:x"), ("@p.*",)).fingerprint
    others = [
        Rules(ADA, rules.exclude, rules.puppets),
        Rules(READER, ("#a:x",), rules.puppets),
        Rules(READER, rules.exclude),
    ]
    assert len({one.fingerprint for one in (rules, *others)}) == 4


SCALARS = st.none() | st.booleans() | st.integers() | st.text("a@#_:!\ud800") | st.just(READER)
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text("ab"), inner), max_leaves=5)
FIELDS = st.sampled_from(["type", "state_key", "sender", "content", "unsigned", "room_id", "event_id"])
TYPES = ["m.room.member", "m.room.canonical_alias", "m.room.aliases", "m.bridge", "m.room.create"]
EVENTS = (
    st.builds(lambda kind, more: {"type": kind, **more}, st.sampled_from(TYPES), st.dictionaries(FIELDS, JSON)) | JSON
)


@given(st.lists(EVENTS, max_size=3), st.lists(EVENTS, max_size=2), st.booleans())
def test_no_facts_raise_and_none_that_are_strange_accept_a_room(
    strange: list[object], members: list[object], is_whole: bool
) -> None:
    whole = facts_of(ROOM)
    found = verdict(RoomFacts(ROOM, [*(whole.state if is_whole else []), *strange], [], members))
    if isinstance(found, ScopedRoom):
        assert is_whole
        assert sign_in([*strange, *members], ROOM, RULES) is None
