"""Chunks are whole lines of bounded size, and an edit changes only those around it."""

import random
import zlib
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from huginn.forge.chunk import LIMIT, SIZE, Chunk, chunks
from huginn.scrub import Clean
from tests.support.clean import clean

LINES = 3000
WORDS = (
    "the",
    "kettle",
    "is",
    "on",
    "stove",
    "and",
    "nobody",
    "has",
    "seen",
    "key",
    "under",
    "mat",
    "since",
    "harbour",
)
Dice = random.Random


def cut(text: str, path: str = "a.txt") -> list[Chunk]:
    return chunks(clean(text), path)


def words(dice: Dice, low: int, high: int) -> str:
    return " ".join(dice.choices(WORDS, k=dice.randint(low, high)))


def function(dice: Dice, number: int) -> list[str]:
    body = [f"    step_{step} = {words(dice, 1, 8)!r}" for step in range(dice.randint(1, 25))]
    return ["@cached", f"def function_{number}(argument: int) -> None:", *body, ""]


def small_function(dice: Dice, number: int) -> list[str]:
    return [f"function f{number}(a, b) {{", f"  return a + b * {number};", "}", ""]


def paragraph(dice: Dice, number: int) -> list[str]:
    return [*(words(dice, 8, 15) for _ in range(dice.randint(1, 9))), ""]


def section(dice: Dice, number: int) -> list[str]:
    return [f"## Part {number}", "", *(words(dice, 3, 14) for _ in range(8))]


def record(dice: Dice, number: int) -> list[str]:
    return ["  {", f'    "id": {number},', f'    "name": "{words(dice, 5, 9)}",', '    "next": null', "  },"]


# Kinds of files: the path, and what is repeated, each time with its line's number, until there are 3,000 lines.
KINDS: dict[str, tuple[str, Callable[[Dice, int], list[str]]]] = {
    "functions": ("a.py", function),
    "functions of one line": ("a.py", lambda dice, n: [f"def function_{n}(): return {n * n}"]),
    "small functions": ("a.js", small_function),
    "paragraphs": ("a.md", paragraph),
    "equal paragraphs": ("a.md", lambda dice, n: [*[f"paragraph {n:020d}"] * 5, ""]),
    "sections": ("a.md", section),
    "lines without blank ones": ("a.txt", lambda dice, n: [words(dice, 1, 16)]),
    "equally long lines": ("a.txt", lambda dice, n: [f"{n:040d}"]),
    "random lines": ("a.txt", lambda dice, n: [dice.randbytes(dice.randint(0, 60)).hex()]),
    "identical lines": ("a.txt", lambda dice, n: ["the same line again and again"]),
    "json": ("a.json", record),
    "csv": ("a.csv", lambda dice, n: [f"{n},{n * n},{dice.random()},{words(dice, 1, 2)}"]),
}
INSERTED = (
    "",
    "x",
    "```",
    "---",
    "    pass",
    "def new():",
    "# a remark",
    "a longer line than the others " * 6,
    "z" * 5000,
)


def lines_of(kind: str, seed: int) -> list[str]:
    dice, lines = Dice(seed), list[str]()
    while len(lines) < LINES:
        lines += KINDS[kind][1](dice, len(lines))
    return lines[:LINES]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1 << 30),
    place=st.integers(0, LINES),
    inserted=st.sampled_from(INSERTED),
)
def test_one_inserted_line_leaves_95_percent_of_the_chunks_as_they_were(
    kind: str, seed: int, place: int, inserted: str
) -> None:
    path, lines = KINDS[kind][0], lines_of(kind, seed)
    before = Counter(piece.text for piece in cut("\n".join(lines), path))
    after = Counter(piece.text for piece in cut("\n".join([*lines[:place], inserted, *lines[place:]]), path))
    assert (before & after).total() >= 0.95 * before.total()


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_are_of_about_the_size_and_there_are_no_crumbs(kind: str) -> None:
    sizes = [len(piece.text) for piece in cut("\n".join(lines_of(kind, 1)), KINDS[kind][0])]
    assert SIZE / 2 < sum(sizes) / len(sizes) < SIZE * 4 / 3
    assert sum(size < 100 for size in sizes) <= 1


ODD_LINES = ["", " ", "\t", "\r", "def f():", "class A:", "    def g(self):", "# Head", "=====", "```", "}", "@x", ")"]
_line = st.one_of(
    st.sampled_from([*ODD_LINES, "x\u2028y", "\u200b"]),
    st.text("ab (,;\x0c\x85#", max_size=90),
    st.integers(1, 4000).map(lambda length: ("word, " * length)[:length]),
    st.integers(1, 4000).map(lambda length: "x" * length),
    st.integers(1, 3000).map(lambda length: " " * length),
    st.integers(1, 1500).map(lambda length: "\n" * length),
)  # fmt: skip
_text = st.lists(st.tuples(_line, st.integers(1, 12)), max_size=25).map(
    lambda runs: "\n".join(line for line, times in runs for _ in range(times if len(line) < 100 else 1))
)


