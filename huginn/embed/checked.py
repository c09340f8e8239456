"""Checks every answer of an embedder: number, dimensions, finite, not zero. Cuts texts into batches.

In: an embedder and texts. Out: for each text its vector, or the culprit's reason. No text ever gets its neighbour's
vector: an answer that is wrong anywhere is refused as a whole, and the batch is halved until the culprit is alone. A
text that is too long for the model is shortened for the model only, and that is told.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from huginn.embed.port import Answer, BatchFailed, Culprit, Embedder, Shortened, Vector
from huginn.errors import Unavailable
from huginn.scrub import Clean, scrub

_Call = Callable[[Sequence[Clean]], Sequence[Vector]]

_ROUNDS = 4  # batches for each that is worked on at the same time: the last round must not leave most of them idle
_LEAST_CHARACTERS = 2000

_PROBE = "The quick brown fox jumps over the lazy dog."


def probe_text() -> Clean:
    """The harmless text that any model embeds."""
    return scrub(_PROBE).clean


def embed_all(embedder: Embedder, texts: Sequence[Clean]) -> list[Answer]:
    """Embed `texts` in batches. Raises `Unavailable` if the embedder is away, or fails for a harmless text too."""
    return _all(embedder, embedder.embed, texts)


def embed_queries(embedder: Embedder, texts: Sequence[Clean]) -> list[Answer]:
    """Embed what somebody asks. Raises as `embed_all` does."""
    return _all(embedder, embedder.embed_query, texts)


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


def batches(lengths: Sequence[int], most_texts: int, most_characters: int, width: int) -> Iterator[slice]:
    """Cut texts of these lengths, in order, into batches of at most so many texts and about so many characters.

    Where several batches are worked on at the same time, they are as many as all can do in whole rounds, of equal
    size, so that all are busy to the end.
    """
    total = sum(lengths)
    size: float = most_characters
    if width > 1 and total:
        rounds = max(_ROUNDS, math.ceil(total / (width * most_characters)))
        size = max(total / (rounds * width), min(_LEAST_CHARACTERS, most_characters))
    start, done, end = 0, 0, size
    for number, length in enumerate(lengths):
        is_full = done + (length if width == 1 else length / 2) > end
        if number > start and (number - start >= most_texts or is_full):
            yield slice(start, number)
            start, end = number, (done if width == 1 else max(end, done)) + size
        done += length
    if start < len(lengths):
        yield slice(start, len(lengths))


def _all(embedder: Embedder, call: _Call, texts: Sequence[Clean]) -> list[Answer]:
    fitted = [embedder.fitted(text) for text in texts]
    lengths = [len(text) for text in fitted]
    cuts = list(batches(lengths, embedder.batch_size, embedder.batch_characters, embedder.width))

    def embedded(cut: slice) -> Sequence[Answer]:
        return _embed_or_halve(embedder, call, fitted[cut])

    if embedder.width == 1 or len(cuts) <= 1:
        found = [answer for cut in cuts for answer in embedded(cut)]
    else:
        pool = ThreadPoolExecutor(min(embedder.width, len(cuts)), thread_name_prefix="embed")
        try:
            found = [answer for answers in pool.map(embedded, cuts) for answer in answers]
        finally:
            pool.shutdown(cancel_futures=True)
    return [
        Shortened(answer) if isinstance(answer, np.ndarray) and len(sent) < len(text) else answer
        for text, sent, answer in zip(texts, fitted, found, strict=True)
    ]


def _embed_or_halve(embedder: Embedder, call: _Call, texts: Sequence[Clean]) -> Sequence[Answer]:
    try:
        return _checked(embedder, call, texts)
    except BatchFailed as failure:
        if len(texts) == 1:
            return [_alone(embedder, call, texts[0], failure)]
    middle = len(texts) // 2
    return [*_embed_or_halve(embedder, call, texts[:middle]), *_embed_or_halve(embedder, call, texts[middle:])]


def _alone(embedder: Embedder, call: _Call, text: Clean, failure: BatchFailed) -> Answer:
    """A text that failed alone: if it may be too long it is sent once more, shorter; else it is the culprit."""
    _require_sound(embedder, call, failure)
    shorter = embedder.fitted(text, surely=True)
    if failure.is_rejected and 0 < len(shorter) < len(text):
        try:
            return Shortened(_checked(embedder, call, [shorter])[0])
        except BatchFailed as again:
            _require_sound(embedder, call, again)
            return Culprit(str(again))
    return Culprit(str(failure))


def _checked(embedder: Embedder, call: _Call, texts: Sequence[Clean]) -> Sequence[Vector]:
    vectors = call(texts)
    check_answer(vectors, len(texts), embedder.identity.dimensions)
    return vectors


def _require_sound(embedder: Embedder, call: _Call, failure: BatchFailed) -> None:
    """A text is a culprit only if the model still embeds a harmless one; else it is the model that is broken."""
    if failure.is_sound:
        return
    try:
        _checked(embedder, call, [probe_text()])
    except BatchFailed:
        raise Unavailable(
            "embedder",
            f"its answers cannot be used ({failure})",
            next_step="look at the embedder with 'huginn doctor'",
        ) from None
