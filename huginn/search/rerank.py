"""What counts for a candidate beside the mix of both sides: names to the letter, the kind of file, its path. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from huginn.index.port import Payload
from huginn.search.exact import Matches
from huginn.search.fuse import Candidate
from huginn.search.names import defines, name_typed


def file_of(point_id: str, payload: Payload) -> str:
    """What a point is a part of: the file of a chunk; a window stands for itself."""
    return f"{payload['source']}\0{payload['path']}" if payload["corpus"] == "forge" else point_id


def reranked(
    candidates: Sequence[Candidate], payloads: Mapping[str, Payload], text: str, matches: Mapping[str, Matches]
) -> list[Candidate]:
    """The candidates of a text, best first. Where the text is a name, what holds it comes first, with what defines it
    at the head.
    """
    name = name_typed(text)
    holders = matches[name].points if name is not None and name in matches else {}
    scored = {candidate.id: candidate for candidate in candidates}
    for point in holders:
        scored.setdefault(point, Candidate(point, 0.0))
    made = [
        replace(each, exact=0 if each.id not in holders else 2 if name and defines(payloads[each.id], name) else 1)
        for each in scored.values()
    ]
    return sorted(made, key=lambda candidate: (-candidate.exact, -candidate.score, candidate.id))
