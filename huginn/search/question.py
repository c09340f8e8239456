"""The words of a question that tell something, in a form that their inflections share. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from huginn.forge.header import CAMEL

_WORD: Final = re.compile(r"[^\W_]+")
_LEAST: Final = 3  # letters that are left of a word without its ending
_BETWEEN: Final = 8  # characters between two words that stand side by side: a blank, or a short word more
_ENDINGS: Final = ("ings", "ing", "ers", "ies", "ied", "ed", "es", "er", "s")
_OFTEN: Final = re.compile(
    "a|an|and|are|as|at|be|by|can|did|do|does|for|from|had|has|have|how|i|if|in|into|is|it|its|may|me|my|no|not|of|on"
    "|or|our|should|so|that|the|their|them|then|there|these|they|this|to|us|was|we|were|what|when|where|which|who|why"
    "|will|with|would|you|your"
)


def words_of(text: str) -> list[str]:
    """The words of a text in small letters, names taken apart, without English endings and the most frequent words."""
    words = (word.lower() for word in _WORD.findall(CAMEL.sub(" ", text)))
    return [stem(word) for word in words if not _OFTEN.fullmatch(word)]


def stem(word: str) -> str:
    """A word without its ending, where enough of it is left."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST:
            return word.removesuffix(ending)
    return word


def share_of_words(text: str, asked: Sequence[str]) -> float:
    """Which part of the words of a question (of `words_of`) begin a word of a text in small letters."""
    words = set(asked)
    return len(words.intersection(_places(text, frozenset(words))[0])) / len(words) if words else 0.0


def share_of_pairs(text: str, asked: Sequence[str]) -> float:
    """Which part of the pairs of neighbours in a question stand side by side in a text, in the same order."""
    pairs = set(pairwise(asked))
    return len(pairs.intersection(_places(text, frozenset(asked))[1])) / len(pairs) if pairs else 0.0


@lru_cache(maxsize=8)
def _places(text: str, words: frozenset[str]) -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
    """The words of these that begin a word of a text, and the pairs of them with little in between."""
    found = [(match[1], match.start(), match.end()) for match in _beginning(words).finditer(text)]
    pairs = ((one, other) for (one, _, end), (other, start, _) in pairwise(found) if start - end <= _BETWEEN)
    return frozenset(word for word, _, _ in found), frozenset(pairs)


@lru_cache(maxsize=16)
def _beginning(words: frozenset[str]) -> re.Pattern[str]:
    longest_first = sorted(map(re.escape, words), key=lambda word: (-len(word), word))
    return re.compile(rf"(?<![^\W_])({'|'.join(longest_first)})[^\W_]*")
