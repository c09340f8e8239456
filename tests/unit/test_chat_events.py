"""What an entry of a room's history is, whatever anybody sends."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from huginn.chat.events import Edit, Message, Other, Parsed, Pruned, Redaction, Textless, parse
from huginn.chat.homeserver import RawEvent
from tests.support.chat import ADA, BO, ROOM, TIME, edit, event, redaction, said


def one(entry: object) -> Parsed:
    (parsed,) = parse(entry, ROOM)
    return parsed


def text(content: object, **fields: object) -> str | None:
    parsed = one(event("$1", content, **fields))
    return parsed.body if isinstance(parsed, Message) else None


def quoted(body: str, *, is_reply: bool = True) -> str | None:
    relation = {"m.in_reply_to": {"event_id": "$0"}} if is_reply else {}
    return text({"msgtype": "m.text", "body": body, "m.relates_to": relation})


@pytest.mark.parametrize("kind", ["m.text", "m.notice", "m.emote"])
def test_plain_bodies_are_text(kind: str) -> None:
    content = {"msgtype": kind, "body": "* hello", "formatted_body": "<b>other</b>", "format": "org.matrix.custom.html"}
    assert one(event("$1", content)) == Message("$1", ADA, TIME, "* hello")


@pytest.mark.parametrize("body", [None, 42, ["a"], {"a": 1}, True, "", " \n\t", "\u200b\u2060\ufeff ", "\0", "\ufe0f"])
def test_a_body_that_holds_nothing_to_be_seen_is_no_text(body: object) -> None:
    assert one(said("$1", body)) == Textless("$1", ADA, TIME, "no text")


def test_a_formatted_body_alone_is_no_text() -> None:
    content = {"msgtype": "m.text", "format": "org.matrix.custom.html", "formatted_body": "<mx-reply>x</mx-reply>hello"}
    assert isinstance(one(event("$1", content)), Textless)


@pytest.mark.parametrize(
    ("body", "stored"),
    [
        ("half \ud83d okapi", "half \ufffd okapi"),
        ("\ude00", "\ufffd"),
        ("nul \0 dugong", "nul  dugong"),
        ("\ud83d\ude00 whole", "\U0001f600 whole"),
        ("\x1b[31m\u202ered", "\x1b[31m\u202ered"),
    ],
)
def test_bodies_are_repaired_where_they_could_not_be_stored(body: str, stored: str) -> None:
    found = text({"msgtype": "m.text", "body": body})
    assert found == stored
    found.encode()


@pytest.mark.parametrize("kind", ["m.image", "m.file", "m.audio", "m.video"])
def test_a_caption_is_a_body_beside_another_file_name(kind: str) -> None:
    assert text({"msgtype": kind, "body": "by the gate", "filename": "a.jpg", "url": "mxc://x/y"}) == "by the gate"
    for name in ("by the gate", " by the gate\n", None, 7, "", " ", ["a.jpg"]):
        content = {"msgtype": kind, "body": "by the gate", "filename": name}
        assert one(event("$1", content)) == Textless("$1", ADA, TIME, "media without caption")
    assert isinstance(one(event("$1", {"msgtype": kind, "body": "a.jpg"})), Textless)


@pytest.mark.parametrize("kind", ["m.location", "m.server_notice", "org.example.custom", None, 4, ["m.text"], {}])
def test_other_kinds_of_messages_hold_no_text(kind: object) -> None:
    content = {"msgtype": kind, "body": "tapir", "filename": "x", "geo_uri": "geo:1,2"}
    assert one(event("$1", content)) == Textless("$1", ADA, TIME, "unknown kind of message")


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("m.room.encrypted", "encrypted"),
        ("m.reaction", "reaction"),
        ("m.sticker", "sticker"),
        ("m.poll.start", "no message"),
        ("m.call.invite", "no message"),
        (None, "no type"),
        (["m.room.message"], "no type"),
    ],
)
def test_other_events_are_told_apart_and_hold_no_text(kind: object, reason: str) -> None:
    content = {"body": "potoroo", "msgtype": "m.text", "ciphertext": "AAAA"}
    assert one(event("$1", content, type=kind)) == Other("$1", ADA, TIME, reason)


def test_a_state_event_is_no_message_whatever_its_type() -> None:
    assert one(said("$1", "durian", state_key="")) == Other("$1", ADA, TIME, "state event")
    assert one(edit("$2", "$1", "durian", state_key="x")) == Other("$2", ADA, TIME, "state event")
    assert isinstance(one(said("$1", "said", state_key=None)), Message)


@pytest.mark.parametrize("entry", [None, "text", 5, [], [said("$1", "x")], True, 1.5])
def test_what_is_no_object_leaves_no_trace(entry: object) -> None:
    assert one(entry) == Other(None, "", 0, "no event")


@pytest.mark.parametrize(
    "event_id", [None, 5, "", ["$1"], {"$1": 1}, "$a\ud800", "$a\0b", "$a\nb", "$" + "x" * 300, "\u202e$1"]
)
def test_what_has_no_id_that_can_be_stored_leaves_no_trace(event_id: object) -> None:
    assert one(said("$1", "hello") | {"event_id": event_id}) == Other(None, "", 0, "no usable id")


@pytest.mark.parametrize("room", ["!other:example.org", None, 5, [ROOM], ""])
def test_what_names_another_room_leaves_no_trace(room: object) -> None:
    for entry in (said("$1", "plum"), edit("$1", "$2", "plum"), redaction("$1", "$2"), event("$1", {})):
        assert one(entry | {"room_id": room}) == Other(None, "", 0, "other room")
    entry = said("$1", "no room is named")
    del entry["room_id"]
    assert isinstance(one(entry), Message)


@pytest.mark.parametrize(
    "time", [-5, "1709283600000", None, 1.5, 1709283600000.0, True, 10**18, 2**70, [], float("nan")]
)
def test_a_message_without_a_usable_time_is_skipped(time: object) -> None:
    assert one(said("$1", "wombat", origin_server_ts=time)) == Other("$1", ADA, 0, "no usable time")
    assert one(edit("$1", "$0", "wombat", origin_server_ts=time)) == Other("$1", ADA, 0, "no usable time")


@pytest.mark.parametrize("time", [0, 4_102_444_800_000, 253_402_300_799_999])
def test_a_clock_that_is_only_wrong_is_believed(time: int) -> None:
    assert one(said("$1", "echidna", origin_server_ts=time)) == Message("$1", ADA, time, "echidna")


@pytest.mark.parametrize("sender", [None, 5, "", "ada", ["@ada:x"], "@a\ud800:x", "@" + "a" * 300, "@a\nb:x"])
def test_a_message_without_a_usable_sender_is_skipped(sender: object) -> None:
    assert one(said("$1", "galah", sender=sender)) == Other("$1", "", TIME, "no usable sender")


@pytest.mark.parametrize("content", [None, "text", 5, [], ["a"], True])
def test_a_content_that_is_no_object_is_skipped(content: object) -> None:
    assert one(event("$1", content)) == Other("$1", ADA, TIME, "no content")


@pytest.mark.parametrize(
    "fields",
    [
        {"content": {}},
        {"unsigned": {"redacted_because": {"type": "m.room.redaction"}}},
        {"unsigned": {"redacted_because": "rubbish"}},
        {"unsigned": {"redacted_by": "$r"}},
        {"content": {}, "sender": None, "origin_server_ts": "x"},
        {"content": {}, "type": "m.room.encrypted"},
    ],
)
def test_what_is_redacted_holds_no_text_whatever_it_says(fields: dict[str, Any]) -> None:
    for entry in (said("$1", "secret"), edit("$1", "$0", "secret")):
        parsed = one(entry | fields)
        assert isinstance(parsed, Pruned)
        assert parsed.id == "$1"


@pytest.mark.parametrize(
    ("top", "inner", "targets"),
    [
        ("$a", None, {"$a"}),
        (None, "$a", {"$a"}),
        ("$a", "$a", {"$a"}),
        ("$a", "$b", {"$a", "$b"}),
        (5, "$a", {"$a"}),
        ({"x": 1}, ["$a", 5, "$b"], {"$a", "$b"}),
        ("", "$a", {"$a"}),
    ],
)
def test_a_redaction_aims_at_all_that_it_names(top: object, inner: object, targets: set[str]) -> None:
    entry = event("$r", {"redacts": inner}, type="m.room.redaction", redacts=top)
    assert one(entry) == Redaction("$r", ADA, TIME, frozenset(targets))
    assert isinstance(one(entry | {"unsigned": {"redacted_because": {}}}), Redaction), "it is redacted itself"
    assert one(entry | {"sender": 5, "origin_server_ts": None}) == Redaction("$r", "", 0, frozenset(targets))
    assert isinstance(one(entry | {"state_key": ""}), Redaction)


def test_a_redaction_needs_no_content() -> None:
    contents: list[object] = [{}, None, "rubbish"]
    for content in contents:
        entry = event("$r", content, type="m.room.redaction", redacts="$a")
        assert one(entry) == Redaction("$r", ADA, TIME, frozenset({"$a"}))
    assert one(event("$r", {}, type="m.room.redaction")) == Redaction("$r", ADA, TIME, frozenset()), "aims at what?"
    assert one(event("$r", {"reason": "x"}, type="m.room.redaction")) == Other("$r", ADA, TIME, "no message")


def test_an_edit_says_what_its_new_content_says_and_nothing_else() -> None:
    assert one(edit("$e", "$o", "rubber")) == Edit("$e", ADA, TIME, "$o", "rubber")
    caption = {"msgtype": "m.image", "body": "new caption", "filename": "a.jpg"}
    assert one(edit("$e", "$o", caption)) == Edit("$e", ADA, TIME, "$o", "new caption")
    assert one(edit("$e", "$o", {"body": "of the same kind"})) == Edit("$e", ADA, TIME, "$o", "of the same kind")


@pytest.mark.parametrize("new", [{}, {"body": 5}, {"msgtype": "m.text"}, {"msgtype": 5, "body": "x"}, " \u200b", ""])
def test_an_edit_whose_new_content_holds_no_text_takes_the_text_away(new: object) -> None:
    assert one(edit("$e", "$o", new)) == Edit("$e", ADA, TIME, "$o", None)


@pytest.mark.parametrize("new", [None, "text", 5, [], [{}]])
def test_an_edit_without_new_content_does_not_count(new: object) -> None:
    entry = edit("$e", "$o", {})
    entry["content"]["m.new_content"] = new
    assert one(entry) == Other("$e", ADA, TIME, "edit without new content")


@pytest.mark.parametrize("target", [None, 5, "", ["$o"], "$a\ud800"])
def test_an_edit_of_nothing_is_no_message_with_a_star(target: object) -> None:
    assert one(edit("$e", target, "x")) == Other("$e", ADA, TIME, "edit of nothing")


@pytest.mark.parametrize(
    "relation", ["oops", None, 5, {"rel_type": "m.replace"}, {"rel_type": ["m.replace"], "event_id": "$o"}]
)
def test_a_broken_relation_leaves_a_plain_message(relation: object) -> None:
    assert text({"msgtype": "m.text", "body": "dunnart", "m.relates_to": relation}) == "dunnart"


def test_messages_in_threads_and_with_mentions_are_messages() -> None:
    relation = {
        "rel_type": "m.thread",
        "event_id": "$root",
        "is_falling_back": True,
        "m.in_reply_to": {"event_id": "$0"},
    }
    content = {"msgtype": "m.text", "body": "in a thread", "m.relates_to": relation, "m.mentions": {"user_ids": [BO]}}
    assert text(content) == "in a thread"


def bundled(inner: object) -> RawEvent:
    return said("$o", "mangosteen", unsigned={"m.relations": {"m.replace": inner}})


def test_the_edit_that_is_bundled_in_a_message_is_read_as_well() -> None:
    message, found = parse(bundled(edit("$e", "$o", "langsat")), ROOM)
    assert message == Message("$o", ADA, TIME, "mangosteen")
    assert found == Edit("$e", ADA, TIME, "$o", "langsat", is_bundled=True)


@pytest.mark.parametrize(
    "inner",
    [
        edit("$e", "$other", "x"),
        edit("$e", "$o", "x", room_id="!other:x"),
        said("$e", "x"),
        event("$e", {}),
        None,
        "x",
        {"event_id": "$e"},
        edit("$e", "$o", None),
        edit("$e", "$o", "x", state_key=""),
        redaction("$e", "$o"),
        [1],
        5,
    ],
)
def test_what_else_is_bundled_counts_for_nothing(inner: object) -> None:
    assert parse(bundled(inner), ROOM) == [Message("$o", ADA, TIME, "mangosteen")]


@pytest.mark.parametrize(
    "body",
    [
        "> <@bo:example.org> hidden\n\nanswer",
        "> <@bo:example.org> hidden\r\n\r\nanswer",
        "> <@bo:example.org> hidden\n> hidden too\n>\n>  \n> hidden\n\nanswer",
        "> <@bo:example.org> > <@ada:example.org> hidden\n> > hidden\n> \n> hidden\n\nanswer",
        "> > <@ada:example.org> hidden\n> hidden\n\nanswer",
        ">> <@ada:example.org> hidden\n\nanswer",
        "> * <@bo:example.org> hidden\n\nanswer",
        "><@bo:example.org> hidden\nanswer",
        " \n\n > <@bo:example.org> hidden\n\nanswer",
        "> <@bo:example.org>\n> hidden\n\n\n\nanswer",
        "> <@bo:example.org> hidden\n\n> <@ada:example.org> hidden\n\nanswer",
        "> <@bo:example.org> first\u2028hidden\x0bhidden\rhidden\n\nanswer",
        "> <@bo:example.org> first\nhidden, as only the first line is marked\nhidden\n\nanswer",
        "> <@!odd name:example.org> hidden\n\nanswer",
    ],
)
def test_the_quote_that_a_reply_begins_with_is_left_out_in_any_shape(body: str) -> None:
    for is_reply in (True, False):  # the relation may be lost, and the quote tells by itself
        assert quoted(body, is_reply=is_reply) == "answer"
    content = {"msgtype": "m.text", "body": body}
    assert one(edit("$e", "$o", content)) == Edit("$e", ADA, TIME, "$o", "answer")


def test_a_reply_loses_what_it_quotes_at_its_beginning_and_keeps_the_rest() -> None:
    assert quoted("> hidden\n> hidden\nanswer\n> said by myself\nend") == "answer\n> said by myself\nend"
    assert quoted("> hidden\n\n> hidden\nfirst\n\nsecond") == "first\n\nsecond"
    assert quoted("answer\n\n    code") == "answer\n\n    code"
    reply = {"m.in_reply_to": {"event_id": "$0"}}
    new = {"msgtype": "m.text", "body": "> hidden\n\nanswer", "m.relates_to": reply}
    assert one(edit("$e", "$o", new)) == Edit("$e", ADA, TIME, "$o", "answer")
    outer = edit("$e", "$o", "> hidden\n\nanswer")
    outer["content"]["m.relates_to"] |= reply
    assert one(outer) == Edit("$e", ADA, TIME, "$o", "answer")


def test_a_quote_that_names_who_said_it_is_left_out_wherever_it_stands() -> None:
    assert quoted("see:\n> <@bo:x.org> hidden\n> hidden\nso", is_reply=False) == "see:\nso"
    assert quoted("> mine\n> <@bo:x.org> hidden\nso", is_reply=False) == "> mine\nso"


def test_other_text_with_arrows_stays_as_it_is() -> None:
    for body in ("> a proverb\n\nsays it", "a > b\n-> c", "    > indented", "1 < 2 > 0", ">"):
        assert quoted(body, is_reply=False) == body


def test_a_reply_of_quotes_alone_holds_no_text() -> None:
    for body in ("> <@bo:x.org> hidden", "> <@bo:x.org> hidden\n\n", "> hidden\n> hidden"):
        assert quoted(body) is None


def test_a_caption_loses_its_quote_as_well() -> None:
    content = {"msgtype": "m.image", "body": "> <@bo:x.org> hidden\n\nthe gate", "filename": "a.jpg"}
    assert text(content) == "the gate"


TEXT = st.text("aA0$@!#:<>* \n\0\ud800\udc00\u200b")
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXT
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=8)
KEYS = ["type", "event_id", "room_id", "sender", "origin_server_ts", "content", "state_key", "redacts", "unsigned"]
CONTENT_KEYS = ["msgtype", "body", "filename", "m.relates_to", "m.new_content", "redacts"]


@given(
    st.sampled_from([said("$1", "x"), edit("$1", "$0", "x"), redaction("$1", "$0"), bundled(edit("$e", "$o", "x"))]),
    st.dictionaries(st.sampled_from(KEYS), JSON, max_size=3),
    st.dictionaries(
        st.sampled_from(CONTENT_KEYS), JSON | st.dictionaries(st.sampled_from(CONTENT_KEYS), JSON), max_size=3
    ),
)
def test_nothing_that_anybody_sends_raises(entry: Any, fields: dict[str, object], inner: dict[str, object]) -> None:
    for sent in (
        fields,
        entry | fields,
        {**entry, "content": {**entry["content"], **inner}},
        {**entry, "unsigned": inner},
    ):
        for parsed in parse(sent, ROOM):
            if isinstance(parsed, Message | Edit):
                (parsed.body or "").encode()
            assert isinstance(parsed.time, int)
            assert parsed.time >= 0
            (parsed.sender + (parsed.id or "")).encode()


@given(JSON)
def test_no_entry_raises(entry: object) -> None:
    assert len(parse(entry, ROOM)) == 1


def test_deep_nesting_and_many_marks_end_soon() -> None:
    deep: object = "x"
    for _ in range(100_000):
        deep = [deep]
    assert one(said("$1", deep)) == Textless("$1", ADA, TIME, "no text")
    assert len(parse(event("$1", {"msgtype": "m.text", "body": "x", "m.relates_to": deep}), ROOM)) == 1
    for body in (
        ">" * 60_000,
        "> " * 30_000,
        "\n>" * 30_000,
        "> <@a:x>\n\n" * 6_000,
        ">\n\n" * 20_000,
        "> <@a\nb\n" * 7_000,
    ):
        quoted(body)
        quoted(body, is_reply=False)
