"""The section `[chat]` of the settings: which homeserver is read, as whom, and what of it is left out.

In: the section's values. Out: frozen settings, or what is wrong with them; and, for a refresh alone, the reader's
token, or, for `huginn roster` alone, its own: from the environment, else from its file. These are the only secrets that
may come from the environment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr

from huginn.errors import Refused
from huginn.secret_file import is_secret, read_secret
from huginn.section import LocalPath, Section, http_parts

TOKEN_VARIABLE = "HUGINN_CHAT_TOKEN"
"""The environment's variable that gives the token in place of a file."""

ROSTER_TOKEN_VARIABLE = "HUGINN_ROSTER_TOKEN"
"""The environment's variable that gives the roster's token in place of a file."""

_USER = re.compile(r"@[!-9;-~]+:[^\s@#!]+")
_ROOM = re.compile(r"#[^\s:]+(:[^\s@#!]+)?|![^\s!@#]+")
_LONGEST_ID = 255  # bytes; the Matrix specification, appendices, "Common Identifier Format"


def _checked_homeserver(url: str) -> str:
    """The address as given. What is wrong is told without repeating it: it could hold a password."""
    parts = http_parts(url)
    if parts is None or not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError('give the address of a homeserver, such as "https://matrix.example.org"')
    if "@" in parts.netloc:
        raise ValueError("take user and password out of the address; give the token in a file as token_file")
    if parts.query or parts.fragment:
        raise ValueError("take out what follows the ? or #")
    return url.rstrip("/")


def _checked_user(user: str) -> str:
    if not _is_id(_USER, user):
        raise ValueError('give the whole id of the reader, such as "@huginn:example.org"')
    return user


def checked_room(room: str) -> str:
    """An alias or id of a room as given, if it is one; else ValueError."""
    if not _is_id(_ROOM, room):
        raise ValueError('give the alias of a room, such as "#lobby:example.org", or its id, which begins with !')
    return room


def _checked_puppet(pattern: str) -> str:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        raise ValueError('is no valid regular expression; write it as in "@bridge-.*"') from None
    if not pattern.startswith("@") or not pattern.isprintable():
        raise ValueError('write a regular expression for whole ids of users, such as "@bridge-.*"')
    return pattern


def _is_id(form: re.Pattern[str], text: str) -> bool:
    return bool(form.fullmatch(text)) and text.isprintable() and len(text.encode()) <= _LONGEST_ID


class RosterSettings(Section):
    """`[chat.roster]`: which rooms the reader shall be in, by a file, and the token of who lets it in.

    The token is that of an admin of the homeserver or, where there is none, the reader's own.
    """

    file: LocalPath
    token_file: LocalPath | None = None


class ChatSettings(Section):
    """Which homeserver is read, as whom, and what of it is left out.

    `exclude` and `puppets` stand beside what is in the code; `timeout_seconds` is the time limit of one request.
    """

    homeserver: Annotated[str, AfterValidator(_checked_homeserver)]
    user: Annotated[str, AfterValidator(_checked_user)]
    token_file: LocalPath | None = None
    exclude: tuple[Annotated[str, AfterValidator(checked_room)], ...] = ()
    puppets: tuple[Annotated[str, AfterValidator(_checked_puppet)], ...] = ()
    timeout_seconds: float = Field(120, gt=0, le=86_400, allow_inf_nan=False)
    roster: RosterSettings | None = None


def read_token(settings: ChatSettings, environment: Mapping[str, str] = os.environ) -> SecretStr:
    """The reader's token. For a refresh alone: a search needs none.

    Raises `Refused` (field `chat.token_file`) where there is none, or none that can be sent.
    """
    whose = f"the token of {settings.user}"
    return _secret(environment, TOKEN_VARIABLE, settings.token_file, "chat.token_file", whose)


def read_roster_token(settings: RosterSettings, environment: Mapping[str, str] = os.environ) -> SecretStr:
    """The token that `huginn roster` works with, and nothing else.

    Raises `Refused` (field `chat.roster.token_file`) where there is none, or none that can be sent.
    """
    whose = "the token of an admin of the homeserver"
    return _secret(environment, ROSTER_TOKEN_VARIABLE, settings.token_file, "chat.roster.token_file", whose)


def _secret(
    environment: Mapping[str, str], variable: str, token_file: Path | None, field: str, whose: str
) -> SecretStr:
    given = environment.get(variable, "").strip()
    if given:
        if not is_secret(given):
            raise Refused(variable, "holds no token", next_step=f"set it to {whose} alone")
        return SecretStr(given)
    if token_file is None:
        next_step = f"name a file that holds {whose}, or give the token as {variable}"
        raise Refused(field, "is not set", next_step=next_step)
    return SecretStr(read_secret(token_file, field=field, kind="token"))
