"""A long brief is cut into few texts by meaning, and nothing that a text cannot hold gets lost where there is room."""

from __future__ import annotations

import time

import pytest

from huginn.scrub import Clean, scrub
from huginn.search.brief import texts_of

SENTENCE = "The heron stands in the shallow water and waits for a fish. "
PARAGRAPH = SENTENCE * 8


def brief(text: str) -> Clean:
    return scrub(text).clean


def test_a_brief_that_fits_is_one_text_as_a_whole_beside_its_title() -> None:
    text = f"Herons wait too long\n\n{PARAGRAPH}"
    assert texts_of(brief(text), 8) == ["Herons wait too long", text.strip()]


def test_a_brief_of_one_line_is_one_text() -> None:
    assert texts_of(brief("  herons wait too long\n"), 8) == ["herons wait too long"]


def test_a_long_brief_is_cut_between_paragraphs_and_loses_nothing() -> None:
    paragraphs = [f"Part {number}: {PARAGRAPH}".strip() for number in range(7)]
    texts = texts_of(brief("\n\n".join(["Herons wait too long", *paragraphs])), 8)
    assert texts[0] == "Herons wait too long"
    assert "\n\n".join(texts[1:]).split("\n\n")[1:] == paragraphs
    assert all(text.startswith(("Part", "Herons")) for text in texts)


def test_a_long_first_paragraph_gives_its_first_sentence_for_a_title() -> None:
    assert texts_of(brief(PARAGRAPH), 8)[0] == SENTENCE.strip()


def test_a_greeting_is_no_title() -> None:
    assert texts_of(brief(f"Hello,\n\n{PARAGRAPH}"), 8) == [f"Hello,\n\n{PARAGRAPH}".strip()]


@pytest.mark.parametrize("most", range(1, 9))
@pytest.mark.parametrize(
    "text",
    [
        PARAGRAPH * 20,
        "word " * 13_000,
        "x" * 65_000,
        "ü\n\n" * 16_000,
        "東京。" * 7_000,
        "\n".join(f"- item {number} of a list" for number in range(2_500)),
    ],
    ids=["sentences", "words", "one word", "letters", "no spaces", "items"],
)
def test_whatever_the_brief_there_are_few_texts_of_a_bounded_size_in_no_time(text: str, most: int) -> None:
    began = time.perf_counter()
    texts = texts_of(brief(text), most)
    assert time.perf_counter() - began < 2
    assert 1 <= len(texts) <= most
    assert all(text.strip() == text and 0 < len(text.encode()) <= 1000 for text in texts)
    assert len(set(texts)) == len(texts)


def test_the_parts_of_a_brief_that_is_too_long_reach_to_its_end() -> None:
    text = "\n\n".join(f"Paragraph {number}. {PARAGRAPH}" for number in range(100))
    numbers = [int(part.split("Paragraph ")[1].split(".")[0]) for part in texts_of(brief(text), 8)[1:]]
    assert numbers[0] == 0
    assert numbers[-1] > 80
