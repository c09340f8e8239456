"""One million points in the embedded engine, held against a hundred thousand that are searched exactly.

`python -m tests.bench.million FOLDER` makes both indexes in FOLDER (5 GB; a quarter of an hour, most of it for the
graph, which a real run builds at its end), or takes those that it left there, and prints what it measured. `rows` is
for the table of `make bench`. Repositories are compared at the same size: a larger index holds more of them.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar
from unittest.mock import patch

from huginn.embed import open_embedder
from huginn.index import graph
from huginn.index.opening import open_for_search, open_shelf
from huginn.index.port import Ask, Place, Reader
from huginn.report import RunReport
from huginn.rules import current_label
from huginn.run import open_run
from huginn.search.fuse import DEPTH
from huginn.search.lists import ranked_lists
from huginn.search.query import Mode
from huginn.search.sought import Asked
from huginn.settings import Settings
from tests.bench.made import REPOSITORIES, Maker, Vectors, name
from tests.support.git import Repository

FEW, MANY = 99_000, 1_000_000  # the first just without a graph
Result = TypeVar("Result")
QUESTIONS = 50
BATCH = 256


class Row(NamedTuple):
    """What was measured; `measured` and `bar` are ratios or shares, `seconds` are for reading."""

    what: str
    measured: float
    bar: str
    seconds: float


class Sized(NamedTuple):
    """An index of one size: how long things take in it, in seconds, by what is done."""

    opening: float
    took: dict[str, float]
    recalls: dict[str, float]


def rows(folder: Path, few: int = FEW, many: int = MANY) -> list[Row]:
    """Measure both sizes. The searches are the product's own for one text, hybrid, without embedding the question."""
    maker = Maker()
    small, large = (_measured(maker, folder / str(points), points) for points in (few, many))
    ratios = {what: large.took[what] / took for what, took in small.took.items()}
    found = [Row(what, ratio, "≤ 2", large.took[what]) for what, ratio in ratios.items()]
    found += [Row(f"recall@10, {what}", share, "≥ 0.95", 0.0) for what, share in large.recalls.items()]
    found.append(Row("opening, told apart", large.opening / small.opening, "", large.opening))
    return sorted(found)


def _measured(maker: Maker, root: Path, points: int) -> Sized:
    repository = Repository(root / "real.git")
    repository.commit({f"src/part{number}.py": _code(number, 0) for number in range(200)})
    settings = _settings(root)
    if open_shelf(settings).current() is None:
        _fill(settings, maker, points)
    for note in _refresh(settings)[1].notes:
        _tell(note)
    took = {"refresh of one file": statistics.median(_refresh_one(settings, repository, turn) for turn in range(1, 6))}
    opening, index = _timed(lambda: open_for_search(settings, wait=30))
    try:
        places = _places(index)
        recalls = {}
        for what, (place, asker) in places.items():
            questions = maker.questions(QUESTIONS, asker)
            took[f"search, {what}"] = _median_search(index, place, questions, maker)
            recalls[what] = _recall(index, place, questions)
    finally:
        index.close()
    return Sized(opening, took, recalls)


def _places(index: Reader) -> dict[str, tuple[Place, int]]:
    """Where is searched, and which repository's people ask."""
    sizes = index.sources("forge")

    def like(points: int) -> int:
        return min(range(REPOSITORIES), key=lambda number: abs(sizes[name(number)] - points))

    def one(number: int) -> Place:
        return Place(corpus="forge", sources=[name(number)])

    everything = Place(corpus="forge")
    return {
        "all": (everything, 3),
        "one repository of 20,000 points": (one(like(20_000)), like(20_000)),
        "one repository of 5,000 points": (one(like(5_000)), like(5_000)),
        "the largest repository, a fifth of all": (one(0), 0),
        "the largest repository, asked by a stranger to it": (one(0), 30),
    }


def _median_search(index: Reader, place: Place, questions: Vectors, maker: Maker) -> float:
    took = []
    for text, vector in zip(maker.words(QUESTIONS), questions, strict=True):
        began = time.perf_counter()
        ranked_lists(index, [Asked(text, vector)], {"forge": place}, Mode.HYBRID, DEPTH)
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def _recall(index: Reader, place: Place, questions: Vectors) -> float:
    """The share of the ten nearest that a search finds."""
    found = _nearest(index, place, questions)
    with patch.object(graph, "FROM_POINTS", 1 << 62):
        exact = _nearest(index, place, questions)
    return statistics.mean(len(one & other) / len(other) for one, other in zip(found, exact, strict=True))


def _nearest(index: Reader, place: Place, questions: Vectors) -> list[set[str]]:
    answers = index.query([Ask(question, place, DEPTH) for question in questions])
    return [{found.id for found in answer[:10]} for answer in answers]


def _settings(root: Path) -> Settings:
    """The made repositories are nowhere to be had: only the real one is ever refreshed."""
    made = [{"name": name(number), "url": str(root / "nowhere")} for number in range(REPOSITORIES)]
    repos = [*made, {"name": "real", "url": str(root / "real.git")}]
    return Settings.model_validate({"state": root / "state", "forge": {"repos": repos}}, context={"folder": root})


def _fill(settings: Settings, maker: Maker, points: int) -> None:
    began = time.monotonic()
    shelf = open_shelf(settings)
    collection = shelf.create(current_label(settings, open_embedder(settings.embedder).identity))
    index = shelf.open(collection, wait=0)
    writer = index.writer("forge", "made")
    batch = []
    for point in maker.points(0, points):
        batch.append(point)
        if len(batch) == BATCH:
            writer.upsert(batch)
            batch.clear()
    writer.upsert(batch)
    writer.acknowledge()
    index.close()
    shelf.switch(collection)
    _tell(f"{points} points made in {time.monotonic() - began:.0f} s")


def _refresh_one(settings: Settings, repository: Repository, turn: int) -> float:
    repository.commit({"src/part7.py": _code(7, turn)})
    return _refresh(settings)[0]


def _refresh(settings: Settings) -> tuple[float, RunReport]:
    with open_run(settings, only=["real"]) as run:
        return _timed(lambda: run.finish([run.refresh("real")]))


def _code(number: int, turn: int) -> str:
    return "".join(f"def step{number}_{line}(turn={turn}):\n    return turn * {line}\n\n\n" for line in range(40))


def _timed(call: Callable[[], Result]) -> tuple[float, Result]:
    began = time.perf_counter()
    result = call()
    return time.perf_counter() - began, result


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def main(arguments: Sequence[str]) -> None:
    """Print the rows."""
    for row in rows(Path(arguments[0]).absolute(), *map(int, arguments[1:])):
        sys.stdout.write(f"{row.what:58} {row.measured:7.3f}  {row.bar:7} {row.seconds * 1000:10.1f} ms\n")


if __name__ == "__main__":
    main(sys.argv[1:])
