"""What in a question is a name, and whether a point holds it to the letter."""

from __future__ import annotations

from typing import Any

import pytest

from huginn.search.names import defines, holds, name_typed, names_in, place_of_id


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("how does getUserName work?", ["getUserName"]),
        ("what raises ECONNRESET or E404 in `foo`", ["ECONNRESET", "E404", "foo"]),
        ("Session.get() in src/net/sessions.py, and a::b", ["Session.get", "src/net/sessions.py", "a::b"]),
        ("the option --no-fold of __main__", ["--no-fold", "__main__"]),
        ("error 404, see RFC-7616 and #1619", ["404", "RFC-7616", "#1619"]),
        (
            "was it $QoY4eCnzdLx1vDnBpHs2T1rIqqU by @ann:example.org",
            ["$QoY4eCnzdLx1vDnBpHs2T1rIqqU", "@ann:example.org"],
        ),
        ("Python2.6's threads", ["Python2.6"]),
        ("who broke the build, e.g. this and/or that? I don't know.", []),
        ("heron", ["heron"]),
        ("...", []),
    ],
)
def test_names_are_what_nobody_would_write_in_other_words(text: str, names: list[str]) -> None:
    assert names_in(text) == names


def test_only_a_text_of_one_word_is_a_name_typed_as_such() -> None:
    assert name_typed(" `getUserName()` ") == "getUserName"
    assert name_typed("get user name") is None


@pytest.mark.parametrize(
    ("name", "text", "held"),
    [
        ("getUserName", "x = getUserName(y)", True),
        ("getUserName", "getUserNames()", False),
        ("getUserName", "forgetUserName", False),
        ("getUserName", "getusername", False),
        ("user_name", "the_user_name", False),
        ("heron", "Heron!", True),
        ("--no-fold", "say --no-fold.", True),
        ("--no-fold", "--no-folding", False),
        ("E404", "E4041", False),
    ],
)
def test_a_name_is_held_where_it_stands_whole(name: str, text: str, held: bool) -> None:
    assert holds({"text": text, "path": "a.py", "names": []}, name) is held


def test_a_point_holds_its_path_and_its_names_and_defines_the_innermost() -> None:
    payload: dict[str, Any] = {"text": "pass", "path": "src/net/sessions.py", "names": ["Session", "send"]}
    assert holds(payload, "sessions.py")
    assert holds(payload, "Session")
    assert [defines(payload, name) for name in ("send", "sessions.py", "src/net/sessions.py", "Session", "net")] == [
        True, True, True, False, False,
    ]  # fmt: skip


def test_in_a_window_names_are_looked_for_in_what_was_said_not_in_who_said_it() -> None:
    said = [{"event_id": "$a", "sender": "@ann:example.org", "body": "E404 again"}]
    payload = {"text": "2026-03-04 @ann:example.org\nE404 again", "messages": said}
    assert holds(payload, "E404")
    assert not holds(payload, "@ann:example.org")


@pytest.mark.parametrize("name", ["deadbeef1", "0" * 40])
def test_what_looks_like_a_commit_is_looked_up_as_one(name: str) -> None:
    place = place_of_id(name)
    assert place is not None
    assert place.commits == [name]


@pytest.mark.parametrize("name", ["getUserName", "deadbee", "@decorator", "#1619", "12345"])
def test_other_names_are_no_ids(name: str) -> None:
    assert place_of_id(name) is None