@settings(max_examples=300, deadline=None)
@given(text=_text, path=st.sampled_from(["a.py", "a.md", "a.rst", "a.txt", "a.ts", "a.c", "a.sql", "a.ini"]))
def test_every_line_is_in_exactly_one_chunk_and_cited_right(text: str, path: str) -> None:
    lines = text.split("\n")
    parts: dict[int, list[str]] = {}
    last = 0
    for piece in cut(text, path):
        assert isinstance(piece.text, Clean)
        assert len(piece.text) <= LIMIT
        assert last <= piece.start_line <= piece.end_line
        cited = "\n".join(lines[piece.start_line - 1 : piece.end_line])
        assert piece.text in cited
        if len(piece.text) < len(cited):  # the part of a long line, perhaps with whole lines at its other side
            assert max(len(line) for line in cited.split("\n")) >= LIMIT
        assert piece.text.strip()
        for number, line in enumerate(piece.text.split("\n"), piece.start_line):
            parts.setdefault(number, []).append(line)
        last = piece.end_line
    for number, line in enumerate(lines, 1):
        if not line.replace("\u200b", "").strip():
            continue
        if len(line) < LIMIT:
            assert parts[number] == [line]
        else:  # parts of white space alone are dropped
            assert "".join("".join(parts[number]).split()) == "".join(line.split())


def test_blank_lines_at_the_ends_belong_to_no_chunk() -> None:
    assert cut("\n \none\n\ntwo  \n\n\n") == [Chunk(clean("one\n\ntwo  "), 3, 5, ())]
    assert cut("\n \n\t\n\u200b") == []
    assert cut("") == []


def test_lines_are_counted_by_line_feeds_only() -> None:
    assert cut("a\rb\x0cc\u2028d\x85e\r\nf\r\n") == [Chunk(clean("a\rb\x0cc\u2028d\x85e\r\nf\r"), 1, 2, ())]


def test_a_line_without_a_place_to_cut_is_cut_all_the_same() -> None:
    pieces = cut("x" * 100_000)
    assert "".join(piece.text for piece in pieces) == "x" * 100_000
    assert max(len(piece.text) for piece in pieces) <= LIMIT
    assert {(piece.start_line, piece.end_line) for piece in pieces} == {(1, 1)}


def test_a_long_line_is_cut_between_words_or_at_the_punctuation_of_chinese() -> None:
    for piece in cut("word " * 1000)[:-1]:
        assert piece.text.endswith("word ")
    for piece in cut("船在午夜离开港口，没有人看见。" * 300)[:-1]:
        assert piece.text[-1] in "，。"


def test_an_edit_above_a_long_line_leaves_its_parts_alone() -> None:
    line = " ".join(f"word{number}" for number in range(4000))
    before, after = cut(f"head\n{line}\ntail"), cut(f"head\nnew\n{line}\ntail")
    same = Counter(piece.text for piece in before) & Counter(piece.text for piece in after)
    assert same.total() >= len(before) - 2


def test_a_definition_begins_a_chunk_with_what_is_directly_above_it() -> None:
    filler = "    value = compute(value)  # and so on\n" * 6
    text = f"def one():\n{filler}\n# What two does.\n@cached\ndef two():\n{filler}"
    assert [(piece.start_line, piece.end_line) for piece in cut(text, "a.py")] == [(1, 7), (9, 17)]


def test_a_definition_after_a_short_section_begins_no_chunk() -> None:
    text = "def one():\n    return 1\n\n\ndef two():\n    return 2\n" + "    # more\n" * 20
    assert len(cut(text, "a.py")) == 1


def test_a_crumb_at_the_end_stays_with_what_is_above_it() -> None:
    text = "def one():\n" + "    value = compute(value)\n" * 12 + "\ndef two():\n    return 2\n"
    assert len(cut(text, "a.py")) == 1


def test_a_long_piece_is_cut_at_blank_lines_rather_than_between_others() -> None:
    paragraphs = "\n\n".join("\n".join(["a line of a paragraph, always alike"] * 8) for _ in range(12))
    for piece in cut(paragraphs):
        assert len(piece.text.split("\n\n")[0].split("\n")) == 8


def test_the_hash_is_what_makes_regular_text_fall_into_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard bites: with every place alike, an insertion at the top moves every chunk."""
    lines = [f"{number:040d}" for number in range(LINES)]

    def reuse() -> float:
        before = Counter(piece.text for piece in cut("\n".join(lines)))
        after = Counter(piece.text for piece in cut("\n".join(["f" * 40, *lines])))
        return (before & after).total() / before.total()

    assert reuse() > 0.98
    monkeypatch.setattr("zlib.crc32", lambda data, begun=0: 0)
    assert reuse() < 0.5


def test_records_that_begin_and_end_alike_fall_into_step() -> None:
    """The guard bites: the best boundary stands between two lines that are the same in each record."""
    end = next(f"end {n}" for n in range(1 << 20) if zlib.crc32(f"end {n}\nbegin\n".encode()) < 1 << 16)
    lines = [
        line for n in range(750) for line in ("begin", f"id = {n:020d}", "x = the same in all of them, and long", end)
    ]
    before = Counter(piece.text for piece in cut("\n".join(lines)))
    after = Counter(piece.text for piece in cut("\n".join([*lines[:4], *lines])))
    assert (before & after).total() >= 0.95 * before.total()


def test_a_chunk_knows_what_encloses_its_first_line() -> None:
    body = "        value = compute(value)  # and so on\n" * 5
    methods = "".join(f"    def method_{number}(self):\n{body}\n" for number in range(3))
    text = f"import os\n\nclass Outer:\n    size = 1\n\n{methods}\nCONSTANT = 1\n"
    names = [piece.names for piece in cut(text, "a.py")]
    assert names == [(), ("Outer", "method_1"), ("Outer", "method_2")]


def test_the_cuts_are_the_same_in_every_process_and_version() -> None:
    """A change here changes every index: raise CHUNKER_VERSION."""
    text = "\n".join(lines_of("equally long lines", 0))
    assert [piece.start_line for piece in cut(text)][:6] == [1, 11, 21, 33, 46, 60]
