"""A first refresh that is killed when half of it is embedded: what the next one embeds again."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from huginn.apply import AHEAD, PIECE
from huginn.embed.checked import probe_text
from huginn.ids import digest
from tests.bench.memory import tree_of
from tests.bench.place import ROOT, CouldNotMeasure, Place
from tests.bench.rows import Row

_FILES = 800
_FURTHER_ON = 97  # texts: not always at the same place of a batch
IN_FLIGHT = AHEAD * PIECE
"""Texts that may be embedded and not yet stored at any moment: the number that `huginn.apply` states."""

# Every Python process of the refresh writes down what it has embedded; the first thing that a process imports does it.
_COUNTING = """
import hashlib, os
from huginn.embed.wordllama import WordLlamaEmbedder
plain = WordLlamaEmbedder.embed
def embed(self, texts):
    vectors = plain(self, texts)
    lines = "".join(hashlib.sha256(str(text).encode()).hexdigest() + "\\n" for text in texts)
    file = os.open(os.environ["BENCH_EMBEDDED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, lines.encode())
    os.close(file)
    return vectors
WordLlamaEmbedder.embed = embed
"""


def measure(place: Place) -> list[Row]:
    """SIGKILL to a real refresh from nothing, each time a little further on; the worst of them counts."""
    counting = place.folder / "counting"
    counting.mkdir()
    (counting / "sitecustomize.py").write_text(_COUNTING, encoding="utf-8")
    whole = len(_texts(_refreshed(place, "killed-never", counting, None)[0]))
    again = []
    for number in range(place.times):
        first, second = _refreshed(place, f"killed-{number}", counting, whole // 2 + _FURTHER_ON * number)
        again.append(len(_texts(first) & _texts(second)))
    told = f"{', '.join(map(str, again))} of {whole} texts, killed at half"
    return [Row("killed first refresh, texts embedded again", max(again), IN_FLIGHT, told, unit="texts")]


def _refreshed(place: Place, name: str, counting: Path, kill_at: int | None) -> tuple[Path, Path]:
    """The lists of what was embedded until the kill, and by the refresh after it."""
    config = place.settings(name, {"corpus": place.corpus(files=_FILES)})
    lists = config.with_name("first.txt"), config.with_name("second.txt")
    if kill_at is not None:
        _run(place, config, counting, lists[0], kill_at)
        _run(place, config, counting, lists[1], None)
    else:
        _run(place, config, counting, lists[0], None)
    shutil.rmtree(config.parent / "state")
    return lists


def _run(place: Place, config: Path, counting: Path, embedded: Path, kill_at: int | None) -> None:
    embedded.touch()
    environment = {"PYTHONPATH": f"{counting}:{ROOT}", "BENCH_EMBEDDED": str(embedded)}
    task = "tests.bench.runs:refresh"
    with place.started(task, environment=environment, config=str(config), only=[]) as refresh:
        if kill_at is None:
            refresh.answer()
            if not embedded.stat().st_size:
                raise CouldNotMeasure("nobody saw what was embedded")
            return
        while embedded.stat().st_size < 65 * kill_at:
            if refresh.process.poll() is not None:
                raise CouldNotMeasure("the refresh ended before it could be killed")
            time.sleep(0.002)
        processes = tree_of(refresh.process.pid)
        refresh.process.kill()
    while any(Path(f"/proc/{process}").exists() for process in processes):
        time.sleep(0.01)  # what it had started ends with it


def _texts(embedded: Path) -> set[str]:
    return set(embedded.read_text().split()) - {digest(probe_text())}  # which every run embeds once
