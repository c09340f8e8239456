"""Searches while a refresh runs: how long they take, and how much they slow it down."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.place import CouldNotMeasure, Place
from tests.bench.points import MADE, texts
from tests.bench.rows import Row, interleaved, percentile
from tests.support.git import Repository

_FILES = 800  # a refresh of some ten seconds
_QUESTIONS = [texts(4, first) for first in range(40)]


@dataclass
class _Refreshes:
    """Refreshes of the same repository into copies of the same index; `asked` are the seconds of the searches."""

    place: Place
    base: Path
    asked: dict[float, list[float]] = field(default_factory=dict)
    _count: int = 0

    def seconds(self, pause: float | None) -> float:
        """The seconds of one, while another process searches every `pause` seconds, or not at all."""
        self._count += 1
        folder = self.base.with_name(f"during-{self._count}")
        shutil.copytree(self.base, folder, symlinks=True)
        config = str(folder / "huginn.toml")
        with self.place.started("tests.bench.runs:refresh", config=config, only=["corpus"], says_when=True) as refresh:
            if pause is None:
                ended = refresh.answer()
            else:
                refresh.line()
                search = "tests.bench.runs:search_until_told"
                with self.place.started(search, config=config, questions=_QUESTIONS, pause=pause) as searches:
                    ended = refresh.answer()
                    searches.stop()
                    found = searches.answer()
                within = [each for each in found if each[1] < ended["refreshed"]]
                if not all(is_answered for _, _, is_answered in within):
                    raise CouldNotMeasure("a search was not answered in the middle of a refresh")
                self.asked.setdefault(pause, []).extend(end - begin for begin, end, _ in within)
        shutil.rmtree(folder)
        return float(ended["refreshed"] - ended["opened"])


def measure(place: Place) -> list[Row]:
    """At 75,000 points, 4 texts hybrid over the socket; refreshes alone, with 2 searches/s, and with as many as can."""
    empty = place.folder / "nothing.git"
    Repository(empty)
    base = place.settings("during", {MADE: empty, "corpus": place.corpus(files=_FILES)})
    count = place.child("tests.bench.points:fill", config=str(base), count=place.sized(75_000, least=300))
    refreshes = _Refreshes(place, base.parent)
    alone, paced, pressed = interleaved(
        place.times, lambda: refreshes.seconds(None), lambda: refreshes.seconds(0.5), lambda: refreshes.seconds(0.0)
    )
    asked, hard = refreshes.asked.get(0.5, []), refreshes.asked.get(0.0, [])
    if not asked or not hard:
        raise CouldNotMeasure("the refresh ended before a search was answered")
    late, half = (percentile(asked, part) * 1000 for part in (0.95, 0.5))
    told = f"p50 {half:.0f} ms, {len(asked)} searches; back to back p50 {percentile(hard, 0.5) * 1000:.0f} ms"
    return [
        Row(f"search during a refresh at {count} points, 4 texts hybrid, p95", late, 100, told, unit="ms"),
        Row("refresh with 2 searches/s, against alone", paced / alone, 1.1, f"{paced:.1f} s against {alone:.1f} s"),
        Row(
            "speed of a refresh under back-to-back searches, against alone",
            alone / pressed,
            0.5,
            f"{pressed:.1f} s against {alone:.1f} s, {len(hard)} searches",
            at_least=True,
        ),
    ]
