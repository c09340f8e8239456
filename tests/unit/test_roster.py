"""What the roster says is to be done: its file, the difference to the rooms joined, and the question on a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from huginn.chat.roster import Sought, difference, read_roster
from huginn.chat.settings import RosterSettings, read_roster_token
from huginn.cli.exits import ExitCode
from huginn.errors import Refused
from huginn.settings import load
from tests.support.command_line import CommandLine

BIRDS = '[[rooms]]\nroom = "#birds:example.org"\nasked_by = "@ann:example.org"\nwhy = "it is asked about"\n'


def told(sought: list[Sought], joined: set[str]) -> list[tuple[str, str]]:
    return [(room.name, room.outcome) for room in difference(sought, joined)]


def test_what_is_missing_is_joined_and_what_is_not_in_the_roster_is_left() -> None:
    sought = [Sought("#a:x", "!a"), Sought("!b", "!b"), Sought("#c:x", "!c", "bridged: a state event")]
    assert told(sought, {"!b", "!e", "!d"}) == [
        ("#a:x", "join"),
        ("!b", "stays"),
        ("#c:x", "refused"),
        ("!d", "leave"),
        ("!e", "leave"),
    ]
    assert [room.reason for room in difference(sought, {"!b"})] == [None, None, "bridged: a state event"]


def test_while_a_room_cannot_be_found_no_room_is_left() -> None:
    found = difference([Sought("#a:x", None, "cannot be found"), Sought("#b:x", "!b")], {"!d"})
    assert [(room.name, room.outcome) for room in found] == [("#a:x", "failed"), ("#b:x", "join"), ("!d", "stays")]
    assert "#a:x" in (found[2].reason or "")


def test_a_room_under_two_names_is_one_room() -> None:
    assert told([Sought("#a:x", "!a"), Sought("!a", "!a")], set()) == [("#a:x", "join")]
    assert told([Sought("#a:x", "!a"), Sought("!a", "!a")], {"!a"}) == [("#a:x", "stays")]


def test_an_empty_roster_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "roster.toml"
    path.write_text("")
    assert read_roster(path).rooms == ()
    with pytest.raises(Refused, match=r"chat\.roster\.file: names no room"):
        difference([], {"!a"})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (BIRDS.replace("#birds:example.org", "birds"), "rooms.0.room"),
        (BIRDS.replace("#birds:example.org", "#birds"), "whole alias"),
        (BIRDS.replace('why = "it is asked about"\n', ""), "rooms.0.why"),
        (BIRDS.replace("it is asked about", ""), "rooms.0.why"),
        (BIRDS.replace("asked_by", "asked"), "rooms.0.asked_by"),
        ("[[room]]", "room"),
        ("[[rooms", "no valid TOML"),
    ],
)
def test_a_file_that_is_no_roster_is_refused_and_what_is_wrong_is_told(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "roster.toml"
    path.write_text(text)
    with pytest.raises(Refused, match=r"^chat\.roster\.file: ") as refusal:
        read_roster(path)
    assert told in str(refusal.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot read"):
        read_roster(tmp_path / "roster.toml")


def test_the_token_is_the_environments_or_in_its_file_and_never_the_readers(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("of-the-file\n")
    settings = RosterSettings.model_validate(
        {"file": "roster.toml", "token_file": "token"}, context={"folder": tmp_path}
    )
    assert settings.file == tmp_path / "roster.toml"
    assert read_roster_token(settings, {"HUGINN_CHAT_TOKEN": "reader"}).get_secret_value() == "of-the-file"
    assert read_roster_token(settings, {"HUGINN_ROSTER_TOKEN": "given"}).get_secret_value() == "given"
    with pytest.raises(Refused, match=r"chat\.roster\.token_file: is not set"):
        read_roster_token(settings.model_copy(update={"token_file": None}), {"HUGINN_CHAT_TOKEN": "reader"})


def test_the_environments_token_is_no_setting(huginn: CommandLine) -> None:
    assert load(environment={"HUGINN_ROSTER_TOKEN": "given"}).chat is None


def test_without_a_roster_in_the_settings_the_next_step_is_told(huginn: CommandLine) -> None:
    ended = huginn("roster", "--dry-run")
    assert ended.code == ExitCode.REFUSED
    assert "[chat.roster]" in ended.err
