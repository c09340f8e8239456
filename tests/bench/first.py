"""A first refresh against the library's embedder alone."""

from __future__ import annotations

from tests.bench.place import Place
from tests.bench.rows import Row, interleaved


def measure(place: Place) -> list[Row]:
    """A whole run into an empty state, against `WordLlama.embed` in batches of 64 over the same embedded texts."""
    config, texts = refreshed(place, "first")
    count = place.child("tests.bench.runs:dump", config=config, texts=texts, points=None, without=None)
    turn = iter(range(place.times))

    def refresh() -> float:
        fresh = place.settings(f"first-{next(turn)}", {"corpus": place.corpus()})
        return float(place.child("tests.bench.runs:refresh", config=str(fresh), only=[])["seconds"])

    def embed() -> float:
        return float(place.child("tests.bench.bare:embed", texts=texts))

    whole, bare = interleaved(place.times, refresh, embed)
    told = f"{whole:.1f} s against {bare:.1f} s for {count} texts"
    return [Row("first refresh, against the library's embed alone", whole / bare, 1.05, told)]


def refreshed(place: Place, name: str) -> tuple[str, str]:
    """Settings whose index holds the corpus, and the name of a file for its texts."""
    config = place.settings(name, {"corpus": place.corpus()})
    place.child("tests.bench.runs:refresh", config=str(config), only=[])
    return str(config), str(config.with_name("texts.json"))
