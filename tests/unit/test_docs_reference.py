"""The reference names every exit code, setting, command and field that there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import click
import pytest
from pydantic import BaseModel

from huginn.chat.roster import RosterReport, RosterRoom
from huginn.chat.settings import ROSTER_TOKEN_VARIABLE, TOKEN_VARIABLE, ChatSettings, RosterSettings
from huginn.cli.checks import Finding
from huginn.cli.exits import MEANING
from huginn.cli.program import program
from huginn.forge.discovery_settings import DiscoverSettings
from huginn.purging import PurgeReport
from huginn.report import Drift, ItemStatus, RunReport, SourceReport, SourceStatus, StatusReport
from huginn.search import (
    Around,
    ChatCitation,
    Exact,
    Following,
    ForgeCitation,
    Hit,
    Listing,
    ListQuery,
    Message,
    MessageWindow,
    Query,
    Rank,
    RoomMessage,
    SearchResult,
)
from huginn.settings import RepositorySettings, Settings
from huginn.verify import Fault, FaultKind, VerifyReport

REFERENCE = (Path(__file__).parents[2] / "docs" / "reference.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """The text under one heading."""
    return REFERENCE.split(f"# {title}\n", 1)[1].split("\n#", 1)[0]


def test_the_exit_codes_are_those_of_the_code() -> None:
    rows = [line.split("|")[1:3] for line in section("Exit codes").splitlines() if line.startswith("| ")][2:]
    told = {int(code): meaning.strip() for code, meaning in rows}
    assert told.keys() == {code.value for code in MEANING}
    assert all(told[code].startswith(meaning) for code, meaning in MEANING.items())


def test_every_setting_is_listed_with_its_default_and_variable() -> None:
    table = section("Settings")
    chat = ChatSettings(homeserver="https://matrix.example.org", user="@huginn:example.org")
    for name, value in Settings(chat=chat):
        keys = {f"{name}.{key}": of_key for key, of_key in value} if isinstance(value, BaseModel) else {name: value}
        for key, default in keys.items():
            [row] = [line for line in table.splitlines() if line.startswith(f"| `{key}` |")]
            assert f"`HUGINN_{key.upper().replace('.', '_')}`" in row
            if isinstance(default, int | float) and not isinstance(default, bool):
                assert f"| {default:g} |" in row or f"| {default} |" in row
    for key in (*RepositorySettings.model_fields, *DiscoverSettings.model_fields, *RosterSettings.model_fields):
        assert f"\n| `{key}` |" in table
    assert f"`{TOKEN_VARIABLE}`" in table
    assert f"`{ROSTER_TOKEN_VARIABLE}`" in table


@pytest.mark.parametrize("command", sorted(program.commands))
def test_every_command_is_listed_with_its_options(command: str) -> None:
    text = section("Commands") + REFERENCE.split("### search", 1)[1].split("## Exit codes", 1)[0]
    assert f"`huginn {command}" in text
    found = program.commands[command]
    inner = found.commands if isinstance(found, click.Group) else {}
    assert [name for name in inner if f"`huginn {command} {name}" not in text] == []
    for parameter in [parameter for one in (found, *inner.values()) for parameter in one.params]:
        options = [option for option in parameter.opts if option.startswith("-")]
        assert not options or any(option in text for option in options)


@pytest.mark.parametrize(
    ("title", "models"),
    [
        ("refresh", (RunReport, SourceReport, Drift)),
        ("status", (StatusReport, SourceStatus, ItemStatus)),
        ("search", (SearchResult, Exact, Hit, Around, Rank, ForgeCitation, ChatCitation, Message, Following)),
        ("chat search", (Listing, ListQuery, RoomMessage)),
        ("chat window", (MessageWindow,)),
        ("purge", (PurgeReport,)),
        ("roster", (RosterReport, RosterRoom)),
        ("doctor", (Finding,)),
        ("verify", (VerifyReport, Fault)),
    ],
)
def test_every_field_of_a_document_is_described(title: str, models: tuple[type[BaseModel], ...]) -> None:
    text = REFERENCE.split("## JSON documents", 1)[1].split(f"### {title}\n", 1)[1].split("\n### ", 1)[0]
    for model in models:
        missing = [name for name in model.model_fields if not re.search(rf'[`"\.]{name}[`"\[]', text)]
        assert missing == []


def test_every_kind_of_fault_is_described() -> None:
    table = section("verify")
    kinds = [kind for of_some in get_args(FaultKind) for kind in get_args(of_some) or (of_some,)]
    assert [kind for kind in kinds if f"| `{kind}` |" not in table] == []


def test_a_query_has_an_option_for_each_field() -> None:
    chat = program.commands["chat"]
    assert isinstance(chat, click.Group)
    assert {*ListQuery.model_fields} <= {parameter.name for parameter in chat.commands["search"].params}
    names = {parameter.name for parameter in program.commands["search"].params}
    assert {*Query.model_fields} - {"fold"} <= names
    assert "no_fold" in names
