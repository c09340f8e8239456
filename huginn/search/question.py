"""The words of a question that tell something, in a form that their inflections share. Pure."""

from __future__ import annotations

import re
from typing import Final

from huginn.forge.header import CAMEL

_WORD: Final = re.compile(r"[^\W_]+")
_LEAST: Final = 3  # letters that are left of a word without its ending
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
