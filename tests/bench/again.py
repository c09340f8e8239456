"""Refreshes after the first: nothing has moved, and a commit that changed 1 %."""

from __future__ import annotations

import shutil
import statistics
from pathlib import Path

from tests.bench.corpus import change, make_corpus
from tests.bench.place import Place
from tests.bench.rows import Row

_ASK = ["git", "ls-remote", "--quiet", "--symref", "--"]


def measure_idle(place: Place) -> list[Row]:
    """Runs that find nothing to do: own work for each repository, and whole runs over 50 and 100 of them."""
    many = place.sized(100, least=4)
    repos = {f"repo{number}": place.folder / "many" / f"repo{number}.git" for number in range(many)}
    for number, path in enumerate(repos.values()):
        make_corpus(path, 3 + number % 3)
    config = str(place.settings("idle", repos))
    place.child("tests.bench.runs:refresh", config=config, only=[])
    parts = place.child("tests.bench.runs:refreshes_one_by_one", config=config, only=[], bare=_ASK)
    own, asked = statistics.median(parts["own"]), statistics.median(parts["bare"])
    half, names = many // 2, list(repos)
    runs = place.child("tests.bench.runs:idle", config=config, only=[names[:half], names] * place.times)
    few, all_of_them = statistics.median(runs[::2]), statistics.median(runs[1::2])
    each = 1000 * (all_of_them - few) / (many - half)
    return [
        Row(
            "no-op refresh, own work for each repository",
            (own - asked) * 1000,
            50,
            f"{own * 1000:.1f} ms, of which git ls-remote {asked * 1000:.1f} ms",
            unit="ms",
        ),
        Row(
            f"idle run over {many} repositories, against {half}",
            all_of_them / few,
            2.2,
            f"{all_of_them:.2f} s against {few:.2f} s, {each:.0f} ms for each more",
        ),
    ]


def measure_commit(place: Place) -> list[Row]:
    """Commits that edit, delete and rename 1 %: own work, and which texts are embedded.

    A small repository that has moved too goes first, so that everything is loaded and warm.
    """
    corpus, small = place.folder / "moving.git", place.folder / "small.git"
    shutil.copytree(place.corpus(), corpus)
    make_corpus(small, 20)
    config = str(place.settings("moving", {"small": small, "corpus": corpus}))
    place.child("tests.bench.runs:refresh", config=config, only=[])
    mirror = place.folder / "fetched.git"
    shutil.copytree(corpus, mirror)
    rounds = [_round(place, config, corpus, small, mirror, number) for number in range(place.times)]
    whole, fetched, embedding = (statistics.median(column) for column in list(zip(*rounds, strict=True))[:3])
    texts, wrong = rounds[0][3], sum(each[4] for each in rounds)
    parts = f"{whole:.2f} s, of which git {fetched:.2f} s and embed {embedding:.2f} s for about {texts:.0f} texts"
    exact = f"{sum(each[3] for each in rounds):.0f} in {place.times} commits"
    return [
        Row("1 % commit, own work", whole - fetched - embedding, 0.3, parts, unit="s"),
        Row("1 % commit, texts embedded too many or too few", wrong, 0, exact, unit="texts"),
    ]


def _round(place: Place, config: str, corpus: Path, small: Path, mirror: Path, number: int) -> tuple[float, ...]:
    """One commit: seconds of the refresh, of git alone and of the library's embed; texts embedded, and wrongly so."""
    before = str(Path(config).with_name("before.json"))
    place.child("tests.bench.runs:digests", config=config, to=before)
    change(corpus, number)
    change(small, number)
    fetch = ["git", "-C", str(mirror), "fetch", "--quiet", str(corpus), "main"]
    found = place.child("tests.bench.runs:refreshes_one_by_one", config=config, only=[], bare=fetch)
    asked = place.child("tests.bench.bare:seconds_of", command=[*_ASK, str(corpus)])
    texts = str(Path(config).with_name(f"texts{number}.json"))
    missing = place.child("tests.bench.runs:dump", config=config, texts=texts, points=None, without=before)
    embedding = place.child("tests.bench.bare:embed", texts=texts) * found["embedded"][1] / max(1, missing)
    wrong = abs(sum(found["embedded"]) - missing)
    return found["own"][1], found["bare"][0] + asked, embedding, found["embedded"][1], wrong
