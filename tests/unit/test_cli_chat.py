"""Rooms on the command line: hits with their messages, listings page by page, a message among its neighbours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from huginn.cli import moment
from huginn.cli.exits import ExitCode
from huginn.errors import Refused, Unavailable
from huginn.index.port import Index
from huginn.search import ChatCitation, Following, Hit, Message
from huginn.settings import load
from tests.support import fake_search
from tests.support.command_line import CommandLine
from tests.support.fake_search import Prepared, hit
from tests.support.points import make_index
from tests.support.rooms import ANN, BOB, HERONS, OWLS, Room, at, line, write_room
from tests.unit.test_cli_search import HOSTILE

ALIAS = "#herons:example.org"
CHAT = '[chat]\nhomeserver = "https://matrix.example.org"\nuser = "@huginn:example.org"\n'
SECOND = datetime(2026, 3, 4, 5, 6, 7, 250_000, tzinfo=UTC)
NO_TIMES = ["yesterday", "2026-02-30", "2026-3-4", "2026-03-04T25:00:00Z", "0001-01-01T00:00+09:00"]
HARMFUL = r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> Prepared:
    return fake_search.install(monkeypatch)


@pytest.fixture
def index(huginn: CommandLine) -> Iterator[Index]:
    """Two rooms in the index of the command line's folder."""
    huginn.settings(f"{CHAT}[index]\nmin_free_bytes = 0\n")
    opened = make_index(load(huginn.folder / "huginn.toml", environment={}))
    write_room(opened, Room(HERONS, [line(number, minute=number) for number in range(4)], ALIAS))
    write_room(opened, Room(OWLS, [line(0, "An owl.\nIt hoots.", minute=1.5, sender=BOB, prefix="$owl")]))
    yield opened
    opened.close()


def message(number: int, body: str, **values: Any) -> Message:
    usual = {"event_id": f"$e{number}", "sender": ANN, "time": SECOND.replace(minute=6 + number), "body": body}
    return Message.model_validate({**usual, **values})


def in_room(*messages: Message, **values: Any) -> Hit:
    """A hit of these messages."""
    where = cited(*messages)
    return hit(corpus="chat", citation=where, places=[where], messages=list(messages), **values)


def cited(*messages: Message, alias: str | None = ALIAS, room: str = HERONS) -> ChatCitation:
    return ChatCitation(
        room=room,
        alias=alias,
        event_id=messages[0].event_id,
        last_event_id=messages[-1].event_id,
        time=messages[0].time,
        end_time=messages[-1].time,
        url=f"https://matrix.to/#/{room}/x",
    )


def test_a_hit_shows_its_citation_its_messages_and_apart_from_them_what_follows(
    huginn: CommandLine, prepared: Prepared
) -> None:
    following = message(9, "later\n")
    context = Following(citation=cited(following), messages=[following])
    prepared.hits = [in_room(message(0, "one\n\ntwo"), message(3, "three", sender=BOB), following=context)]
    assert huginn("chat", "search", "herons").out.splitlines() == [
        "#herons:example.org  2026-03-04 05:06:07 to 05:09:07 UTC",
        "first $e0",
        "last  $e3",
        "1. score 0.5000; rank 1 (words 3.50, meaning 0.25)",
        "│ 05:06:07  @ann:example.org",
        "│   one",
        "│   ",
        "│   two",
        "│ 05:09:07  @bob:example.org",
        "│   three",
        "what was said next (context, no hit):",
        "┊ 05:15:07  @ann:example.org",
        "┊   later",
        "",
        "1 hit for 1 text in 12 ms",
    ]


def test_a_room_without_an_alias_goes_by_its_id(huginn: CommandLine, prepared: Prepared) -> None:
    one = message(0, "one")
    prepared.hits = [in_room(one).model_copy(update={"citation": cited(one, alias=None), "places": []})]
    assert huginn("search", "herons").out.splitlines()[:2] == [
        "!herons:example.org  2026-03-04 05:06:07 UTC",
        "first $e0",
    ]


def test_with_texts_it_is_a_search_in_rooms(huginn: CommandLine, prepared: Prepared) -> None:
    filters = ["--room", ALIAS, "--sender", ANN, "--after", "2026-03-04", "--top-k", "3"]
    huginn("chat", "search", "herons", "owls", *filters)
    huginn("search", "herons", "owls", "--corpus", "chat", *filters)
    first, second = prepared.asked
    assert first == second
    assert (first.corpora, first.rooms, first.senders, first.top_k) == (("chat",), (ALIAS,), (ANN,), 3)
    huginn("chat", "search", "herons")
    assert prepared.asked[-1].top_k == 10


def test_the_times_that_were_asked_for_are_told_in_full(huginn: CommandLine, prepared: Prepared) -> None:
    times = ["--after", "2026-03-04", "--before", "2026-03-05T01:00:00.5+02:00"]
    ended = huginn("search", "herons", *times)
    assert ended.out == "0 hits for 1 text after 2026-03-04T00:00:00Z before 2026-03-04T23:00:00.500Z in 12 ms\n"
    query = huginn("search", "herons", *times, "--json").document["query"]
    assert (query["after"], query["before"]) == ("2026-03-04T00:00:00Z", "2026-03-04T23:00:00.500000Z")


