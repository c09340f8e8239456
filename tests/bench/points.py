"""Points that are made, in any number, through the port of the index; and questions that fit them.

Texts are words drawn by Zipf's law, as in a language; vectors are drawn around some hundreds of centres. All are the
same for the same number. The vectors are of no text: what a search costs does not depend on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from huginn.ids import digest
from huginn.index.opening import open_shelf
from huginn.index.port import NewPoint
from huginn.run import open_run
from huginn.scrub import from_our_process
from huginn.settings import load

MADE = "made"
_DIMENSIONS = 256
_WORDS_IN_A_TEXT = 70
_VOCABULARY = 30_000
_CENTRES = 300
_AT_ONCE = 2048


def fill(config: str, count: int) -> int:
    """Write so many points for the source `made`, an empty repository of these settings, into a new index."""
    settings = load(Path(config))
    with open_run(settings, only=[MADE]) as run:  # makes the index, with the label that it must have
        run.finish([run.refresh(MADE)])
    shelf = open_shelf(settings)
    current = shelf.current()
    assert current is not None
    index = shelf.open(current, wait=5)
    try:
        writer = index.writer("forge", MADE)
        for points in made(count):
            writer.upsert(points)
        return writer.acknowledge().points
    finally:
        index.close()


def made(count: int) -> Iterator[list[NewPoint]]:
    """So many points, some at a time."""
    chance = np.random.default_rng(1)
    centres = chance.normal(size=(_CENTRES, _DIMENSIONS)).astype(np.float32)
    for start in range(0, count, _AT_ONCE):
        numbers = range(start, min(start + _AT_ONCE, count))
        vectors = centres[chance.integers(_CENTRES, size=len(numbers))]
        vectors = vectors + chance.normal(size=vectors.shape).astype(np.float32)
        words = chance.zipf(1.3, size=(len(numbers), _WORDS_IN_A_TEXT)) % _VOCABULARY
        yield [_point(*each) for each in zip(numbers, vectors, words, strict=True)]


def texts(count: int, first: int) -> list[str]:
    """So many questions of six words: two that are frequent, four that are less so."""
    chance = np.random.default_rng(1000 + first)
    return [
        " ".join(_word(number) for number in [*chance.integers(1, 20, size=2), *chance.integers(20, 3000, size=4)])
        for _ in range(count)
    ]


def _point(number: int, vector: np.ndarray[tuple[int], np.dtype[np.float32]], words: np.ndarray) -> NewPoint:
    text = " ".join(_word(word) for word in words) + f" {number}"
    payload = {
        "corpus": "forge",
        "source": MADE,
        "path": f"folder{number // 500}/file{number // 20}.py",
        "start_line": number % 20 * 10 + 1,
        "end_line": number % 20 * 10 + 10,
        "blob": digest(str(number // 20))[:40],
        "commit": digest(str(number // 5000))[:40],
        "time": "2024-03-01T10:00:00Z",
        "names": ["a_name"],
        "language": "Python",
        "text": text,
        "text_sha256": digest(text),
        "embedded_sha256": digest(text),
    }
    point_id = digest(f"point {number}")
    shaped = f"{point_id[:8]}-{point_id[8:12]}-5{point_id[13:16]}-a{point_id[17:20]}-{point_id[20:32]}"
    return NewPoint(shaped, payload, from_our_process(text), vector)


def _word(number: int) -> str:
    """A word of letters alone, the same for the same number."""
    letters = []
    number = int(number) + 26
    while number:
        number, letter = divmod(number, 26)
        letters.append(chr(ord("a") + letter))
    return "w" + "".join(letters)
