"""The order of a ranked list, the same for every engine: best first, equal scores by id.

Engines give equal scores in any order, and may cut a list in the middle of them. So more is fetched than was asked
for, and more again until the end of the list does not lie among equals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from huginn.index.port import Ask, Found

_TIES = 50  # fetched beyond a list's end, to sort equal scores by id

Engine = Callable[[Sequence[Ask], Sequence[int]], list[list[Found]]]
"""Asks and how many to fetch for each; gives the lists as the engine orders them."""


def ranked_by(engine: Engine, asks: Sequence[Ask]) -> list[list[Found]]:
    """One list for each ask, ordered and cut."""
    limits = [ask.limit + _TIES for ask in asks]
    answers = engine(asks, limits)
    for number, ask in enumerate(asks):
        while _cut_among_equals(answers[number], ask.limit, limits[number]):
            limits[number] *= 4
            answers[number] = engine([ask], [limits[number]])[0]
    return [
        sorted(found, key=lambda entry: (-entry.score, entry.id))[: ask.limit]
        for ask, found in zip(asks, answers, strict=True)
    ]


def _cut_among_equals(found: Sequence[Found], limit: int, fetched: int) -> bool:
    """Whether a list may end in the middle of equal scores that have not all been seen."""
    return len(found) == fetched and len(found) > limit and found[-1].score == found[limit - 1].score
