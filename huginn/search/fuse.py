"""From scores to one order: the mix of both sides for one text, and the fusion of several texts' lists. Pure.

Here live the weights and k, and nowhere else. They were measured (MRR@10): for forge w = 2, .506 against .469 for words
alone and .487 for rank fusion of the sides; for chat w = 0.5, .499 against .488 and .372.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from huginn.report import Corpus

DEPTH = 50
K = 60
K_OF_FILES = 5
"""A list ranks far fewer files than chunks, and most files stand in several lists: with 60 whatever stands somewhere in
all of them would come before what answers one text best (MRR@10 of paragraphs as texts: .643 against .571)."""
SHOWN_OF_A_FILE = 3
DECAY = (1.0, 0.2, 0.1)
"""What the best chunks of a file add to its score, in their order: what is told again counts a little."""
WEIGHTS: Mapping[Corpus, float] = {"forge": 2.0, "chat": 0.5}


@dataclass(frozen=True)
class Candidate:
    """A point for one text: the score it is ranked by, and those of both sides."""

    id: str
    score: float
    bm25: float | None = None
    cosine: float | None = None
    exact: int = 0


@dataclass(frozen=True)
class Fused:
    """A point in the end: its fused score, and for each list that holds it (by number) its rank from 1.

    By file, the ranks are those of its file; `others` are the further chunks of the file that may be shown.
    """

    id: str
    score: float
    ranks: Mapping[int, int]
    others: Sequence[str] = ()


def mix(ids: Iterable[str], bm25: Mapping[str, float], cosine: Mapping[str, float], weight: float) -> list[Candidate]:
    """The candidates of one text by `(bm25 / best bm25 + w * cosine) / (1 + w)`, best first, ties by id.

    Without a word in common the first term is 0, without a vector the second.
    """
    best = max(bm25.values(), default=0.0)
    candidates = []
    for point_id in set(ids):
        of_words = bm25.get(point_id, 0.0) / best if best > 0 else 0.0
        score = (of_words + weight * cosine.get(point_id, 0.0)) / (1 + weight)
        candidates.append(Candidate(point_id, score, bm25.get(point_id), cosine.get(point_id)))
    return ranked(candidates)


def ranked(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Best first, equal scores by id."""
    return sorted(candidates, key=lambda candidate: (-candidate.score, candidate.id))


def fuse(lists: Sequence[Sequence[str]], k: int = K) -> list[Fused]:
    """Reciprocal rank fusion (Cormack, Clarke, Buettcher 2009): score = sum over the lists of 1 / (k + rank).

    Ranks count from 1; a point that stands twice in a list counts at its better rank. Equal scores are ordered by the
    best single rank, then by id.
    """
    ranks: dict[str, dict[int, int]] = {}
    for number, ids in enumerate(lists):
        for rank, point_id in enumerate(ids, start=1):
            ranks.setdefault(point_id, {}).setdefault(number, rank)
    fused = [
        # Summed in the order of ranks, so that equal ranks give equal sums whatever list they come from.
        Fused(point_id, sum(1 / (k + rank) for rank in sorted(of_lists.values())), of_lists)
        for point_id, of_lists in ranks.items()
    ]
    return sorted(fused, key=_order)


def _order(hit: Fused) -> tuple[float, int, str]:
    return -hit.score, min(hit.ranks.values()), hit.id


def fuse_files(lists: Sequence[Sequence[Candidate]], files: Mapping[str, str], k: int = K_OF_FILES) -> list[Fused]:
    """The fusion over files: each list ranks files, and a file is shown by its best chunks, at most three.

    `files` names the file of each point. In each list, what matches exactly comes first; then come the files by the
    scores of their best chunks, then all second chunks, then all third ones. Which chunks of a file are its best is
    the fusion of the lists over chunks. Equal scores are ordered as by `fuse`.
    """
    best: dict[str, list[str]] = {}
    for hit in fuse([[candidate.id for candidate in candidates] for candidates in lists]):
        best.setdefault(files[hit.id], []).append(hit.id)
    places = fuse([[f"{number} {file}" for file, number in _places(candidates, files)] for candidates in lists], k)
    fused = []
    for place in places:
        number, _, file = place.id.partition(" ")
        shown = best[file][:SHOWN_OF_A_FILE]
        point_id = shown[int(number)]
        others = [other for other in shown if other != point_id]
        fused.append(Fused(point_id, place.score, place.ranks, others))
    return sorted(fused, key=_order)


def _places(candidates: Sequence[Candidate], files: Mapping[str, str]) -> list[tuple[str, int]]:
    """Files in the order of one list, each with a number: 0 where its best chunk stands, 1 and 2 for the next two."""
    of_files: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        of_files.setdefault(files[candidate.id], []).append(candidate)
    places = []
    for file, chunks in of_files.items():
        whole = sum(part * chunk.score for part, chunk in zip(DECAY, chunks, strict=False))
        scores = [whole, *(chunk.score for chunk in chunks[1:SHOWN_OF_A_FILE])]
        exact = sorted((chunk.exact for chunk in chunks), reverse=True)
        places += [((-exact[number], number, -score), (file, number)) for number, score in enumerate(scores)]
    return [place for _, place in sorted(places, key=itemgetter(0))]
