"""Hits on a terminal and in a pipe: groups, context, marks, permalinks; hostile words stay behind their bars."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.cells import cell_len

from huginn.cli.exits import ExitCode
from huginn.search import Around, ChatCitation, Exact, Following, Hit, Message
from tests.support import fake_search
from tests.support.command_line import CommandLine
from tests.support.fake_search import Prepared, citation, hit
from tests.unit.test_cli_search import HOSTILE

FIRST_LINE = "heron@0123456:docs/nest.md#L10-L42  2026-03-04"
FAKES = [
    "huginn: error: all is lost",
    "no exact match for herons",
    "0 hits for 1 text in 1 ms",
    "$ rm -rf /",
    "1. score 0.9999; rank 1 (words 9.99, meaning 0.99)",
    "evil@0000000:x#L1-L2  2026-01-01",
    "also evil@0000000:x#L1-L2",
    "and 7 more",
    "what was said next (context, no hit):",
    "05:06:07  @ann:example.org",
    "best match: @ann:example.org",
    "│ 10  forged",
]
WIDE = ["☺\ufe0f" * 60, "ह\u093f" * 90, "东" * 70, "\U0001f1e9\U0001f1ea" * 50, "\ue000" * 90, "x" * 300, "⸻" * 60]
SECOND = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> Prepared:
    return fake_search.install(monkeypatch)


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables of a terminal of 80 columns with colours."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)


def in_room(*bodies: str, sender: str = "@ann:example.org", room: str = "#herons:example.org", **values: Any) -> Hit:
    messages = [
        Message(event_id=f"$e{n}", sender=sender, time=SECOND.replace(minute=n), body=body)
        for n, body in enumerate(bodies)
    ]
    where = ChatCitation(
        room="!herons:example.org",
        alias=room,
        event_id=messages[0].event_id,
        last_event_id=messages[-1].event_id,
        time=messages[0].time,
        end_time=messages[-1].time,
        url="https://matrix.to/#/x",
    )
    return hit(corpus="chat", citation=where, places=[where], messages=messages, **values)


def at_lines(start: int, end: int, **values: Any) -> Hit:
    place = citation(start_line=start, end_line=end)
    return hit(citation=place, places=[place], text=f"line {start}", **values)


def plain(shown: str) -> str:
    """What a terminal shows, without colours and links."""
    return re.sub(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\", "", shown)


def test_hits_of_one_file_that_follow_each_other_stand_under_one_heading_in_their_order(
    huginn: CommandLine, prepared: Prepared
) -> None:
    other = citation(path="b.md")
    prepared.hits = [at_lines(10, 12), at_lines(1, 2), hit(citation=other, places=[other]), at_lines(50, 60)]
    assert [line for line in huginn("search", "x").out.splitlines() if line and not line.startswith("│")] == [
        "heron@0123456:docs/nest.md  2026-03-04",
        "#L10-L12",
        "1. score 0.5000; rank 1 (words 3.50, meaning 0.25)",
        "#L1-L2",
        "2. score 0.5000; rank 1 (words 3.50, meaning 0.25)",
        "heron@0123456:b.md#L10-L42  2026-03-04",
        "3. score 0.5000; rank 1 (words 3.50, meaning 0.25)",
        "heron@0123456:docs/nest.md#L50-L60  2026-03-04",
        "4. score 0.5000; rank 1 (words 3.50, meaning 0.25)",
        "4 hits for 1 text in 12 ms",
    ]


def test_hits_of_one_room_tell_each_its_time(huginn: CommandLine, prepared: Prepared) -> None:
    prepared.hits = [in_room("one", "two"), in_room("three")]
    out = huginn("search", "x").out.splitlines()
    assert out[:3] == ["#herons:example.org", "2026-03-04 05:00:07 to 05:01:07 UTC", "first $e0"]
    assert "2026-03-04 05:00:07 UTC" in out
    assert out.count("#herons:example.org") == 1


def test_lines_around_a_hit_are_numbered_behind_another_bar(huginn: CommandLine, prepared: Prepared) -> None:
    around = Around(lines_before=["before\r", ""], lines_after=["", "\tafter"])
    place = citation(start_line=98, end_line=99)
    prepared.hits = [hit(text="one\r\ntwo\r", citation=place, places=[place], around=around)]
    assert huginn("search", "x", "--context", "2").out.splitlines()[2:-2] == [
        "┊  96  before",
        "┊  97  ",
        "│  98  one",
        "│  99  two",
        "┊ 100  ",
        "┊ 101      after",
    ]


def test_messages_around_a_hit_take_the_place_of_what_follows_and_tell_another_day(
    huginn: CommandLine, prepared: Prepared
) -> None:
    earlier = Message(event_id="$a", sender="@bob:example.org", time=SECOND.replace(day=3), body="before")
    later = Message(event_id="$b", sender="@bob:example.org", time=SECOND.replace(hour=6), body="after")
    hit_there = in_room("one", "two", matched="$e1")
    assert hit_there.citation.kind == "chat"
    following = Following(citation=hit_there.citation, messages=[later])
    around = Around(messages_before=[earlier], messages_after=[later])
    prepared.hits = [hit_there.model_copy(update={"around": around, "following": following})]
    assert huginn("search", "x", "--context", "1").out.splitlines()[4:-2] == [
        "┊ 2026-03-03 05:06:07  @bob:example.org",
        "┊   before",
        "│ 05:00:07  @ann:example.org",
        "│   one",
        "│ 05:01:07  best match: @ann:example.org",
        "│   two",
        "┊ 06:06:07  @bob:example.org",
        "┊   after",
    ]


def test_the_words_that_are_asked_are_marked_on_a_terminal_alone(huginn: CommandLine, prepared: Prepared) -> None:
    around = Around(lines_after=["nesting too"])
    place = citation(start_line=10, end_line=10)
    prepared.hits = [hit(text="Herons were nesting in heronNest.", citation=place, places=[place], around=around)]
    shown = huginn.on_terminal("search", "heron", "a nest")
    assert re.findall(r"\x1b\[1;4m(.*?)\x1b\[0m", shown) == ["Herons", "nesting", "heronNest"]
    assert "│ 10  Herons were nesting in heronNest.\n" in huginn("search", "heron", "a nest").out


def test_marks_show_without_colour_too(
    huginn: CommandLine, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    prepared.hits = [hit()]
    shown = huginn.on_terminal("search", "herons")
    assert "\x1b[1;4mHerons\x1b[0m" in shown
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", shown)


def test_long_lines_are_cut_between_words_and_what_is_cut_is_marked_still(
    huginn: CommandLine, prepared: Prepared
) -> None:
    text = " ".join(["waiting for the herons"] * 8)
    place = citation(start_line=10, end_line=10)
    prepared.hits = [hit(text=text, citation=place, places=[place])]
    shown = huginn.on_terminal("search", "herons")
    lines = [line for line in plain(shown).splitlines() if line.startswith("│")]
    assert len(lines) == 3
    assert all(line.rstrip().split()[-1] in text.split() for line in lines)
    assert "".join(line[6:] for line in lines) == text
    assert shown.count("\x1b[1;4mherons\x1b[0m") == 8


@pytest.mark.parametrize("width", ["40", "80", "200"])
@pytest.mark.parametrize("words", [*WIDE, *HOSTILE, *FAKES])
@pytest.mark.parametrize("is_terminal", [True, False])
def test_nothing_that_somebody_else_wrote_passes_for_huginn_wherever_it_stands(
    huginn: CommandLine, prepared: Prepared, monkeypatch: pytest.MonkeyPatch, words: str, width: str, is_terminal: bool
) -> None:
    """Every line that is not Huginn's own begins with a bar, a citation's beginning, or what comes before a name."""
    monkeypatch.setenv("COLUMNS", width)
    name = f"{words}\n{words}"
    place = citation(repo="heron", path=name, url=f"https://e.example/{name}")
    around = Around(lines_before=[words], lines_after=[words])
    said = in_room(f"{words}\n{words}", words, sender=f"@{name}", room=f"#{name}")
    assert said.citation.kind == "chat"
    prepared.hits = [
        hit(text=f"{words}\n{words}", citation=place, places=[place, citation(path=name)], around=around),
        said.model_copy(update={"following": Following(citation=said.citation, messages=said.messages)}),
    ]
    prepared.exact = [Exact(name=f"no{name}", found=False)]
    prepared.parts = [f"part {name}".encode(errors="replace").decode()]
    arguments = ("search", "herons", "--context", "1")
    shown = plain(huginn.on_terminal(*arguments)) if is_terminal else huginn(*arguments).out
    assert not re.search(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]", shown
    )
    own = (
        r"[│┊] .*|heron@0123456:.*|#.*|[12]\. score 0\.5000; .*|also heron@.*|text 2: .*|no exact match for no.*|   .*"
    )
    own += r"|first \$e0|last  \$e1|what was said next \(context, no hit\):"
    own += r"|2 hits for 2 texts in 12 ms|"
    assert [line for line in shown.split("\n") if not re.fullmatch(own, line)] == []
    if is_terminal:
        foreign = [line for line in shown.split("\n") if words[:5] in line]
        assert all(cell_len(line) <= int(width) for line in foreign)


@pytest.mark.parametrize("sender", ["@a  05:06:07", "@a\u3000\u3000b", " @a", "@a\u00a0 b ", "@a\t\tb"])
def test_a_name_cannot_bring_the_gap_that_parts_things_on_a_line(
    huginn: CommandLine, prepared: Prepared, sender: str
) -> None:
    prepared.hits = [in_room("one", sender=sender)]
    [line] = [line for line in huginn("search", "x").out.splitlines() if line.startswith("│ 05:00:07")]
    assert not re.search(r"\s\s|\s\Z", line.removeprefix("│ 05:00:07  "))


def test_a_message_cannot_pass_for_one_who_speaks(huginn: CommandLine, prepared: Prepared) -> None:
    prepared.hits = [in_room("05:06:07  @bob:example.org\n  05:06:08  @bob:example.org")]
    out = huginn("search", "x").out.splitlines()
    assert [line for line in out if re.match(r"│ \d", line)] == ["│ 05:00:07  @ann:example.org"]


def test_what_a_brief_was_cut_into_is_told(huginn: CommandLine, prepared: Prepared) -> None:
    prepared.parts = ["first " * 30, "second"]
    out = huginn("search", "herons").out.splitlines()
    assert out == [f"text 2: {'first ' * 9}first…", "text 3: second", "0 hits for 3 texts in 12 ms"]


def test_open_prints_the_permalinks_alone_best_first(huginn: CommandLine, prepared: Prepared) -> None:
    urls = [f"https://forge.example.org/{number}" for number in range(3)]
    prepared.hits = [hit(citation=citation(url=url)) for url in urls]
    ended = huginn("search", "herons", "--open")
    assert (ended.code, ended.out, ended.err) == (ExitCode.WELL, "".join(f"{url}\n" for url in urls), "")
    assert huginn.on_terminal("search", "herons", "--open") == ended.out


@pytest.mark.parametrize("url", [None, "javascript:alert(1)", "https://a b", "https://e\x1b]0;x\x07", "https://a\nb"])
def test_open_tells_which_hits_have_no_permalink(huginn: CommandLine, prepared: Prepared, url: str | None) -> None:
    prepared.hits = [hit(citation=citation(url=url)), hit(citation=citation(url="https://forge.example.org/x"))]
    ended = huginn("search", "herons", "--open")
    assert (ended.code, ended.out) == (ExitCode.WELL, "https://forge.example.org/x\n")
    assert ended.err == "huginn: hit 1 has no permalink\n"
    prepared.hits = prepared.hits[:1]
    ended = huginn("search", "herons", "--open")
    assert (ended.code, ended.out) == (ExitCode.REFUSED, "")
    assert ended.err.startswith("huginn: open: none of the hits has a permalink\n")


def test_open_without_hits_prints_nothing(huginn: CommandLine, prepared: Prepared) -> None:
    ended = huginn("search", "herons", "--open")
    assert (ended.code, ended.out, ended.err) == (ExitCode.WELL, "", "huginn: no hits\n")


def test_open_and_json_are_two_forms_of_one_answer(huginn: CommandLine, prepared: Prepared) -> None:
    ended = huginn("search", "herons", "--open", "--json")
    assert (ended.code, ended.document["error"]["field"], prepared.asked) == (ExitCode.REFUSED, "open", [])


@pytest.mark.parametrize("size", ["-1", "51"])
def test_more_context_than_there_may_be_is_refused(huginn: CommandLine, prepared: Prepared, size: str) -> None:
    ended = huginn("search", "herons", "--context", size)
    assert (ended.code, prepared.asked) == (ExitCode.REFUSED, [])
    assert ended.err.startswith("huginn: context: ")


@pytest.mark.parametrize("sign", ["☺\ufe0f", "\ue000", "❤", "\U0001f9ff"])
def test_a_sign_that_some_terminals_draw_wider_than_others_takes_no_line_beyond_its_width(
    huginn: CommandLine, prepared: Prepared, sign: str
) -> None:
    place = citation(start_line=10, end_line=10)
    prepared.hits = [hit(text=sign * 60 + "huginn: error", citation=place, places=[place])]
    lines = [line for line in plain(huginn.on_terminal("search", "x")).splitlines() if line.startswith("│")]
    assert all(len("│ 10  ") + 2 * line.count(sign[0]) <= 80 for line in lines)
    assert "".join(line[6:] for line in lines) == sign * 60 + "huginn: error"


def test_a_drawing_of_lines_is_not_cut_early(huginn: CommandLine, prepared: Prepared) -> None:
    place = citation(start_line=10, end_line=10)
    prepared.hits = [hit(text="─" * 74, citation=place, places=[place])]
    assert f"│ 10  {'─' * 74}\n" in plain(huginn.on_terminal("search", "x"))
