"""Checks every answer of an embedder: number, dimensions, finite, not zero.

In: an embedder and texts. Out: for each text its vector, or the culprit's reason. No text ever gets its neighbour's
vector: an answer that is wrong anywhere is refused as a whole, and the batch is halved until the culprit is alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from huginn.embed.port import BatchFailed, Culprit, Embedder, Vector
from huginn.errors import Unavailable
from huginn.scrub import Clean, scrub

PROBE = "The quick brown fox jumps over the lazy dog."


def embed_all(embedder: Embedder, texts: Sequence[Clean]) -> list[Vector | Culprit]:
    """Embed `texts` in batches. Raises `Unavailable` if the embedder is away, or fails for a harmless text too."""
    answers: list[Vector | Culprit] = []
    for start in range(0, len(texts), embedder.batch_size):
        answers.extend(_embed_or_halve(embedder, texts[start : start + embedder.batch_size]))
    return answers


def check_answer(vectors: Sequence[Vector], count: int, dimensions: int) -> None:
    """Raise `BatchFailed` unless there are `count` usable vectors of `dimensions` numbers."""
    if len(vectors) != count:
        raise BatchFailed(f"{len(vectors)} vectors came back for {count} texts")
    for vector in vectors:
        if vector.shape != (dimensions,):
            raise BatchFailed(f"a vector of shape {vector.shape} came back instead of ({dimensions},)")
        if not np.isfinite(vector).all():
            raise BatchFailed("a vector with a number that is not finite came back")
        if not vector.any():
            raise BatchFailed("a vector of nothing but zeros came back")


def _embed_or_halve(embedder: Embedder, texts: Sequence[Clean]) -> Iterable[Vector | Culprit]:
    try:
        return _checked(embedder, texts)
    except BatchFailed as failure:
        if len(texts) == 1:
            _require_sound(embedder, failure)
            return [Culprit(str(failure))]
    middle = len(texts) // 2
    return [*_embed_or_halve(embedder, texts[:middle]), *_embed_or_halve(embedder, texts[middle:])]


def _checked(embedder: Embedder, texts: Sequence[Clean]) -> Sequence[Vector]:
    vectors = embedder.embed(texts)
    check_answer(vectors, len(texts), embedder.identity.dimensions)
    return vectors


def _require_sound(embedder: Embedder, failure: BatchFailed) -> None:
    """A text is a culprit only if the model still embeds a harmless one; else it is the model that is broken."""
    try:
        _checked(embedder, [scrub(PROBE).clean])
    except BatchFailed:
        raise Unavailable(
            "embedder",
            f"its answers cannot be used ({failure})",
            next_step="look at the embedder with 'huginn doctor'",
        ) from None
