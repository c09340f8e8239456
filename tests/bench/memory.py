"""Peak memory of a first refresh, over all its processes, against a bare embedder and a bare shard."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from tests.bench.place import Place
from tests.bench.rows import Row

_EVERY_SECONDS = 0.02
_MIB = 1 << 20


class Peak:
    """Looks at a process and all below it, again and again, while it is in a `with` block; `bytes` is the most seen.

    Memory counts as PSS: what several processes share is divided among them.
    """

    def __init__(self, process_id: int) -> None:
        self.bytes = 0
        self._root = process_id
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(_EVERY_SECONDS):
            self.bytes = max(self.bytes, sum(_pss(process) for process in tree_of(self._root)))


def tree_of(process_id: int) -> list[int]:
    """A process and all that it has started."""
    found = [process_id]
    for process in found:
        for children in Path(f"/proc/{process}/task").glob("*/children"):
            found += [int(child) for child in _text(children).split()]
    return found


def _pss(process_id: int) -> int:
    lines = _text(Path(f"/proc/{process_id}/smaps_rollup")).split("\n")
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:  # it has ended in the meantime
        return ""


def measure(place: Place) -> list[Row]:
    """For the corpus, and for four times as much: what the pipeline holds beside the bare parts must not grow."""
    peak, bare = _both(place, 1)
    more, more_bare = _both(place, 4)
    own, more_own = peak - bare, more - more_bare
    return [
        Row("peak memory, against bare embedder and shard", peak / bare, 1.3, f"{_mib(peak)} against {_mib(bare)}"),
        Row(
            "peak memory for 4 times the corpus, against bare parts",
            more / more_bare,
            1.3,
            f"{_mib(more)} against {_mib(more_bare)}",
        ),
        Row(
            "growth of the pipeline's own memory from 1 to 4 times the corpus",
            (more_own - own) / _MIB,
            32,
            f"{_mib(own)} to {_mib(more_own)} beside the bare parts",
            unit="MiB",
        ),
    ]


def _both(place: Place, copies: int) -> tuple[int, int]:
    config = str(place.settings(f"memory{copies}", {"corpus": place.corpus(copies=copies)}))
    peak = _peak(place, "tests.bench.runs:refresh", config=config, only=[])
    points = str(place.folder / f"points{copies}.jsonl")
    place.child("tests.bench.runs:dump", config=config, texts=None, points=points, without=None)
    shard = str(place.folder / f"shard{copies}")
    place.child("tests.bench.runs:empty_shard", shard=shard)
    return peak, _peak(place, "tests.bench.bare:embed_and_store", points=points, shard=shard)


def _peak(place: Place, function: str, **arguments: Any) -> int:
    with place.started(function, **arguments) as running, Peak(running.process.pid) as peak:
        running.answer()
    return peak.bytes


def _mib(size: int) -> str:
    return f"{size / _MIB:.0f} MiB"
