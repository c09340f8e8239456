"""Which rooms a question may be about: those that the index holds, without those that the settings refuse by now.

What the settings exclude is gone from answers at once; from the index it goes with the next refresh. Signs that only
the homeserver knows (alternative aliases, members in a puppet namespace) are for that refresh.
"""

from __future__ import annotations

from collections.abc import Sequence

from huginn.chat.scope import Rules
from huginn.errors import Refused
from huginn.index.port import Place, Reader
from huginn.settings import Settings


def allowed_rooms(index: Reader, settings: Settings) -> list[str] | None:
    """The ids of the rooms that may be shown; None: all of them.

    Refused are rooms that `[chat] exclude` names by id, or by the alias that their messages are stored with.
    """
    if settings.chat is None or not settings.chat.exclude:
        return None
    rules = Rules(settings.chat.user, settings.chat.exclude)
    rooms = sorted(index.sources("chat"))
    allowed = [room for room in rooms if room not in rules.exclude and not _is_excluded(room, index, rules)]
    return None if allowed == rooms else allowed


def rooms_of(names: Sequence[str] | None, index: Reader, settings: Settings) -> list[str] | None:
    """The ids of rooms that are named by id or by alias, or of all that may be shown; None: every one.

    Raises `Refused` for a room that is not there.
    """
    allowed = allowed_rooms(index, settings)
    if names is None:
        return allowed
    known = set(index.sources("chat") if allowed is None else allowed)
    rooms: set[str] = set()
    for number, name in enumerate(names):
        found = {name} & known or _with_alias(name, known, index)
        if not found:
            raise Refused(
                f"rooms[{number}]",
                f"the index holds no messages of a room {name!r}",
                next_step="'huginn status' lists the rooms; give an id, or an alias with its server",
            )
        rooms |= found
    return sorted(rooms)


def _is_excluded(room: str, index: Reader, rules: Rules) -> bool:
    """Whether the room's alias is: all its windows have the same."""
    point = next(iter(index.stored(Place(corpus="chat", sources=[room]), ["alias"])), None)
    alias = point and point.payload["alias"]
    return alias is not None and rules.excludes(str(alias))


def _with_alias(alias: str, rooms: set[str], index: Reader) -> set[str]:
    """The rooms with an alias: it may have been moved to another room since the first was read."""
    found: set[str] = set()
    while True:
        place = Place(corpus="chat", sources=sorted(rooms - found), aliases=[alias])
        point = next(iter(index.stored(place, ["source"])), None)
        if point is None:
            return found
        found.add(str(point.payload["source"]))
