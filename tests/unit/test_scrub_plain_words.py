"""Words of letters need no look by the library: shown by its rules one by one, and tried with their own words."""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from huginn.scrubbing import library

# The parts of Python's own module for patterns, which have no types.
sre: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")
compiler: Any = importlib.import_module("re._compiler")

LONGEST = 15
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
BETWEEN = " ?"

Lengths = frozenset[int]
"""How many letters may stand in a row at the end of what a pattern has matched so far; empty: it cannot match."""


@cache
def rules() -> dict[str, Any]:
    """The library's rules that count, by id."""
    compiled = library._compiled.scanner().rules
    details = {rule["id"]: compiled.detail(rule["id"]) for rule in compiled.metadata()}
    return {
        name: rule
        for name, rule in details.items()
        if not library._LEFT_OUT.search(name) and (rule["visible"] or name in library._HELPERS)
    }


def parsed(pattern: str) -> tuple[Any, bool]:
    """The tree of a rule's pattern, and whether it holds for capitals and small letters alike somewhere."""
    for theirs, ours in (("[:alnum:]", "A-Za-z0-9"), ("[:alpha:]", "A-Za-z"), (r"\z", r"\Z")):
        pattern = pattern.replace(theirs, ours)
    flags = set("".join(re.findall(r"\(\?([a-z]+)\)", pattern))) & set("isx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        prefix = f"(?{''.join(sorted(flags))})" if flags else ""
        return parser.parse(prefix + re.sub(r"\(\?[a-z]+\)", "", pattern)), "i" in flags


def after(nodes: Iterable[Any], lengths: Lengths, any_case: bool) -> Lengths:
    """Match nodes of a pattern one after the other against words of letters. Where in doubt, they can match."""
    for kind, value in nodes:
        if lengths:
            lengths = after_one(kind, value, lengths, any_case)
    return lengths


def after_one(kind: Any, value: Any, lengths: Lengths, any_case: bool) -> Lengths:
    if kind is sre.AT:
        return lengths
    if kind is sre.BRANCH:
        return frozenset().union(*(after(branch, lengths, any_case) for branch in value[1]))
    if kind is sre.SUBPATTERN:
        return after(value[3], lengths, any_case or bool(value[1] & re.IGNORECASE))
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT):
        least, most, inner = value
        for _ in range(int(least)):
            lengths = after(inner, lengths, any_case)
        found, number = lengths, int(least)
        while lengths and number < int(most) and not (lengths := after(inner, lengths, any_case)) <= found:
            found, number = found | lengths, number + 1
        return found
    matching = set(characters(kind, value, any_case))
    longer = {length + 1 for length in lengths if length < LONGEST} if matching & set(LETTERS) else set()
    return frozenset(longer | ({0} if lengths and matching & set(BETWEEN) else set()))


def characters(kind: Any, value: Any, any_case: bool) -> Iterator[str]:
    """Which of our characters a node of one character takes; asked of Python itself."""
    if kind is sre.ANY:
        yield from LETTERS + BETWEEN
        return
    tree = parser.SubPattern(parser.State(), [(kind, value)])
    tree.state.str, tree.state.groupdict, tree.state.flags = "", {}, re.IGNORECASE if any_case else 0
    compiled = compiler.compile(tree)
    yield from (character for character in LETTERS + BETWEEN if compiled.match(character))


def test_no_rule_that_counts_can_match_words_of_letters() -> None:
    anything_before = frozenset(range(LONGEST + 1))
    matching = [name for name, rule in rules().items() if after(*_with(rule, anything_before))]
    assert len(rules()) > 300
    assert matching == []


def _with(rule: Any, lengths: Lengths) -> tuple[Any, Lengths, bool]:
    tree, any_case = parsed(rule["detection_regex"])
    return tree, lengths, any_case


@pytest.mark.parametrize(
    ("pattern", "can"),
    [
        (r"\b[a-z]{15}\b", True),
        (r"\b[a-z]{16}\b", False),
        (r"(?i)key[ \t\w.-]{0,20}[a-z0-9]{12}", True),
        (r"(?i)key\s*[=:]\s*[a-z]{8}", False),
        (r"AKIA[A-Z]{11}", True),
        (r"ghp_[A-Za-z]{4}", False),
        (r"(?:x-|(?i:token) )[^0-9]{3,}", True),
    ],
)
def test_what_can_match_is_told_rightly(pattern: str, can: bool) -> None:
    tree, any_case = parsed(pattern)
    assert bool(after(tree, frozenset(range(LONGEST + 1)), any_case)) is can


def words_of_rules() -> list[str]:
    """Every word that stands in a pattern: the names of providers and of their keys."""
    found = (re.findall(r"[A-Za-z]{3,15}", rule["detection_regex"]) for rule in rules().values())
    return sorted({word for words in found for word in words})


@st.composite
def plain_texts(draw: st.DrawFn) -> str:
    word = st.sampled_from(words_of_rules()) | st.text(LETTERS, min_size=1, max_size=LONGEST)
    words = draw(st.lists(st.tuples(word, st.sampled_from([" ", "? ", "?", "  "])), max_size=12))
    return "".join(part for pair in words for part in pair)


@given(plain_texts())
def test_the_library_finds_nothing_in_words_of_letters(text: str) -> None:
    assert library._PLAIN.fullmatch(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "_PLAIN", re.compile(r"(?!)"))
        assert list(library.find_known(text)) == []


@pytest.mark.parametrize("text", ["a" * 16, "token: abc", "v2", "a_b", "naïve", "a\nb", "a b\u00a0c", "x-y"])
def test_any_other_text_is_looked_at(text: str) -> None:
    assert not library._PLAIN.fullmatch(text)