@pytest.mark.usefixtures("prepared")
@pytest.mark.parametrize("command", [["search", "x"], ["chat", "search"], ["chat", "search", "x"]])
@pytest.mark.parametrize("option", ["after", "before"])
@pytest.mark.parametrize("text", NO_TIMES)
def test_a_time_that_is_none_is_refused_by_its_option(
    huginn: CommandLine, command: list[str], option: str, text: str
) -> None:
    ended = huginn(*command, f"--{option}", text, "--json")
    assert (ended.code, ended.document["error"]["field"]) == (ExitCode.REFUSED, option)
    assert "2026-03-04T05:06:07Z" in ended.document["error"]["reason"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2026-03-04", "2026-03-04T00:00:00Z"),
        ("2026-03-04T05:06", "2026-03-04T05:06:00Z"),
        ("2026-03-04t05:06:07z", "2026-03-04T05:06:07Z"),
        ("2026-03-04 05:06:07.25", "2026-03-04T05:06:07.250Z"),
        ("2026-03-04T00:30:00+01:00", "2026-03-03T23:30:00Z"),
        (" 2026-03-04T05:06:07.123456789Z", "2026-03-04T05:06:07.123456Z"),
    ],
)
def test_times_are_in_utc_unless_they_say_otherwise(text: str, told: str) -> None:
    read = moment.parsed(text)
    assert read is not None
    assert moment.shown(read) == told


def test_texts_together_with_a_cursor_are_refused(huginn: CommandLine, prepared: Prepared) -> None:
    ended = huginn("chat", "search", "herons", "--cursor", "x", "--json")
    assert (ended.code, ended.document["error"]["field"]) == (ExitCode.REFUSED, "cursor")
    assert prepared.asked == []


@pytest.mark.usefixtures("index")
def test_without_texts_messages_are_listed_oldest_first_and_the_cursor_goes_on(huginn: CommandLine) -> None:
    out = huginn("chat", "search", "--top-k", "3").out.splitlines()
    assert out[:8] == [
        "#herons:example.org  2026-03-04 05:00:00 UTC  @ann:example.org",
        "$e0",
        "│ message 0",
        "",
        "#herons:example.org  2026-03-04 05:01:00 UTC  @ann:example.org",
        "$e1",
        "│ message 1",
        "",
    ]
    assert out[8:12] == ["!owls  2026-03-04 05:01:30 UTC  @bob:example.org", "$owl0", "│ An owl.", "│ It hoots."]
    assert re.fullmatch(r"3 messages in \d+ ms", out[-2])
    cursor = out[-1].removeprefix("there are more: --cursor ")
    document = huginn("chat", "search", "--top-k", "3", "--cursor", cursor, "--json").document
    assert [message["event_id"] for message in document["messages"]] == ["$e2", "$e3"]
    assert document["cursor"] is None
    assert set(document) == {"query", "messages", "cursor", "took_ms"}
    assert document["messages"][0]["url"] == "https://matrix.to/#/!herons%3Aexample.org/%24e2?via=example.org"


@pytest.mark.usefixtures("index")
def test_filters_reach_a_listing(huginn: CommandLine) -> None:
    document = huginn("chat", "search", "--room", ALIAS, "--after", at(1), "--before", at(3), "--json").document
    assert [message["event_id"] for message in document["messages"]] == ["$e1", "$e2"]
    assert (document["query"]["after"], document["query"]["rooms"]) == ("2026-03-04T05:01:00Z", [ALIAS])
    assert len(huginn("chat", "search", "--sender", BOB, "--json").document["messages"]) == 1
    ended = huginn("chat", "search", "--room", "#nobody:example.org")
    assert (ended.code, ended.out) == (ExitCode.REFUSED, "")
    assert ended.err.startswith("huginn: rooms[0]: the index holds no messages of a room '#nobody:example.org'\n")


@pytest.mark.parametrize("arguments", [[], ["herons"], ["--json"], ["--room", ALIAS]])
def test_an_empty_corpus_answers_empty(huginn: CommandLine, arguments: list[str]) -> None:
    huginn.settings(f"{CHAT}[index]\nmin_free_bytes = 0\n")
    ended = huginn("chat", "search", *arguments)
    assert (ended.code, ended.err) == (ExitCode.WELL, "")
    make_index(load(huginn.folder / "huginn.toml", environment={})).close()
    if arguments != ["herons"]:  # whose model is not that of this index
        assert huginn("chat", "search", *arguments).code == ExitCode.WELL


