"""What edits and redactions do: the same in whatever order the events come, and however often."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from huginn.chat.events import Message, parse
from huginn.chat.fold import fold, restored, wanted_ids
from huginn.chat.known import Known
from tests.support.chat import ADA, BO, ROOM, TIME, Raw, RoomInMemory, edit, event, redaction, said

REACTION = event("$x", {"m.relates_to": {"rel_type": "m.annotation", "event_id": "$o", "key": "+"}}, type="m.reaction")
IMAGE = event("$i", {"msgtype": "m.image", "body": "a.jpg", "url": "mxc://x/y"})


def pruned(entry: Raw, **fields: object) -> Raw:
    return {**entry, "content": {}, **fields}


def fed(*batches: Sequence[object], upstream: Sequence[object] | None = None) -> RoomInMemory:
    """A room that has taken in these batches; by default the homeserver has just what is in them."""
    room = RoomInMemory([one for batch in batches for one in batch] if upstream is None else upstream)
    for batch in batches:
        room.feed(batch)
    return room


def test_only_the_sender_of_a_message_edits_it() -> None:
    assert fed([said("$o", "marmalade"), edit("$e", "$o", "mallory", sender=BO)]).bodies == {"$o": "marmalade"}
    assert fed([said("$o", "marmalade")], [edit("$e", "$o", "mallory", sender=BO)]).bodies == {"$o": "marmalade"}
    room = fed([edit("$e", "$o", "mallory", sender=BO)], [said("$o", "marmalade")])
    assert (room.bodies, room.asked) == ({"$o": "marmalade"}, [])


def test_an_edited_message_keeps_its_own_sender_and_time() -> None:
    room = fed([said("$o", "old")], [edit("$e", "$o", "new", origin_server_ts=TIME + 5)])
    assert room.texts == {"$o": Message("$o", ADA, TIME, "new")}


def test_an_edit_of_an_edit_of_a_state_event_or_of_a_reaction_does_not_count() -> None:
    events = [said("$o", "one"), edit("$e", "$o", "two"), edit("$f", "$e", "three", origin_server_ts=TIME + 9)]
    events += [event("$s", {"name": "x"}, type="m.room.name", state_key=""), edit("$g", "$s", "durian")]
    events += [REACTION, edit("$h", "$x", "durian"), redaction("$r", "$h"), edit("$k", "$r", "durian")]
    for room in (fed(events), fed(*([one] for one in events)), fed(*([one] for one in reversed(events)))):
        assert room.bodies == {"$o": "two"}


def test_an_edit_can_blank_a_message_and_another_can_give_it_text_again() -> None:
    old, blank, new = said("$o", "old"), edit("$e", "$o", " "), edit("$f", "$o", "new", origin_server_ts=TIME + 9)
    assert fed([old], [blank]).bodies == {}
    assert fed([old], [blank], [new]).bodies == fed([new, old, blank]).bodies == {"$o": "new"}
    assert fed([old], [new], [blank]).bodies == {"$o": "new"}


def test_an_edit_can_give_media_a_caption() -> None:
    caption = {"msgtype": "m.image", "body": "by the gate", "filename": "a.jpg"}
    for room in (fed([IMAGE, edit("$e", "$i", caption)]), fed([edit("$e", "$i", caption)], [IMAGE])):
        assert room.bodies == {"$i": "by the gate"}
    assert fed([IMAGE, edit("$e", "$i", caption)], [redaction("$r", "$e")]).bodies == {}


def test_the_newest_edit_wins_by_time_and_then_by_id() -> None:
    old = said("$o", "old")
    tied = [edit("$b", "$o", "greengage"), edit("$a", "$o", "damson")]
    assert fed([old, *tied]).bodies == fed([old], tied[:1], tied[1:]).bodies == {"$o": "greengage"}
    earlier = edit("$z", "$o", "soursop", origin_server_ts=TIME - 5)
    assert fed([old, *tied], [earlier]).bodies == {"$o": "greengage"}
    assert fed([old], [earlier]).bodies == {"$o": "soursop"}, "a clock that was put back makes it no less of an edit"


def test_an_edit_that_comes_before_its_original_is_asked_for_when_the_original_comes() -> None:
    room = fed([edit("$e", "$o", "medlar")], [said("$o", "rhubarb")])
    assert (room.bodies, room.asked) == ({"$o": "medlar"}, ["$o"])


def test_an_edit_that_leaves_the_text_as_it_is_changes_nothing() -> None:
    room = fed([said("$o", "feijoa")])
    before = dict(room.texts)
    room.feed([edit("$e", "$o", "feijoa")])
    assert room.texts == before


REDACTIONS = [
    redaction("$r", "$o"),
    event("$r", {}, type="m.room.redaction", redacts="$o"),
    event("$r", {"redacts": "$o"}, type="m.room.redaction"),
    event("$r", {"redacts": "$o"}, type="m.room.redaction", redacts="$elsewhere"),
    event("$r", {"redacts": "$elsewhere"}, type="m.room.redaction", redacts="$o"),
    event("$r", {"redacts": "$o"}, type="m.room.redaction", unsigned={"redacted_because": {"event_id": "$r2"}}),
    event("$r", {}, type="m.room.redaction", redacts="$o", sender=BO),
    pruned(said("$o", "")),
    said("$o", "secret", unsigned={"redacted_because": {"type": "m.room.redaction", "redacts": "$o"}}),
]


@pytest.mark.parametrize("redacts", REDACTIONS)
def test_a_redaction_beats_every_edit_in_any_shape_and_order(redacts: Raw) -> None:
    secret = [said("$o", "secret"), edit("$e", "$o", "secret", origin_server_ts=TIME + 5)]
    late = edit("$f", "$o", "secret", origin_server_ts=TIME + 9)  # edits of what is redacted go on being served
    orders: list[list[list[Raw]]] = [
        [[*secret, redacts, late]],
        [[*secret], [redacts], [late]],
        [[redacts], secret, [late]],
    ]
    orders += [
        [[redacts, *secret, late]],
        [[late], [secret[1]], [redacts], [secret[0]]],
        [[secret[0], late], [redacts]],
    ]
    orders += [[[late, secret[1], redacts]], [secret, [late], [redacts], [redacts], secret]]
    for batches in orders:
        assert fed(*batches).bodies == {}, batches


def test_a_redacted_message_has_to_be_in_no_point() -> None:
    room = fed([said("$o", "secret")])
    assert room.feed([redaction("$r", "$o")]).gone == {"$o"}
    room = fed([said("$o", "secret")])
    assert room.feed([pruned(said("$o", ""))]).gone == {"$o"}


@pytest.mark.parametrize("is_pruned", [True, False])
def test_a_redacted_edit_gives_back_what_was_there_before_it(is_pruned: bool) -> None:
    old, first = said("$o", "old"), edit("$e", "$o", "first", origin_server_ts=TIME + 1)
    second = edit("$f", "$o", "secret", origin_server_ts=TIME + 2)
    takes_back = pruned(second) if is_pruned else redaction("$r", "$f")
    room = fed([old, first, second], [takes_back])
    assert (room.bodies, room.asked, room.rebuilds) == ({"$o": "first"}, ["$o"], 0)
    assert fed([old, second], [takes_back]).bodies == {"$o": "old"}
    assert fed([old, first, second, takes_back]).bodies == {"$o": "first"}
    assert fed([takes_back], [second, first], [old]).bodies == {"$o": "first"}
    room = fed([old, second], [takes_back])
    room.upstream.append(first)  # from a server that was away
    room.feed([first])
    assert room.bodies == {"$o": "first"}, "an older edit counts when the newer one is gone"


def test_until_it_is_restored_a_message_with_a_redacted_edit_is_in_no_point() -> None:
    for body in ("newer", " "):
        room = fed([said("$o", "old"), edit("$e", "$o", "secret")])
        folded = room.feed([redaction("$r", "$e"), edit("$f", "$o", body, origin_server_ts=TIME + 9)])
        assert (folded.restore, folded.texts, folded.gone) == (frozenset({"$o"}), {}, frozenset())


def test_an_edit_that_was_told_ahead_of_its_turn_and_is_redacted_then_goes() -> None:
    old, first = said("$o", "old"), edit("$e", "$o", "first")
    ahead = edit("$f", "$o", "secret", origin_server_ts=TIME + 9)
    room = RoomInMemory([old, first, ahead])
    room.feed([first], is_whole=True)
    room.feed([old], is_whole=True)
    assert room.bodies == {"$o": "secret"}
    room.upstream = [old, first, pruned(ahead), redaction("$r", "$f")]  # redacted before its page was read
    room.feed([pruned(ahead), redaction("$r", "$f")], is_whole=True)
    assert room.bodies == {"$o": "first"}


def test_a_bundled_edit_counts_and_its_redaction_too() -> None:
    newest = edit("$e", "$o", "langsat")
    old = said("$o", "mangosteen", unsigned={"m.relations": {"m.replace": newest}})
    folded = fed([]).feed([old, newest])
    assert (folded.messages, folded.edits, folded.skipped) == (1, 1, {}), "entries are counted"
    room = fed([old], upstream=[old])
    assert room.bodies == {"$o": "langsat"}
    assert room.feed([newest]).skipped == {"known already": 1}
    room.upstream = [said("$o", "mangosteen"), pruned(newest), redaction("$r", "$e")]
    room.feed([redaction("$r", "$e")])
    assert room.bodies == {"$o": "mangosteen"}


def test_a_redaction_of_what_holds_no_text_writes_nothing() -> None:
    name = event("$s", {"name": "x"}, type="m.room.name", state_key="")
    room = fed([said("$o", "stays"), REACTION, name, IMAGE, redaction("$q", "$x")])
    folded = room.feed([redaction("$r1", "$x"), redaction("$r2", "$s"), redaction("$r3", "$i"), redaction("$r4", "$q")])
    assert (folded.texts, folded.restore, folded.rebuild, folded.redactions) == ({}, frozenset(), frozenset(), 4)
    assert folded.gone <= {"$i"}
    assert {one.id for one in folded.learned} == {"$r1", "$r2", "$r3", "$r4", "$i"}
    assert room.bodies == {"$o": "stays"}


def test_a_redaction_that_is_redacted_still_holds() -> None:
    old, takes_back = said("$o", "secret"), redaction("$r", "$o")
    for again in (redaction("$q", "$r"), pruned(takes_back, redacts=None)):
        assert fed([old, takes_back], [again]).bodies == {}
        assert fed([old], [takes_back, again]).bodies == {}
    assert fed([old], [redaction("$q", "$r")], [takes_back]).bodies == {}


def test_a_redaction_that_lost_its_target_before_it_was_seen_rebuilds_once() -> None:
    """Rooms before version 11 keep nothing of a redaction that is redacted itself."""
    bare = event("$r", {}, type="m.room.redaction")
    pruned = event("$o", {}, unsigned={"redacted_because": bare})
    room = RoomInMemory([pruned, bare, redaction("$r2", "$r")])
    room.feed([said("$o", "first"), said("$p", "second")])
    room._fed = [pruned, said("$p", "second")]  # what the homeserver would serve by now
    assert room.feed([bare, redaction("$r2", "$r")]).rebuild == frozenset({"$r"})
    assert room.bodies == {"$p": "second"}
    assert room.feed([bare]).rebuild == frozenset()

    seen = RoomInMemory()
    seen.feed([said("$o", "first"), redaction("$r", "$o")])
    assert seen.feed([bare, redaction("$r2", "$r")]).rebuild == frozenset(), "it has been seen while it had its target"


def test_a_redaction_of_an_unknown_id_rebuilds_once_and_what_that_replays_starts_no_other() -> None:
    room = fed([said("$o", "stays")], [redaction("$r", "$nobody"), redaction("$q", "$knows")])
    assert room.rebuilds == 1
    assert room.feed([redaction("$r", "$nobody"), redaction("$r3", "$nobody")]).rebuild == frozenset()
    assert room.feed([said("$nobody", "secret")]).skipped == {"known already": 1}
    assert room.bodies == {"$o": "stays"}
    whole = RoomInMemory()
    assert whole.feed([redaction("$r", "$nobody")], is_whole=True).rebuild == frozenset()


def test_a_redaction_that_names_a_known_and_an_unknown_id_takes_both() -> None:
    both = event("$r", {"redacts": "$nobody"}, type="m.room.redaction", redacts="$o")
    parsed = parse(both, ROOM)
    assert wanted_ids(parsed) == {"$r", "$o", "$nobody"}
    folded = fold(parsed, {"$o": Known("$o", "message", None, ADA, TIME)}, {}, is_whole=False)
    assert (folded.gone, folded.rebuild) == (frozenset({"$o", "$nobody"}), frozenset({"$r"}))


def test_events_do_not_change() -> None:
    room = fed([said("$o", "ocelot")])
    folded = room.feed([said("$o", "kookaburra", origin_server_ts=TIME + 9), edit("$o", "$o", "kookaburra")])
    assert (room.bodies, folded.learned, folded.skipped) == ({"$o": "ocelot"}, (), {"known already": 2})


def test_an_event_of_another_room_leaves_no_knowledge() -> None:
    room = fed([said("$o", "plum", room_id="!other:example.org"), redaction("$r", "$o", room_id="!other:example.org")])
    room.feed([said("$o", "apricot")])
    assert room.bodies == {"$o": "apricot"}


def test_reasons_are_told_for_every_entry() -> None:
    entries = [said("$o", "x"), edit("$1", "$o", "y"), edit("$2", "$o", "y", sender=BO), edit("$3", "$none", "y")]
    entries += [edit("$4", "$1", "y"), edit("$5", "$gone", "y"), redaction("$r", "$gone"), said("$gone", "x")]
    entries += [
        redaction("$r2", "$6"),
        edit("$6", "$o", "y"),
        REACTION,
        IMAGE,
        said("$o", "again"),
        pruned(said("$p", "")),
    ]
    folded = fed([]).feed(entries)
    assert (folded.messages, folded.edits, folded.redactions) == (1, 1, 2)
    assert folded.skipped == {
        "edit by somebody else": 1,
        "edit of an unknown message": 1,
        "edit of no message": 1,
        "edit of a redacted message": 1,
        "redacted": 3,
        "reaction": 1,
        "media without caption": 1,
        "known already": 1,
    }
    assert folded.messages + folded.edits + folded.redactions + sum(folded.skipped.values()) == len(entries)


MESSAGE = {"$o": Known("$o", "message", None, ADA, TIME)}


def test_what_is_restored_follows_the_same_rules() -> None:
    edits = [edit("$e", "$o", "first"), edit("$f", "$o", "mallory", sender=BO, origin_server_ts=TIME + 9)]
    edits += [edit("$g", "$other", "elsewhere"), edit("$h", "$o", "redacted", origin_server_ts=TIME + 8)]
    known = MESSAGE | {"$h": Known("$h", "pruned", "$o", ADA, TIME)}
    answer = restored("$o", said("$o", "old"), edits, known, ROOM)
    assert answer.message == Message("$o", ADA, TIME, "first")
    assert {one.id: one.kind for one in answer.learned} == {"$e": "edit", "$f": "edit"}


def test_nothing_is_restored_that_is_redacted_away_or_no_message() -> None:
    old, edits = said("$o", "secret"), [edit("$e", "$o", "secret")]
    assert restored("$o", None, [], MESSAGE, ROOM).message is None
    assert restored("$o", said("$other", "x"), [], MESSAGE, ROOM).message is None
    assert restored("$o", {**old, "room_id": "!other:x"}, [], MESSAGE, ROOM).message is None
    assert restored("$o", old, edits, {}, ROOM).message is None
    for kind in ("pruned", "edit", "redaction", "other"):
        known: dict[str, Any] = {"$o": Known("$o", kind, None, ADA, TIME)}
        assert restored("$o", old, edits, known, ROOM).message is None
    answer = restored("$o", pruned(old), edits, MESSAGE, ROOM)
    assert answer.message is None
    assert Known("$o", "pruned", None, ADA, TIME) in answer.learned
    rubbish: list[object] = ["x", 5, {}, []]
    for one in rubbish:
        assert restored("$o", one, [one, None], MESSAGE, ROOM).message is None


MESSAGES, EDITS, REDACTING = ["$a", "$b", "$c"], ["$e1", "$e2", "$e3", "$e4"], ["$r1", "$r2", "$r3"]
SENDERS = st.sampled_from([ADA, BO])
BODIES = st.sampled_from(["one", "two", "three", " "])
TIMES = st.integers(TIME, TIME + 3)


@st.composite
def histories(draw: st.DrawFn) -> list[Raw]:
    """All that a homeserver has of a room: some of it served as it was sent, some pruned, some both."""
    everything = [*MESSAGES, *EDITS, *REDACTING, "$x", "$i", "$nobody"]
    head = {"sender": SENDERS, "origin_server_ts": TIMES}
    events = [said(name, draw(BODIES), **{key: draw(value) for key, value in head.items()}) for name in MESSAGES]
    for name in EDITS[: draw(st.integers(0, 4))]:
        target = draw(st.sampled_from(MESSAGES) | st.sampled_from(everything))
        events.append(edit(name, target, draw(BODIES), **{key: draw(value) for key, value in head.items()}))
    for name in REDACTING[: draw(st.integers(0, 3))]:
        aims = draw(st.sampled_from([*MESSAGES, *EDITS]) | st.sampled_from(everything))
        events.append(redaction(name, aims))
    events += [REACTION, IMAGE]
    redacted = {entry["content"]["redacts"] for entry in events if entry["type"] == "m.room.redaction"}
    for entry in list(events):
        served = draw(st.sampled_from(["sent", "pruned", "both"])) if entry["event_id"] in redacted else "sent"
        if entry["type"] == "m.room.redaction" or served == "sent":
            continue
        events.append(pruned(entry))
        if served == "pruned":
            events.remove(entry)
    return events


def expected(events: Sequence[Raw]) -> dict[str, str]:
    """What the room says, by the rules as they are written down; events of one id differ in being pruned alone."""
    redacted = {entry["redacts"] for entry in events if "redacts" in entry}
    redacted |= {entry["event_id"] for entry in events if entry["content"] == {}}
    left = {entry["event_id"]: entry for entry in events if entry["event_id"] not in redacted}
    bodies = {}
    for name, entry in left.items():
        if name not in [*MESSAGES, "$i"]:
            continue
        edits = [
            one
            for one in left.values()
            if "m.new_content" in one["content"]
            and one["content"]["m.relates_to"]["event_id"] == name
            and one["sender"] == entry["sender"]
        ]
        edits.sort(key=lambda one: (one["origin_server_ts"], one["event_id"]))
        content = edits[-1]["content"]["m.new_content"] if edits else entry["content"]
        if content["body"].strip() and content["msgtype"] == "m.text":
            bodies[name] = content["body"]
    return bodies


@given(st.data())
def test_the_end_state_is_that_of_the_set_in_whatever_batches_it_comes(data: st.DataObject) -> None:
    events = data.draw(histories())
    order = data.draw(st.permutations(events + data.draw(st.lists(st.sampled_from(events), max_size=5))))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(order)), max_size=6)))
    room = RoomInMemory(events)
    for start, end in zip([0, *cuts], [*cuts, len(order)], strict=True):
        room.feed(order[start:end])
        gone = {entry["redacts"] for entry in order[:end] if "redacts" in entry}
        gone |= {entry["event_id"] for entry in order[:end] if entry["content"] == {}}
        assert not gone & set(room.texts), "redacted, and still there"
    assert room.bodies == expected(events)
    again = room.feed(order)
    assert not any((again.texts, again.gone, again.restore, again.rebuild, again.learned))


@given(histories())
def test_one_batch_gives_what_one_by_one_gives(events: list[Raw]) -> None:
    assert fed(events).bodies == fed(*([one] for one in events), upstream=events).bodies == expected(events)
    whole = RoomInMemory(events)
    whole.feed(events, is_whole=True)
    assert whole.bodies == expected(events)
