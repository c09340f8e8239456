"""One ranked list for each text: asks the index, in one batch, or in two where both sides are mixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from huginn.embed.port import Vector
from huginn.index.port import Ask, Found, Place, Reader
from huginn.report import Corpus
from huginn.scrub import Clean
from huginn.search.fuse import WEIGHTS, Candidate, mix, ranked
from huginn.search.query import Mode
from huginn.search.sought import Asked


def ranked_lists(
    index: Reader, asked: Sequence[Asked], places: Mapping[Corpus, Place], mode: Mode, depth: int
) -> list[list[Candidate]]:
    """One list for each text, `depth` deep. Each corpus is asked by itself; their lists are merged by score."""
    lists: list[list[Candidate]] = [[] for _ in asked]
    for corpus, place in places.items():
        if mode is Mode.HYBRID:
            found = _mixed(index, asked, place, WEIGHTS[corpus], depth)
        else:
            found = _one_sided(index, asked, place, mode, depth)
        for merged, of_corpus in zip(lists, found, strict=True):
            merged.extend(of_corpus)
    if mode is Mode.HYBRID:  # the union of two sides: as deep as it comes
        return [ranked(merged) for merged in lists]
    return [ranked(merged)[:depth] for merged in lists]


def _one_sided(index: Reader, asked: Sequence[Asked], place: Place, mode: Mode, depth: int) -> list[list[Candidate]]:
    answers = index.query([Ask(_side(text, mode), place, depth) for text in asked])
    if mode is Mode.WORDS:
        return [[Candidate(hit.id, hit.score, bm25=hit.score) for hit in answer] for answer in answers]
    return [[Candidate(hit.id, hit.score, cosine=hit.score) for hit in answer] for answer in answers]


def _mixed(index: Reader, asked: Sequence[Asked], place: Place, weight: float, depth: int) -> list[list[Candidate]]:
    """The union of both sides' lists; the side that a candidate lacks is asked for in a second batch."""
    asks = [Ask(_side(text, side), place, depth) for text in asked for side in (Mode.MEANING, Mode.WORDS)]
    sides = [_scores(answer) for answer in index.query(asks)]
    lacking = [
        replace(ask, place=replace(place, ids=sorted(other.keys() - mine.keys())), limit=max(1, len(other)))
        for ask, mine, other in zip(asks, sides, _swapped(sides), strict=True)
    ]
    for mine, answer in zip(sides, index.query(lacking), strict=True):
        mine |= _scores(answer)
    return [
        mix([*meaning, *words], bm25=words, cosine=meaning, weight=weight)
        for meaning, words in zip(sides[::2], sides[1::2], strict=True)
    ]


def _side(text: Asked, side: Mode) -> Vector | Clean:
    if side is Mode.WORDS:
        return text.text
    assert text.vector is not None
    return text.vector


def _scores(answer: Sequence[Found]) -> dict[str, float]:
    return {hit.id: hit.score for hit in answer}


def _swapped(sides: Sequence[dict[str, float]]) -> list[dict[str, float]]:
    """Each text's two sides, the other way round."""
    return [sides[number ^ 1] for number in range(len(sides))]
