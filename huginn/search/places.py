"""Which points a question is about: names are looked up, and become the places to ask in."""

from __future__ import annotations

from dataclasses import replace

from huginn.errors import Refused
from huginn.index.port import Place, Reader
from huginn.report import Corpus
from huginn.search.query import Query
from huginn.search.rooms import rooms_of
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
            place = Place(corpus="chat", sources=rooms_of(query.rooms, index, settings), senders=query.senders)
        else:
            continue
        places[corpus] = replace(place, after=query.after, before=query.before)
    return places


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
