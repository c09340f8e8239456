"""The words that are marked are those that the index takes for equal."""

from __future__ import annotations

import pytest

from huginn.search.marking import marks, tokens_asked


@pytest.mark.parametrize(
    ("asked", "text", "marked"),
    [
        ("walked lines", "It walks the Line, outline.", ["walks", "Line"]),
        ("user", "getUserName(user_name)", ["User", "user"]),
        ("get user name", "getUserName", ["getUserName"]),
        ("getUserName", "getUserName getusername a user", ["getUserName", "getusername", "user"]),
        ("getusername", "getUserName getUserId", ["getUserName"]),
        ("user name", "the user_name of user_id", ["user_name", "user"]),
        ("the of a", "the heron of a pond", []),
        ("naïve 東京", "A naïve 東京", ["naïve", "東京"]),
        ("E404", "error E404, E4040 or 404", ["E404"]),
        ("?!", "what?!", []),
    ],
)
def test_words_that_the_index_takes_for_equal_are_marked(asked: str, text: str, marked: list[str]) -> None:
    assert [text[start:end] for start, end in marks(text, tokens_asked([asked]))] == marked


def test_the_words_of_all_texts_are_marked() -> None:
    asked = tokens_asked(["heron", "reeds"])
    assert marks("A heron in reeds", asked) == [(2, 7), (11, 16)]
    assert marks("A heron in reeds", tokens_asked([])) == []
