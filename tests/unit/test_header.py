"""The header is one bounded line that holds path and names as written and as words."""

from hypothesis import given
from hypothesis import strategies as st

from huginn.forge.header import LIMIT, header


def test_path_and_names_stand_as_written_and_as_words() -> None:
    assert header("requests", "src/requests/sessions.py", ("Session", "send")) == (
        "requests src/requests/sessions.py | src requests sessions py | Session send | session send"
    )


def test_without_names_only_the_path_stands() -> None:
    assert header("r", "a/b.md", ()) == "r a/b.md | a b md"


def test_words_are_taken_apart_where_they_were_joined() -> None:
    assert header("r", "HTTPServer/getUserName-v2.ts", ("snake_case.dotName", "größeÄndern")).split(" | ")[1:] == [
        "http server get user name v2 ts",
        "snake_case.dotName größeÄndern",
        "snake case dot name größe ändern",
    ]


def test_the_innermost_three_names_stand() -> None:
    assert "| b c d |" in header("r", "x.py", ("a", "b", "c", "d"))


def test_a_long_path_keeps_its_end() -> None:
    line = header("r", "very/long/folder/" * 30 + "last.py", ("Inner",))
    assert "last.py |" in line
    assert line.endswith("| Inner | inner")


@given(st.text(max_size=200), st.text(max_size=500), st.lists(st.text(max_size=100), max_size=5))
def test_it_is_one_bounded_line_without_control_characters(repo: str, path: str, names: list[str]) -> None:
    line = header(repo, path, names)
    assert len(line) <= LIMIT
    assert line.isprintable()
    assert line == header(repo, path, names)