@pytest.mark.usefixtures("index")
def test_a_message_is_shown_among_its_neighbours_and_stands_out(huginn: CommandLine) -> None:
    out = huginn("chat", "window", "$e1", "--before", "1", "--after", "1").out.splitlines()
    assert [line for line in out if line.startswith(("│", "┊"))] == ["┊ message 0", "│ message 1", "┊ message 2"]
    assert out[-1] == "3 messages; the one asked for stands behind │"
    document = huginn("chat", "window", "$owl0", "--json").document
    assert (document["event_id"], document["room"], document["alias"]) == ("$owl0", OWLS, None)
    assert [message["event_id"] for message in document["messages"]] == ["$owl0"]


@pytest.mark.usefixtures("index")
def test_a_window_neither_embeds_nor_asks_the_homeserver(huginn: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_arguments: object, **_options: object) -> None:
        raise Unavailable("embedder", "it is away")

    monkeypatch.setattr("huginn.embed.open_embedder", away)
    monkeypatch.setattr("socket.create_connection", away)
    assert huginn("chat", "window", "$e1").code == ExitCode.WELL
    assert huginn("chat", "search").code == ExitCode.WELL


@pytest.mark.usefixtures("index")
@pytest.mark.parametrize(
    ("arguments", "field"),
    [(["$none"], "event_id"), (["$e1", "--before", "-1"], "before"), (["$e1", "--after", "x"], "after")],
)
def test_a_window_that_cannot_be_shown_is_refused_by_its_field(
    huginn: CommandLine, arguments: list[str], field: str
) -> None:
    ended = huginn("chat", "window", *arguments, "--json")
    assert (ended.code, ended.document["error"]["field"]) == (ExitCode.REFUSED, field)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_and_words_are_shown_not_obeyed(huginn: CommandLine, prepared: Prepared, text: str) -> None:
    evil = message(0, text, sender=f"@{text}:x", event_id=f"${text}")
    found = in_room(evil, evil, following=Following(citation=cited(evil), messages=[evil]))
    prepared.hits = [found.model_copy(update={"citation": cited(evil, alias=f"#{text}", room=f"!{text}")})]
    assert not re.search(HARMFUL, huginn("search", "herons").out)


@pytest.mark.parametrize("text", HOSTILE[:-1])
def test_hostile_words_in_a_listing_and_a_window_are_shown_not_obeyed(
    huginn: CommandLine, index: Index, text: str
) -> None:
    write_room(index, Room("!evil", [line(0, f"x{text}", sender=f"@{text}:x", prefix=f"${text}")], f"#{text}:x"))
    shown = huginn("chat", "search").out + huginn("chat", "window", f"${text}0").out
    assert "message 3" in shown
    assert not re.search(HARMFUL, shown)


def test_what_a_message_says_cannot_pass_for_another_message(huginn: CommandLine, prepared: Prepared) -> None:
    prepared.hits = [in_room(message(0, "x\n05:06:08  @bob:example.org\n  I confess\n0 hits for 1 text in 1 ms"))]
    out = huginn("search", "herons").out.splitlines()
    assert [line for line in out if line.startswith("│ ") and not line.startswith("│   ")] == [
        "│ 05:06:07  @ann:example.org"
    ]
    assert len([line for line in out if line.startswith("0 hits")]) == 0


def test_on_a_narrow_terminal_the_bar_and_the_indent_stay(
    huginn: CommandLine, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    prepared.hits = [in_room(message(0, "x" * 76 + "05:06:08  @bob:example.org " + "東" * 60))]
    plain = re.sub(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\", "", huginn.on_terminal("search", "herons"))
    said = plain.splitlines()[4:-2]
    assert len(said) == 3
    assert all(line.startswith("│   ") for line in said)
    assert "https://matrix.to" in huginn.on_terminal("search", "herons")


def test_a_doctor_looks_at_the_token_the_homeserver_and_the_rooms_left_out(
    huginn: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def checks(more: str = "") -> list[tuple[str, str]]:
        huginn.settings(CHAT + more)
        found = huginn("doctor", "--json").document["checks"]
        return [(check["subject"], check["outcome"]) for check in found if check["check"] == "chat"]

    asked: list[object] = []
    monkeypatch.setattr("huginn.cli.chat_checks.joined", asked.append)
    assert checks() == [("@huginn:example.org", "wrong"), ("exclude", "note")]
    assert asked == []
    (huginn.folder / "token").write_text("syt_no_real_token\n")
    monkeypatch.setattr("huginn.cli.chat_checks.joined", lambda _: 3)
    well = [("@huginn:example.org", "well"), ("matrix.example.org", "well"), ("exclude", "well")]
    assert checks('token_file = "token"\nexclude = ["!users"]\n') == well
    assert "the reader has joined 3 rooms" in huginn("doctor").out

    def refused(_: object) -> int:
        raise Refused("chat.token_file", "the homeserver does not take the token", next_step="make a new one")

    monkeypatch.setattr("huginn.cli.chat_checks.joined", refused)
    assert checks('token_file = "token"\n')[1] == ("matrix.example.org", "wrong")
    assert "syt_no_real_token" not in huginn("doctor").out
