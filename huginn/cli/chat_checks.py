"""The checks of `[chat]` behind `huginn doctor`: the reader's token, the homeserver, and what is left out.

In: settings. Out: findings. Nothing of a room is read.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from huginn.cli.checks import Finding, Outcome, finding
from huginn.cli.terminal import counted

if TYPE_CHECKING:
    from huginn.chat.settings import ChatSettings


def rooms(settings: ChatSettings) -> list[Finding]:
    """Whether there is a token; whether the homeserver takes it; whether the rooms left out are named by their ids."""
    found = [finding("chat", settings.user, lambda: _token(settings))]
    if found[0].outcome == "well":
        found.append(finding("chat", settings.homeserver.partition("://")[2], lambda: _homeserver(settings)))
    return [*found, finding("chat", "exclude", lambda: _exclude(settings))]


def _token(settings: ChatSettings) -> tuple[Outcome, str]:
    from huginn.chat.settings import read_token

    read_token(settings)
    return "well", "its token is there"


def _homeserver(settings: ChatSettings) -> tuple[Outcome, str]:
    return "well", f"answers, the reader has joined {counted(joined(settings), 'room')}"


def joined(settings: ChatSettings) -> int:
    """How many rooms the homeserver says that the reader has joined. Raises `Refused` or `Unavailable`."""
    from huginn.chat.matrix import open_homeserver

    with closing(open_homeserver(settings)) as homeserver:
        return len(homeserver.joined_rooms())


def _exclude(settings: ChatSettings) -> tuple[Outcome, str]:
    """An alias can be pointed at another room; an id stays."""
    ids = [room for room in settings.exclude if room.startswith("!")]
    if ids:
        return "well", f"names {counted(len(ids), 'room')} by id"
    return (
        "note",
        "names no room by its id: #users, #members and #patrons go by their aliases alone, which can be moved; "
        "add the ids of these rooms to chat.exclude",
    )
