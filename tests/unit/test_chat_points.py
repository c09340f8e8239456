"""The points of windows: what is stored, what is embedded, and who they are."""

from __future__ import annotations

from huginn import rules
from huginn.chat.points import points_of
from huginn.chat.window import Line, windows
from huginn.ids import chat_id, digest, forge_ids
from huginn.index.payload import ChatPayload
from huginn.index.port import StoredPoint
from huginn.plan import plan
from tests.support.chat import ADA, BO, ROOM, TIME, scoped_room
from tests.support.clean import clean

LINES = [Line("$a", ADA, TIME, clean("hello")), Line("$b", BO, TIME + 1250, clean("two\nlines"))]


def test_the_payload_of_a_window() -> None:
    (point,) = points_of(scoped_room(ROOM, "#garden:example.org"), windows(LINES))
    assert isinstance(point.payload, ChatPayload)
    text = f"2024-03-01T09:00:00Z {ADA}\nhello\n2024-03-01T09:00:01.250Z {BO}\ntwo\nlines"
    assert (point.id, point.place, point.embedded) == (chat_id(ROOM, "$a", 0), "$a", "hello\ntwo\nlines")
    assert point.payload.model_dump(mode="json") == {
        "corpus": "chat",
        "source": ROOM,
        "alias": "#garden:example.org",
        "event_id": "$a",
        "last_event_id": "$b",
        "part": 0,
        "time": "2024-03-01T09:00:00Z",
        "end_time": "2024-03-01T09:00:01.250Z",
        "messages": [
            {"event_id": "$a", "sender": ADA, "time": "2024-03-01T09:00:00Z", "body": "hello"},
            {"event_id": "$b", "sender": BO, "time": "2024-03-01T09:00:01.250Z", "body": "two\nlines"},
        ],
        "text": text,
        "text_sha256": digest(text),
        "embedded_sha256": digest("hello\ntwo\nlines"),
    }


def test_a_payload_is_read_back_as_it_was_written() -> None:
    for time in (0, 1, 999, TIME + 7, 4_102_444_800_000, 253_402_300_799_999):
        (point,) = points_of(scoped_room(), windows([Line("$a", ADA, time, clean("x"))]))
        assert isinstance(point.payload, ChatPayload)
        assert ChatPayload.model_validate(point.payload.model_dump(mode="json")) == point.payload
        assert round(point.payload.time.timestamp() * 1000) == time


def test_the_parts_of_a_long_message_are_points_of_their_own() -> None:
    points = points_of(scoped_room(), windows([Line("$a", ADA, TIME, clean("word " * 1000 + "end"))]))
    assert [point.id for point in points] == [chat_id(ROOM, "$a", part) for part in range(len(points))]
    assert len(points) > 3
    bodies = [point.payload.model_dump(mode="json")["messages"][0]["body"] for point in points]
    assert "".join(bodies) == "word " * 1000 + "end"
    assert [digest(point.embedded) for point in points] == [point.payload.embedded_sha256 for point in points]


def test_ids_tell_rooms_events_and_parts_apart() -> None:
    made = [chat_id(room, event, part) for room in ("!a", "!b") for event in ("$a", "$b") for part in (0, 1)]
    assert len({*made, *forge_ids("!a", "$a", ["0"])}) == 9


def test_another_alias_changes_payloads_alone() -> None:
    before = [
        StoredPoint(point.id, point.payload.model_dump(mode="json"), True)
        for point in points_of(scoped_room(), windows(LINES))
    ]
    difference = plan(points_of(scoped_room(ROOM, "#new:example.org"), windows(LINES)), before)
    assert (difference.write, len(difference.update), difference.remove) == ((), 1, frozenset())


def test_the_rules_that_shape_windows_are_a_part_of_the_label() -> None:
    assert {"scope", "fold", "window"} <= set(rules.versions())
