"""What comes from outside cannot command a terminal."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from huginn.cli.terminal import harmless, harmless_line, is_safe_link

EVERY_CHARACTER = [chr(number) for number in range(sys.maxunicode + 1)]
INVISIBLE_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180f\u3164\uffa0\U000e0100"


def test_every_control_format_separator_and_surrogate_character_is_made_visible() -> None:
    dangerous = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    kept = [
        character
        for character in EVERY_CHARACTER
        if unicodedata.category(character) in dangerous and harmless(character) == character
    ]
    assert kept == ["\t", "\n"]


def test_characters_that_show_nothing_are_made_visible() -> None:
    assert all(harmless(character).isascii() for character in INVISIBLE_LETTERS)


def test_letters_of_all_languages_signs_and_emoji_stay_as_they_are() -> None:
    text = "Grüße, naïve 東京 שלום مرحبا हिन्दी “quoted” — ✓ 🦉 ﬁ e\u0301 no-break\u00a0space"
    assert harmless(text) == text
    assert harmless_line(text) == text


def test_line_ends_of_windows_are_line_ends_but_a_lone_carriage_return_is_shown() -> None:
    assert harmless("one\r\ntwo\rthree") == "one\ntwo\\rthree"


def test_a_name_stays_on_its_line() -> None:
    assert harmless_line("a\nhuginn: all well\tb\r\n") == "a\\nhuginn: all well\\tb\\r\\n"


def test_nothing_that_is_made_harmless_fails_to_be_written() -> None:
    harmless("".join(EVERY_CHARACTER)).encode("utf-8")


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "https://a\x1b\\b",
        "https://a b",
        "https://bücher.example",
        "https://a\n",
        "file:///x",
        "",
    ],
)
def test_a_link_is_a_web_address_of_printable_ascii(url: str) -> None:
    assert not is_safe_link(url)


def test_a_web_address_may_be_a_link() -> None:
    assert is_safe_link("https://forge.example.org/birds/heron/blob/0123abc/a%20b.md#L1-L2")
