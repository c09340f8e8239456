"""Which points a question is about: names are looked up, and become the places to ask in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from huginn.errors import Refused
from huginn.index.port import Place, Reader
from huginn.report import Corpus
from huginn.search.query import Query
from huginn.settings import Settings


def places_of(query: Query, index: Reader, settings: Settings) -> dict[Corpus, Place]:
    """The place to ask in each corpus. Raises `Refused` for a repository or a room that nobody knows.

    Where rooms are named and the corpus of rooms holds nothing, it is not asked: then there is nothing to know. The
    index is asked only about names of which the settings do not tell: each question may be one to another process.
    """
    places: dict[Corpus, Place] = {}
    for corpus in query.searched():
        if corpus == "forge":
            _require_known(query, index, settings)
            place = Place(corpus="forge", sources=query.repos, within=query.paths)
        elif query.rooms is None or index.count(Place(corpus="chat")):
            place = Place(corpus="chat", sources=rooms_of(query.rooms, index), senders=query.senders)
        else:
            continue
        places[corpus] = replace(place, after=query.after, before=query.before)
    return places


def rooms_of(names: Sequence[str] | None, index: Reader) -> list[str] | None:
    """The ids of rooms that are named by id or by alias; None: all. Raises `Refused` for a room that is not there."""
    if names is None:
        return None
    known = index.sources("chat")
    rooms: set[str] = set()
    for number, name in enumerate(names):
        found = {name} & known.keys() or _with_alias(name, set(known), index)
        if not found:
            raise Refused(
                f"rooms[{number}]",
                f"the index holds no messages of a room {name!r}",
                next_step="'huginn status' lists the rooms; give an id, or an alias with its server",
            )
        rooms |= found
    return sorted(rooms)


def _with_alias(alias: str, rooms: set[str], index: Reader) -> set[str]:
    """The rooms with an alias: it may have been moved to another room since the first was read."""
    found: set[str] = set()
    while True:
        place = Place(corpus="chat", sources=sorted(rooms - found), aliases=[alias])
        point = next(iter(index.stored(place, ["source"])), None)
        if point is None:
            return found
        found.add(str(point.payload["source"]))


def _require_known(query: Query, index: Reader, settings: Settings) -> None:
    """A name that nobody knows is a slip of the pen, and would answer nothing without a word."""
    known = {repository.name for repository in settings.forge.repos}
    if known.issuperset(query.repos or ()):
        return
    known |= index.sources("forge").keys()
    unknown = sorted(set(query.repos or ()) - known)
    if unknown:
        names = ", ".join(sorted(known)) or "none"
        raise Refused("repos", f"there is no repository {unknown[0]!r}", next_step=f"there are: {names}")
