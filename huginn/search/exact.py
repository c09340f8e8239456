"""Looks names up to the letter, over all that is searched: not only among what ranks first for a whole question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from huginn.index.port import Ask, Payload, Place, Reader
from huginn.report import Corpus
from huginn.scrub import Clean
from huginn.search.fuse import DEPTH
from huginn.search.names import holds, place_of_id

_DEEPER = 20 * DEPTH  # for a name whose parts are frequent and that none of the first points holds


@dataclass(frozen=True)
class Matches:
    """The points found that hold a name, with their payloads; `is_known`: also without any, a person or room, say."""

    points: Mapping[str, Payload]
    is_known: bool


def look_up(index: Reader, names: Sequence[Clean], places: Mapping[Corpus, Place]) -> dict[str, Matches]:
    """For each name the points that hold it, 50 or so of each corpus at most."""
    found: dict[str, dict[str, Payload]] = {str(name): {} for name in names}
    known = {str(name) for name in names if _is_known(index, name, places, found[str(name)])}
    for depth in (DEPTH, _DEEPER):
        asks = [(name, Ask(name, place, depth)) for name in names for place in places.values()]
        asks = [(name, ask) for name, ask in asks if not found[str(name)] and str(name) not in known]
        answers = [[hit.id for hit in answer] for answer in index.query([ask for _, ask in asks])] if asks else []
        payloads = index.fetch(sorted({point for answer in answers for point in answer})) if asks else {}
        for (name, _), answer in zip(asks, answers, strict=True):
            found[str(name)] |= {id_: payloads[id_] for id_ in answer if id_ in payloads and holds(payloads[id_], name)}
        if not any(len(answer) == depth for answer in answers):
            break
    return {name: Matches(points, bool(points) or name in known) for name, points in found.items()}


def _is_known(index: Reader, name: str, places: Mapping[Corpus, Place], points: dict[str, Payload]) -> bool:
    """Whether the name is an id that the index knows. An event's and a commit's points are what was asked for."""
    of_id = place_of_id(name)
    if of_id is None or of_id.corpus is None or of_id.corpus not in places:
        return False
    given = {field: value for field, value in vars(of_id).items() if value is not None}
    place = places[of_id.corpus]
    filters = {field: getattr(place, field) for field in given}
    if any(filters[field] is not None and not set(value) <= set(filters[field]) for field, value in given.items()):
        return False  # a filter asks for others
    place = replace(place, **given)
    ids = [point.id for point in islice(index.stored(place, ["corpus"]), DEPTH)]
    if of_id.events or of_id.commits:
        points |= index.fetch(ids) if ids else {}
    return bool(ids)
