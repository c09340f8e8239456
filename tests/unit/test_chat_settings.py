"""The settings of chat: what is refused and told by its key, and where the reader's token comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from huginn.chat.settings import ChatSettings, read_token
from huginn.errors import Refused
from huginn.settings import load

CHAT = """
[chat]
homeserver = "https://matrix.example.org/"
user = "@huginn:example.org"
"""
TOKEN = "syt_not-a-real-token_of-chat"


def write(folder: Path, text: str = CHAT) -> Path:
    path = folder / "huginn.toml"
    path.write_text(text)
    return path


def chat(folder: Path, more: str = "") -> ChatSettings:
    settings = load(write(folder, CHAT + more), environment={}).chat
    assert settings is not None
    return settings


def test_without_the_section_there_is_no_chat(tmp_path: Path) -> None:
    assert load(write(tmp_path, ""), environment={"HUGINN_CHAT_TOKEN": TOKEN}).chat is None


def test_all_keys_are_read_and_the_environment_wins(tmp_path: Path) -> None:
    more = """
    token_file = "secrets/token"
    exclude = ["#lobby:example.org", "!id:example.org", "!RS7yiGRyzLMsQaqUUuDOE7C8AV13xYFKsk8on0ExV9c", "#any"]
    puppets = ["@bridge-.*"]
    timeout_seconds = 5
    """
    settings = load(write(tmp_path, CHAT + more), environment={"HUGINN_CHAT_PUPPETS": '["@other-.*"]'}).chat
    assert settings is not None
    assert settings.homeserver == "https://matrix.example.org"
    assert (settings.user, settings.timeout_seconds) == ("@huginn:example.org", 5)
    assert settings.token_file == tmp_path / "secrets" / "token"
    assert len(settings.exclude) == 4
    assert settings.puppets == ("@other-.*",)


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('homeserver = ""', "homeserver"),
        ('homeserver = "matrix.example.org"', "homeserver"),
        ('homeserver = "ftp://matrix.example.org"', "homeserver"),
        ('homeserver = "https://reader:not-a-real-pass@matrix.example.org"', "homeserver"),
        ('homeserver = "https://matrix.example.org?access_token=not-a-real-pass"', "homeserver"),
        ('homeserver = "https://matrix.example.org#not-a-real-pass"', "homeserver"),
        ('homeserver = "https://matrix.example.org/a b"', "homeserver"),
        ('homeserver = "https://matrix.example.org\\u0000"', "homeserver"),
        ('user = "huginn"', "user"),
        ('user = "@huginn"', "user"),
        ('user = "@huginn:example.org\\n"', "user"),
        (f'user = "@{"h" * 250}:example.org"', "user"),
        ('exclude = ["#fine:example.org", "lobby"]', "exclude[1]"),
        ('exclude = ["#lobby:"]', "exclude[0]"),
        ('exclude = ["#"]', "exclude[0]"),
        ('exclude = ["!"]', "exclude[0]"),
        ('exclude = "#lobby:example.org"', "exclude"),
        ('puppets = ["@("]', "puppets[0]"),
        ('puppets = ["bridge-.*"]', "puppets[0]"),
        ('puppets = ["@a{99999999999}"]', "puppets[0]"),
        ('token_file = ""', "token_file"),
        ("timeout_seconds = 0", "timeout_seconds"),
        ("timeout_seconds = inf", "timeout_seconds"),
        ('colour = "red"', "colour"),
        ('token = "not-a-real-pass"', "token"),
    ],
)
def test_a_value_that_cannot_be_used_is_told_by_its_key_and_not_repeated(tmp_path: Path, line: str, key: str) -> None:
    kept = "".join(f"{kept}\n" for kept in CHAT.splitlines() if not kept.startswith(line.partition(" ")[0]))
    with pytest.raises(Refused) as refusal:
        load(write(tmp_path, f"{kept}\n{line}\n"), environment={})
    assert f"\n  chat.{key}: " in str(refusal.value)
    assert "not-a-real-pass" not in str(refusal.value)


@pytest.mark.parametrize("key", ["homeserver", "user"])
def test_homeserver_and_user_are_needed(tmp_path: Path, key: str) -> None:
    kept = "".join(f"{kept}\n" for kept in CHAT.splitlines() if not kept.startswith(key))
    with pytest.raises(Refused, match=rf"chat\.{key}: Field required"):
        load(write(tmp_path, kept), environment={})


def test_the_token_comes_from_the_environment_else_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    settings = chat(tmp_path, 'token_file = "token"')
    assert read_token(settings, {}).get_secret_value() == TOKEN
    assert read_token(settings, {"HUGINN_CHAT_TOKEN": f" {TOKEN}2\n"}).get_secret_value() == f"{TOKEN}2"
    assert read_token(settings, {"HUGINN_CHAT_TOKEN": ""}).get_secret_value() == TOKEN


def test_the_token_is_no_setting_and_in_no_repr(tmp_path: Path) -> None:
    environment = {"HUGINN_CHAT_TOKEN": TOKEN}
    settings = load(write(tmp_path), environment=environment)
    assert settings.chat is not None
    assert TOKEN not in repr(settings) + str(read_token(settings.chat, environment)) + settings.model_dump_json()


def test_settings_need_no_token_to_be_read(tmp_path: Path) -> None:
    assert chat(tmp_path, 'token_file = "nowhere"').user == "@huginn:example.org"


@pytest.mark.parametrize(
    ("content", "environment", "field"),
    [
        (None, {}, "chat.token_file"),
        (b"", {}, "chat.token_file"),
        (b"\xff\xfe", {}, "chat.token_file"),
        (b"syt_one\nsyt_two\n", {}, "chat.token_file"),
        (b"syt_fine", {"HUGINN_CHAT_TOKEN": "syt_sch\u00f6n"}, "HUGINN_CHAT_TOKEN"),
        (b"syt_fine", {"HUGINN_CHAT_TOKEN": "syt_\udcff"}, "HUGINN_CHAT_TOKEN"),
    ],
)
def test_a_token_that_cannot_be_sent_is_refused_by_its_field_and_not_repeated(
    tmp_path: Path, content: bytes | None, environment: dict[str, str], field: str
) -> None:
    if content is not None:
        (tmp_path / "token").write_bytes(content)
    with pytest.raises(Refused) as refusal:
        read_token(chat(tmp_path, 'token_file = "token"'), environment)
    assert refusal.value.field == field
    assert "syt_" not in str(refusal.value)


def test_without_any_token_the_refusal_names_both_ways(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"chat\.token_file: is not set; .*HUGINN_CHAT_TOKEN"):
        read_token(chat(tmp_path), {})
