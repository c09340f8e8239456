"""Made points in any number, as the forge has them: clustered vectors, repositories of very different sizes.

The same numbers give the same points, in every run. A repository prefers some of the clusters, as its vocabulary does
in real life, so that a filter by repository and a graph over nearness are neither strangers nor the same thing.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from huginn.ids import digest
from huginn.index.payload import ForgePayload, moment
from huginn.index.port import NewPoint
from huginn.scrub import Clean, join, scrub

DIMENSIONS = 256
REPOSITORIES = 60
_CLUSTERS = 4_000
_CLUSTERS_OF_A_REPOSITORY = 400
_SPREAD = 0.9  # how far a point lies from the middle of its cluster, which has length 1
_BLOCK = 10_000
_LINES = 6_000

Vectors = NDArray[np.float32]


class Maker:
    """Makes points and questions."""

    def __init__(self) -> None:
        random = np.random.default_rng(20)
        self._middles = _normal(random.normal(size=(_CLUSTERS, DIMENSIONS)))
        shares = 1.0 / np.arange(1, REPOSITORIES + 1)
        self._shares = shares / shares.sum()
        self._liked = random.integers(_CLUSTERS, size=(REPOSITORIES, _CLUSTERS_OF_A_REPOSITORY))
        words = ["".join(random.choice(list("abcdefghiklmnoprstuvw"), size=random.integers(3, 9))) for _ in range(9000)]
        chosen = (random.zipf(1.3, size=(_LINES, 9)) - 1) % len(words)
        self._lines = [scrub(" ".join(words[number] for number in line) + "\n").clean for line in chosen]

    def points(self, start: int, stop: int) -> Iterator[NewPoint]:
        """The points with these numbers; both are multiples of 10,000 or of a smaller whole part of it."""
        for block in range(start // _BLOCK, -(-stop // _BLOCK)):
            random = np.random.default_rng([21, block])
            repositories = random.choice(REPOSITORIES, size=_BLOCK, p=self._shares)
            vectors = self._near(random, repositories)
            lines = random.integers(_LINES, size=(_BLOCK, 10))
            first, last = max(start - block * _BLOCK, 0), min(stop - block * _BLOCK, _BLOCK)
            for at in range(first, last):
                number = block * _BLOCK + at
                text = join(*(self._lines[line] for line in lines[at]))
                yield _point(number, name(int(repositories[at])), text, vectors[at])

    def questions(self, count: int, repository: int) -> Vectors:
        """Vectors to search for, as one who knows this repository would ask."""
        return self._near(np.random.default_rng([22, repository]), np.full(count, repository))

    def words(self, count: int) -> list[Clean]:
        """Texts to search for by words."""
        return self._lines[:count]

    def _near(self, random: np.random.Generator, repositories: NDArray[np.int64]) -> Vectors:
        count = len(repositories)
        liked = self._liked[repositories, random.integers(_CLUSTERS_OF_A_REPOSITORY, size=count)]
        clusters = np.where(random.random(count) < 0.7, liked, random.integers(_CLUSTERS, size=count))
        noise = random.normal(scale=_SPREAD / DIMENSIONS**0.5, size=(count, DIMENSIONS))
        return _normal(self._middles[clusters] + noise)


def name(repository: int) -> str:
    """The name of a repository by its rank in size: 0 has a fifth of all points, the last one a three-hundredth."""
    return f"made{repository:02d}"


def _point(number: int, source: str, text: Clean, vector: Vectors) -> NewPoint:
    payload = ForgePayload(
        source=source,
        path=f"src/part{number % 97}/file{number // 12}.py",
        start_line=number % 12 * 10 + 1,
        end_line=number % 12 * 10 + 10,
        blob=digest(str(number // 12))[:40],
        commit=digest(str(number // 500))[:40],
        time=moment(1_600_000_000 + number * 60),
        names=(f"Part{number % 97}", f"step{number}"),
        language="python",
        text=text,
        text_sha256=digest(f"{number} {text}"),
        embedded_sha256=digest(f"{number} {text}"),
    )
    return NewPoint(str(uuid.UUID(digest(f"point {number}")[:32])), payload.model_dump(mode="json"), text, vector)


def _normal(rows: NDArray[np.float64]) -> Vectors:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    normal: Vectors = (rows / lengths).astype(np.float32)
    return normal
