"""Which room a person means: an id or an alias in, the id of a room out of which something is held or noted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from huginn.chat.notes import RoomNotes, upstream_of
from huginn.checkpoints import Checkpoints
from huginn.errors import Refused
from huginn.forge.found import known_names
from huginn.index.port import Index, Place
from huginn.settings import Settings


def room_named(
    name: str, settings: Settings, indexes: Sequence[Index], checkpoints: Checkpoints, more: Iterable[str] = ()
) -> str:
    """The id of the room that is named; `more` are ids known from elsewhere. Asks no homeserver.

    Raises `Refused` for a repository, for a room that nobody knows, and for an alias that several rooms had.
    """
    repositories = known_names(settings)
    if name in repositories.union(*(index.sources("forge") for index in indexes)):
        raise Refused(
            "room",
            f"{name!r} is a repository: what it holds cannot be purged by time",
            next_step="leave paths out with forge.exclude, or take it out of the settings, and refresh: what is "
            "excluded is forgotten",
        )
    aliases: dict[str, str | None] = dict.fromkeys(more)
    for index in indexes:
        aliases |= dict.fromkeys([*index.sources("chat"), *checkpoints.ledger(index.id, "chat").cursors])
    if settings.chat is not None:
        notes, _ = RoomNotes(checkpoints.store, upstream_of(settings.chat), "").all()
        aliases |= {room: note.alias for room, note in notes.items()}
    if name in aliases:
        return name
    rooms = {room for room, alias in aliases.items() if alias == name}
    for index in indexes:
        place = Place(corpus="chat", aliases=[name])
        rooms |= {str(point.payload["source"]) for point in index.stored(place, ["source"])}
    if len(rooms) > 1:
        raise Refused("room", f"{name[:200]!r} names several", next_step=f"give an id: {', '.join(sorted(rooms))}")
    if not rooms:
        raise Refused("room", f"no room {name[:200]!r} is known", next_step="'huginn status' lists those that are")
    return rooms.pop()
