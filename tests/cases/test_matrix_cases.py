"""MTX-01, MTX-04 and MTX-06 on the files as they are: what is said in a room in the end, and which rooms are read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from huginn.chat.homeserver import RoomFacts
from huginn.chat.points import points_of
from huginn.chat.scope import Refusal, Rules, ScopedRoom, Unread, judge, sign_in
from huginn.chat.window import SIZE, windows
from huginn.plan import WantedPoint
from tests.support.chat import ROOM, Raw, RoomInMemory, scoped_room

CASES = Path(__file__).parent
EDITS: list[Raw] = json.loads((CASES / "mtx_01" / "events.json").read_text())
STRANGE: list[object] = json.loads((CASES / "mtx_06" / "events.json").read_text())
ROOMS: dict[str, Any] = json.loads((CASES / "mtx_04" / "rooms.json").read_text())

FOUND = {
    "$o1": "rubber seal",
    "$o2": "marmalade",
    "$o3": "pomelo",
    "$o4": "papaya",
    "$o5": "apricot",
    "$o6": "greengage",
    "$o7": "medlar",
    "$o8": "persimmon",
    "$o9": "waves a salak",
    "$o10": "cherimoya",
    "$o11": "feijoa",
    "$o15": "langsat",
}
NEVER = [
    "quince",
    "mallory",
    "tangerine",
    "kumquat",
    "ladder is gone",
    "plum",
    "damson",
    "rhubarb",
    "soursop",
    "loquat",
]
NEVER += ["jujube", "tamarillo", "longan", "mangosteen", "durian", "rambutan", "*"]


def points(room: RoomInMemory) -> list[WantedPoint]:
    return points_of(scoped_room(), windows(room.lines))


def check_edits(room: RoomInMemory) -> None:
    assert set(room.bodies) == set(FOUND)
    for event_id, words in FOUND.items():
        assert words in room.bodies[event_id]
    stored = json.dumps([point.payload.model_dump(mode="json") for point in points(room)])
    for words in NEVER:
        assert words not in stored
    assert "$e" not in stored


def fed(batches: Sequence[Sequence[object]], upstream: Sequence[object] = EDITS) -> RoomInMemory:
    room = RoomInMemory(upstream)
    for batch in batches:
        room.feed(batch)
    return room


@pytest.mark.parametrize("times", [1, 2])
def test_mtx_01_in_one_batch_and_one_by_one_and_twice_over(times: int) -> None:
    check_edits(fed([EDITS] * times))
    check_edits(fed([[one] for one in EDITS * times]))
    assert points(fed([EDITS])) == points(fed([[one] for one in EDITS * times]))


@settings(max_examples=40)
@given(st.permutations(EDITS), st.integers(1, len(EDITS)))
def test_mtx_01_shuffled(order: list[Raw], size: int) -> None:
    check_edits(fed([order[start : start + size] for start in range(0, len(order), size)]))


def test_mtx_01_every_entry_is_counted_and_the_edit_of_an_unknown_message_is_told() -> None:
    folded = RoomInMemory(EDITS).feed(EDITS)
    assert folded.skipped == {
        "edit by somebody else": 1,
        "edit of no message": 1,
        "edit without new content": 1,
        "other room": 1,
        "edit of an unknown message": 1,
        "state event": 2,
    }
    assert (folded.messages, folded.edits) == (13, 11)
    assert folded.messages + folded.edits + sum(folded.skipped.values()) == len(EDITS)


def test_mtx_01_the_original_of_an_orphan_edit_has_its_edits_asked_for_when_it_is_read() -> None:
    original = {**EDITS[0], "event_id": "$never-seen", "content": {"msgtype": "m.text", "body": "late"}}
    room = fed([EDITS, [original]], [*EDITS, original])
    assert "orphan edit rambutan" in room.bodies["$never-seen"]
    assert "$never-seen" in room.asked


def test_mtx_01_an_edit_that_leaves_the_text_as_it_is_leaves_the_points_as_they_are() -> None:
    same = next(one for one in EDITS if one["event_id"] == "$e11")
    without = [one for one in EDITS if one is not same]
    assert points(fed([without])) == points(fed([without, [same]]))


SEARCHABLE = "okapi dugong bigtail ocelot caracal margay quoll echidna bandicoot pademelon dunnart thylacine"
NOT_SEARCHABLE = "AAAA serval lyrebird kookaburra IMG_2041 IMG_2042 wombat cassowary brolga galah bilby potoroo tapir"


def test_mtx_06_one_bad_event_stops_nothing_and_every_entry_is_counted() -> None:
    room = RoomInMemory(STRANGE)
    folded = room.feed(STRANGE)
    assert (folded.messages, folded.edits, folded.redactions) == (13, 0, 0)
    assert len(STRANGE) == 36 == folded.messages + sum(folded.skipped.values())
    assert folded.skipped == {
        "no text": 6,
        "redacted": 1,
        "no content": 1,
        "media without caption": 2,
        "unknown kind of message": 2,
        "encrypted": 1,
        "reaction": 1,
        "sticker": 1,
        "no usable time": 3,
        "no usable sender": 1,
        "known already": 1,
        "no message": 1,
        "no event": 2,
    }
    again = room.feed(STRANGE)
    assert (again.texts, again.gone, again.restore, again.learned) == ({}, frozenset(), frozenset(), ())


def test_mtx_06_what_is_searchable_and_what_is_not() -> None:
    room = fed([STRANGE], STRANGE)
    made = points(room)
    for word in SEARCHABLE.split():
        assert any(word in point.embedded for point in made), word
    stored = json.dumps([point.payload.model_dump(mode="json") for point in made])
    for word in [*NOT_SEARCHABLE.split(), "antechinus", "numbat", "\\u0000"]:
        assert word not in stored
    assert {point.place for point in made if "bigtail" in point.embedded} == {"$w11"}
    assert all(0 < len(point.embedded.encode()) <= SIZE for point in made)
    for event_id in [f"$w{number:02}" for number in range(1, 9)]:
        assert event_id not in room.texts


@settings(max_examples=20)
@given(st.permutations([one for number, one in enumerate(STRANGE) if number != 26]))  # but the id that comes twice
def test_mtx_06_shuffled_one_by_one(order: list[object]) -> None:
    assert fed([[one] for one in order], STRANGE).texts == fed([STRANGE], STRANGE).texts


VERDICTS = {
    "r01": "accept",
    "r02": "direct",
    "r03": "direct",
    "r04": "direct",
    "r05": "direct",
    "r06": "direct",
    "r07": "accept",
    "r08": "accept",
    "r09": "accept",
    "r10": "accept",
    "r11": "accept",
    "r12": "bridged",
    "r13": "bridged",
    "r14": "bridged",
    "r15": "bridged",
    "r16": "unread",
    "r17": "not joined",
    "r18": "not joined",
    "r19": "not joined",
    "r20": "accept",
    "r21": "accept",
    "r22": "accept",
}
RULES = Rules(ROOMS["me"])
DIRECT = frozenset(room for rooms in ROOMS["account_data"]["m.direct"].values() for room in rooms)


def judged(room: str, state: list[Raw], direct: frozenset[str] | None = DIRECT) -> str:
    own = [event for event in state if event["type"] == "m.room.member" and event["state_key"] == ROOMS["me"]]
    joined = any(event["content"]["membership"] == "join" for event in own)
    verdict = judge(room, RoomFacts(room, state, [], []), joined=joined, direct=direct, rules=RULES)
    match verdict:
        case ScopedRoom():
            return "accept"
        case Refusal():
            return verdict.reason
        case Unread():
            return "unread"


@pytest.mark.parametrize("room", ROOMS["rooms"])
def test_mtx_04_every_room_of_the_table(room: str) -> None:
    assert judged(room, ROOMS["rooms"][room]) == VERDICTS[room[1:4]]


@pytest.mark.parametrize("room", ROOMS["rooms"])
def test_mtx_04_without_account_data_no_room_is_accepted(room: str) -> None:
    found = judged(room, ROOMS["rooms"][room], direct=None)
    if VERDICTS[room[1:4]] == "accept" or room[1:4] in ("r02", "r06"):
        assert found == "unread"
    else:
        assert found == VERDICTS[room[1:4]], "what refuses a room does not depend on account data"


@pytest.mark.parametrize("room", ROOMS["rooms"])
def test_mtx_04_without_state_no_room_is_accepted(room: str) -> None:
    verdict = judge(room, None, joined=True, direct=DIRECT, rules=RULES)
    assert isinstance(verdict, Refusal if room in DIRECT else Unread)


def test_mtx_04_turns() -> None:
    after = {}
    for turn in ROOMS["turns"]:
        room, event = turn["room"], turn["event"]
        kept = [
            one
            for one in ROOMS["rooms"][room]
            if (one["type"], one["state_key"]) != (event["type"], event["state_key"])
        ]
        after[room[1:4]] = judged(room, [*kept, event])
        seen = sign_in([event], room, RULES)
        assert (seen is not None) == (event["type"] == "m.bridge"), "it is seen while reading, too"
    assert after == {"r01": "accept", "r22": "bridged"}


def test_the_room_of_the_events_is_the_one_they_are_fed_to() -> None:
    assert {one["room_id"] for one in EDITS} == {ROOM, "!other:example.org"}
