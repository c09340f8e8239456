"""The port to the homeserver: what a refresh asks of it, without a word on how.

Entries come as the server sent them, untouched: what an event is, is decided in `huginn.chat.events`. Everything that
goes wrong and is not named here is `Unavailable` (part `homeserver`; tried again in vain), or `Refused` for a token
or an address that must be changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from huginn.chat.scope import ScopedRoom

RawEvent = Mapping[str, object]
"""An event as the server sent it."""


@dataclass(frozen=True)
class Page:
    """Some entries of a room's history, in the server's order; an entry may be no event, nor even an object.

    `end` is where the next page begins; None on the last one.
    """

    events: Sequence[object]
    end: str | None


@dataclass(frozen=True)
class Changes:
    """What happened since a token: joined rooms in which anything did, and those of them whose state changed."""

    token: str
    rooms: frozenset[str]
    state_changed: frozenset[str]


@dataclass(frozen=True)
class RoomFacts:
    """What decides whether a room is in scope: its state, its aliases in the directory, every member event ever."""

    room: str
    state: Sequence[object]
    aliases: Sequence[str]
    members: Sequence[object]


class FactsUnread(Exception):
    """Could not look. The text holds ids and a status only."""


class TokenUnknown(Exception):
    """The homeserver does not know this token of a place in its stream: start anew."""


class Homeserver(Protocol):
    """What a refresh asks of a homeserver."""

    @property
    def user(self) -> str:
        """The reader's id."""
        ...

    def joined_rooms(self) -> frozenset[str]:
        """The ids of the rooms that the reader is in."""
        ...

    def direct_rooms(self) -> frozenset[str]:
        """The rooms that the reader's account calls direct chats. Raises `FactsUnread`."""
        ...

    def changes(self, since: str | None) -> Changes:
        """What happened since a token, or, without one, where everything stands. Raises `TokenUnknown`."""
        ...

    def facts(self, room: str) -> RoomFacts:
        """What decides whether a room is in scope. Raises `FactsUnread`."""
        ...

    def messages(self, room: ScopedRoom, since: str | None) -> Iterator[Page]:
        """A room's history from a token, or from its beginning, oldest first. Raises `FactsUnread`, `TokenUnknown`."""
        ...

    def event(self, room: ScopedRoom, event_id: str) -> RawEvent | None:
        """One event, or None where there is none. Raises `FactsUnread`."""
        ...

    def edits(self, room: ScopedRoom, event_id: str) -> Sequence[RawEvent]:
        """All events that want to replace one. Raises `FactsUnread`."""
        ...

    def close(self) -> None:
        """Let go of the connection."""
        ...
