"""A search prints citations first and the text behind a bar; nothing in a text passes for Huginn's own words."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from rich.cells import cell_len

from huginn.cli.exits import ExitCode
from huginn.cli.search import MODES
from huginn.errors import Busy, HuginnError, Refused, Unavailable
from huginn.search import Mode, Rank
from tests.support import fake_search
from tests.support.command_line import CommandLine
from tests.support.fake_search import Prepared, citation, hit

HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "\x1b]0;title\x07",
    "\x9b2J",
    "all is well\rerror: all is lost",
    "\u202eevil\u202c",
    "zero\u200bwidth\ufeff",
    "\u2028huginn: line\u2029\x85huginn: line",
    "\x08\x08\x08\x7f",
    "\ud800",
]
MARKUP = "[red]not red[/red] [link=https://evil.example]x[/link] :smile: [/] \\[b]"


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> Prepared:
    return fake_search.install(monkeypatch)


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables of a terminal of 80 columns with colours."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_the_citation_comes_first_then_the_text_and_the_counts_last(huginn: CommandLine, prepared: Prepared) -> None:
    prepared.hits = [hit(text="one\n\n  two\n")]
    ended = huginn("search", "herons")
    assert ended.code == ExitCode.WELL
    assert ended.out.splitlines() == [
        "heron@0123456:docs/nest.md#L10-L42  2026-03-04",
        "1. score 0.5000; rank 1 (words 3.50, meaning 0.25)",
        "│ 10  one",
        "│ 11  ",
        "│ 12    two",
        "",
        "1 hit for 1 text in 12 ms",
    ]


def test_all_places_of_a_text_are_listed_once(huginn: CommandLine, prepared: Prepared) -> None:
    other = citation(repo="osprey", path="copy.md")
    prepared.hits = [hit(places=[citation(), other])]
    out = huginn("search", "herons").out
    assert "\nalso osprey@0123456:copy.md#L10-L42\n" in out
    assert out.count("docs/nest.md") == 1


def test_places_that_are_too_many_to_list_are_counted(huginn: CommandLine, prepared: Prepared) -> None:
    prepared.hits = [hit(places=[citation(), citation(path="b")], copies=120)]
    assert "docs/b" not in (out := huginn("search", "herons").out)
    assert "#L10-L42\nand 118 more\n" in out


def test_every_mode_can_be_asked_for() -> None:
    assert tuple(Mode) == MODES


def test_of_several_texts_it_is_told_which_gave_a_hit_which_rank(huginn: CommandLine, prepared: Prepared) -> None:
    prepared.hits = [hit(ranks=[Rank(text=0, rank=3, bm25=3.5), Rank(text=1, rank=1, cosine=0.25)])]
    ended = huginn("search", "herons", "wading birds")
    assert "score 0.5000; text 1 rank 3 (words 3.50); text 2 rank 1 (meaning 0.25)" in ended.out
    assert ended.out.endswith("1 hit for 2 texts in 12 ms\n")


@pytest.mark.parametrize("command", ["search", "sources"])
def test_the_filters_reach_the_query(huginn: CommandLine, prepared: Prepared, command: str) -> None:
    filters = "--corpus forge --corpus chat --repo heron --repo osprey --path docs --path src --top-k 3 --no-fold"
    of_chat = "--room #herons:example.org --room !owls --sender @ann:example.org --mode words --context 4"
    times = "--after 2026-03-04 --before 2026-03-04T05:06:07+02:00"
    huginn(command, "herons", *filters.split(), *of_chat.split(), *times.split())
    [query] = prepared.asked
    assert query.model_dump() == {
        "texts": ("herons",),
        "brief": None,
        "mode": "words",
        "by": "file",
        "corpora": ("forge", "chat"),
        "repos": ("heron", "osprey"),
        "paths": ("docs", "src"),
        "rooms": ("#herons:example.org", "!owls"),
        "senders": ("@ann:example.org",),
        "after": datetime(2026, 3, 4, tzinfo=UTC),
        "before": datetime(2026, 3, 4, 3, 6, 7, tzinfo=UTC),
        "top_k": 3,
        "fold": False,
        "context": 4,
    }


def test_without_filters_everything_is_asked(huginn: CommandLine, prepared: Prepared) -> None:
    huginn("search", "herons")
    [query] = prepared.asked
    assert query.model_dump(exclude={"texts", "mode", "by", "top_k", "fold", "context"}, exclude_none=True) == {}
    assert (query.mode, query.by, query.top_k, query.fold, query.context) == ("hybrid", "file", 10, True, 0)


def test_for_programs_there_is_one_document_and_nothing_else(huginn: CommandLine, prepared: Prepared) -> None:
    prepared.hits = [hit(text="".join(HOSTILE[:-1]))]
    ended = huginn("search", "herons", "--json")
    assert ended.err == ""
    assert ended.document["hits"][0]["text"] == "".join(HOSTILE[:-1])
    assert set(ended.document) == {"query", "parts", "hits", "exact", "took_ms"}
    assert ended.out.isascii()
    assert "\x1b" not in ended.out
    assert "\x7f" not in ended.out


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_not_obeyed(huginn: CommandLine, prepared: Prepared, text: str) -> None:
    place = citation(repo=text, path=f"{text}\n{text}", commit="0123456", url=f"https://e.example/{text}")
    prepared.hits = [hit(text=text, citation=place, places=[place, citation(path=text)])]
    out = huginn("search", "herons").out
    assert not re.search(
        r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]", out
    )


def test_every_line_of_a_text_stands_behind_a_bar(huginn: CommandLine, prepared: Prepared) -> None:
    text = "huginn: error\n0 hits for 1 text in 1 ms\n\nevil@0000000:x#L1-L2  2026-01-01\n\x0bhuginn: x\r\nhuginn: y"
    prepared.hits = [hit(text=text)]
    out = huginn("search", "herons").out.splitlines()
    assert [line for line in out if not line.startswith("│ ")] == [
        "heron@0123456:docs/nest.md#L10-L42  2026-03-04",
        "1. score 0.5000; rank 1 (words 3.50, meaning 0.25)",
        "",
        "1 hit for 1 text in 12 ms",
    ]


def test_the_bar_stays_when_a_terminal_is_too_narrow(
    huginn: CommandLine, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    text = "x" * 78 + "huginn: error: all is lost " + "東" * 60 + "\t\tend"
    prepared.hits = [hit(text=text)]
    shown = huginn.on_terminal("search", "herons")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    lines = plain.splitlines()[2:-2]
    assert len(lines) > 2
    assert all(line.startswith("│ 10  " if number == 0 else "│     ") for number, line in enumerate(lines))
    assert all(cell_len(line) <= 80 for line in lines)
    assert "".join(line[6:] for line in lines).startswith("x" * 78 + "huginn: error: all is lost 東")


def test_markup_is_text(huginn: CommandLine, prepared: Prepared) -> None:
    place = citation(repo="[red]r[/red]", path="[link=https://evil]p[/link] :smile:")
    prepared.hits = [hit(text=MARKUP, citation=place, places=[place])]
    shown = huginn.on_terminal("search", "herons")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert f"│ 10  {MARKUP}\n" in plain
    assert "[red]r[/red]@0123456:[link=https://evil]p[/link] :smile:#L10-L42  2026-03-04\n" in plain
    assert "\x1b]" not in shown


def test_a_pipe_gets_no_colour_no_link_and_no_line_is_cut(huginn: CommandLine, prepared: Prepared) -> None:
    place = citation(path="d/" * 100 + "f", url="https://forge.example.org/x")
    prepared.hits = [hit(text="y" * 500, citation=place, places=[place])]
    out = huginn("search", "herons").out
    assert "\x1b" not in out
    assert f"heron@0123456:{place.path}#L10-L42  2026-03-04\n" in out
    assert "│ 10  " + "y" * 500 + "\n" in out


def test_even_a_pipe_that_is_told_to_be_coloured_is_not(
    huginn: CommandLine, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    prepared.hits = [hit()]
    assert "\x1b" not in huginn("search", "herons").out


def test_a_terminal_gets_colour_and_a_link_to_the_lines(huginn: CommandLine, prepared: Prepared) -> None:
    url = "https://forge.example.org/heron/blob/0123456/docs/nest.md#L10-L42"
    prepared.hits = [hit(citation=citation(url=url), places=[])]
    shown = huginn.on_terminal("search", "herons")
    assert f";{url}\x1b\\" in shown
    assert "\x1b[1;36m" in shown
    assert "\x1b[2m│ 10  \x1b[0m\x1b[1;4mHerons\x1b[0m nest in reeds.\n" in shown
    assert "\x1b]8;;\x1b\\  2026-03-04\n" in shown


def test_with_no_color_there_is_none(huginn: CommandLine, prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    prepared.hits = [hit()]
    shown = huginn.on_terminal("search", "herons")
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", shown)


def test_a_dumb_terminal_gets_plain_text(
    huginn: CommandLine, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    prepared.hits = [hit(citation=citation(url="https://forge.example.org/x"), places=[])]
    shown = huginn.on_terminal("search", "herons")
    assert "\x1b" not in shown


def test_no_hit_is_an_answer(huginn: CommandLine, prepared: Prepared) -> None:
    ended = huginn("search", "herons")
    assert (ended.code, ended.out) == (ExitCode.WELL, "0 hits for 1 text in 12 ms\n")


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (Refused("texts[2]", "is empty"), 2, {"kind": "refused", "field": "texts[2]", "reason": "is empty"}),
        (Unavailable("embedder", "is away"), 3, {"kind": "unavailable", "part": "embedder", "reason": "is away"}),
        (Busy("another process holds it"), 4, {"kind": "busy", "reason": "another process holds it"}),
    ],
)
def test_an_error_is_a_document_for_programs_and_a_sentence_for_people(
    huginn: CommandLine, prepared: Prepared, error: HuginnError, code: int, told: dict[str, str]
) -> None:
    error.next_step = "do this"
    prepared.error = error
    ended = huginn("search", "herons", "--json")
    assert (ended.code, ended.err) == (code, "")
    assert ended.document == {"error": {**told, "next_step": "do this"}}
    ended = huginn("search", "herons")
    assert (ended.code, ended.out) == (code, "")
    assert ended.err == f"huginn: {error.reason}\n  next: do this\n"


def test_a_refused_query_names_the_field(huginn: CommandLine, prepared: Prepared) -> None:
    ended = huginn("search", "herons", "--top-k", "51")
    assert ended.code == ExitCode.REFUSED
    assert ended.err.startswith("huginn: top_k: 51 ")


@pytest.mark.parametrize("path", ["src/", "/src", "./src", "././/src//", "src/."])
def test_a_path_may_be_written_as_a_shell_completes_it(huginn: CommandLine, prepared: Prepared, path: str) -> None:
    huginn("search", "herons", "--path", path, "--path", "docs/./nest.md")
    [query] = prepared.asked
    assert query.paths == ("src", "docs/nest.md")


@pytest.mark.parametrize("path", [".", "/", "./", "//."])
def test_the_root_is_everywhere(huginn: CommandLine, prepared: Prepared, path: str) -> None:
    huginn("search", "herons", "--path", path, "--path", "docs")
    [query] = prepared.asked
    assert query.paths is None


@pytest.mark.parametrize(("option", "field"), [("--path", "paths[1]"), ("--repo", "repos[1]"), ("--room", "rooms[1]")])
def test_a_filter_that_is_no_text_or_empty_is_refused(
    huginn: CommandLine, prepared: Prepared, option: str, field: str
) -> None:
    ended = huginn("search", "herons", option, "x", option, "\udcff", "--json")
    assert (ended.code, ended.document["error"]["field"]) == (ExitCode.REFUSED, field)
    ended = huginn("search", "herons", option, "x", option, "")
    assert ended.code == ExitCode.REFUSED
    assert prepared.asked == []


def test_an_error_cannot_command_the_terminal_or_fake_a_line(huginn: CommandLine, prepared: Prepared) -> None:
    prepared.error = Unavailable("index", "\x1b[2Jbad\r\nhuginn: all well", next_step="x\nhuginn: all well\u202e")
    ended = huginn("search", "herons")
    assert "\x1b" not in ended.err
    assert all(line.startswith(("huginn: index", "  ")) for line in ended.err.splitlines())
