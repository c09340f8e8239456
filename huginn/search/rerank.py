"""What counts for a candidate beside the mix of both sides: names to the letter, the words of its path, its kind. Pure.

Here live these weights, and nowhere else; how they were measured stands in docs/relevance.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from huginn.index.port import Payload
from huginn.search.exact import Matches
from huginn.search.fuse import Candidate
from huginn.search.names import defines, name_typed, names_in, written
from huginn.search.question import share_of_pairs, share_of_words, words_of

PATH = 0.3
"""Added where all words of a question stand in a path; a part of it for a part of them."""
NAME, DEFINES = 0.08, 0.15
"""Added where a name in a question stands to the letter, and again where it is defined; of several, their mean."""
WORDS, PAIRS = 0.5, 0.4
"""Added where a window of messages has all words of a question, and all that stand side by side in it as pairs."""
TEST, CHANGE_LOG = 0.75, 0.7
"""What the scores of tests and change logs are multiplied by, unless the question asks for such.

A test says what the thing it tests says, and a change log names everything that there is: both crowd out what they are
about.
"""

_TEST = re.compile(
    r"(?:^|/)(?:tests?|testing|testdata|__tests__|specs?)/|(?:^|/)(?:test_[^/]*|conftest\.py)$"
    r"|[_.-](?:tests?|specs?)\.[^/]*$|[a-z0-9]Tests?\.\w+$"
)
_CHANGE_LOG = re.compile(
    r"(?:^|/)(?:changes|change-?log|history|news|releases|release[-_]?notes|authors|contributors)(?:\.[^/]*)?$",
    re.IGNORECASE,
)
_OF_TESTS = frozenset(["test", "spec"])
_OF_CHANGE_LOGS = frozenset(["changelog", "history", "release", "releas", "author", "contributor"])


def file_of(point_id: str, payload: Payload) -> str:
    """What a point is a part of: the file of a chunk; a window stands for itself."""
    return f"{payload['source']}\0{payload['path']}" if payload["corpus"] == "forge" else point_id


def reranked(
    candidates: Sequence[Candidate], payloads: Mapping[str, Payload], text: str, matches: Mapping[str, Matches]
) -> list[Candidate]:
    """The candidates of a text, best first. Where the text is a name, what holds it comes first, with what defines it
    at the head.
    """
    asked = words_of(text)
    scores = {each.id: _score(each.score, payloads[each.id], asked) for each in candidates}
    names = [name for name in names_in(text) if name in matches]
    for name in names:
        for point in matches[name].points.keys() & scores.keys():
            scores[point] += (NAME + DEFINES * defines(payloads[point], name)) / len(names)
    scored = {each.id: replace(each, score=scores[each.id]) for each in candidates}
    if (name_alone := name_typed(text)) in names:
        for point, payload in matches[name_alone].points.items():
            found = scored.get(point) or Candidate(point, 0.0)
            scored[point] = replace(found, exact=1 + defines(payload, name_alone))
    return sorted(scored.values(), key=lambda candidate: (-candidate.exact, -candidate.score, candidate.id))


def _score(mixed: float, payload: Payload, asked: Sequence[str]) -> float:
    """Held to 1 at most in each corpus, so that the two can be merged."""
    if payload["corpus"] == "chat":
        said = "\n".join(written(payload)).lower()
        added = WORDS * share_of_words(said, asked) + PAIRS * share_of_pairs(said, asked)
        return (mixed + added) / (1 + WORDS + PAIRS)
    share, factor = _of_path(str(payload["path"]), frozenset(asked))
    return factor * (mixed + PATH * share) / (1 + PATH)


@lru_cache(maxsize=4096)  # many candidates are of one file
def _of_path(path: str, asked: frozenset[str]) -> tuple[float, float]:
    """Which part of the words that are asked stands in a path, and what its kind makes of a score."""
    share = len(asked.intersection(words_of(path))) / len(asked) if asked else 0.0
    factor = 1.0
    if _TEST.search(path) and not asked & _OF_TESTS:
        factor = TEST
    elif _CHANGE_LOG.search(path) and not asked & _OF_CHANGE_LOGS:
        factor = CHANGE_LOG
    return share, factor
