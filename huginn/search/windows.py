"""Windows of a room that come one after the other, and are shown as one hit. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from huginn.search.sought import Found


def joined_windows(hits: Iterable[Found]) -> list[Found]:
    """The hits, best first, each window joined with that hit before it which it follows, or which follows it.

    A hit that stands in several places is left alone: what comes after it differs from place to place.
    """
    joined: list[Found] = []
    for hit in hits:
        whole, number = hit, len(joined)
        while (place := _neighbour(joined, whole)) is not None:
            whole, number = _join(joined.pop(place), whole), place
        joined.insert(number, whole)
    return joined


def _neighbour(hits: Sequence[Found], hit: Found) -> int | None:
    return next((number for number, before in enumerate(hits) if _meet(before, hit)), None)


def _meet(one: Found, other: Found) -> bool:
    return len(one.copies) <= 1 and len(other.copies) <= 1 and (_follows(one, other) or _follows(other, one))


def _join(one: Found, other: Found) -> Found:
    """The better of the two, with the windows of both."""
    if _follows(other, one):
        return replace(one, payloads=[*one.payloads, *other.payloads], following=other.following)
    return replace(one, payloads=[*other.payloads, *one.payloads], best=one.best + len(other.payloads))


def _follows(later: Found, earlier: Found) -> bool:
    """Whether a hit begins with the window that was found to come next."""
    first, following = later.payloads[0], earlier.following
    return following is not None and all(first[name] == following[name] for name in ("source", "event_id", "part"))
