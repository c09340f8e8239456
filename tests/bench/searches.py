"""Searches: against the bare engine's same lists, and the command as a whole process against a bare script."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from tests.bench.place import ROOT, Place
from tests.bench.points import MADE, texts
from tests.bench.rows import Row, interleaved
from tests.support.git import Repository

_QUESTIONS = 15


def measure(place: Place) -> list[Row]:
    """Hybrid searches for 1 and for 4 texts at both sizes, with the shard held by another process, and not."""
    rows = []
    for size in (30_000, 300_000):
        config, count = filled(place, f"search{size}", size)
        for number in (1, 4):
            questions = [texts(number, first) for first in range(_QUESTIONS)]
            rows += _rows(place, config, count, questions)
    return rows


def measure_process(place: Place) -> list[Row]:
    """`huginn search`, from the start of the process to its end, at 30,000 points."""
    config, _ = filled(place, "process", 30_000)
    question = texts(1, 0)[0]
    command = [sys.executable, "-m", "huginn.cli", "--config", config, "search", question]
    script = f"from tests.bench.bare_search import once; once({str(shard_of(config))!r}, {question!r})"
    bare_command = [sys.executable, "-c", script]
    for warm in (command, bare_command):  # so that both have their byte code
        _seconds(place, warm)
    times = 3 * place.times
    whole, bare = interleaved(times, lambda: _seconds(place, command), lambda: _seconds(place, bare_command))
    told = f"{whole:.2f} s against {bare:.2f} s"
    return [Row("huginn search as a process, against a bare script", whole / bare, 2, told)]


def filled(place: Place, name: str, size: int) -> tuple[str, int]:
    """Settings whose index holds about so many points of a source of its own, and how many they are."""
    empty = place.folder / "empty.git"
    if not empty.exists():
        Repository(empty)
    config = str(place.settings(name, {MADE: empty}))
    return config, place.child("tests.bench.points:fill", config=config, count=place.sized(size, least=300))


def shard_of(config: str) -> Path:
    """The folder of the shard in use."""
    index = Path(config).parent / "state" / "index"
    return index / str(json.loads((index / "current.json").read_text())["folder"]) / "shard"


def _rows(place: Place, config: str, count: int, questions: list[list[str]]) -> list[Row]:
    """The bare engine and the search take turns; first each opens the shard for itself, then it is held open."""
    what = f"search p50, {len(questions[0])} of hybrid, {count} points".replace("1 of", "1 text").replace(
        "4 of", "4 texts"
    )
    shard = str(shard_of(config))
    opening: list[list[float]] = [[], []]
    held: list[list[float]] = [[], []]
    for _ in range(place.times):
        opening[0] += place.child("tests.bench.runs:search_all", config=config, questions=questions)
        opening[1] += place.child("tests.bench.bare_search:opening_each_time", shard=shard, questions=questions)
        with place.started("tests.bench.runs:hold", config=config) as holder:
            holder.line()
            held[0] += place.child("tests.bench.runs:search_all", config=config, questions=questions)
            holder.stop()
            holder.answer()
        held[1] += place.child("tests.bench.bare_search:held_open", shard=shard, questions=questions)
    return [
        _row(f"{what}, opening included", *opening),
        _row(f"{what}, through a holder", *held),
    ]


def _row(what: str, own: list[float], bare: list[float]) -> Row:
    mine, theirs = statistics.median(own), statistics.median(bare)
    return Row(what, mine / theirs, 1.5, f"{mine * 1000:.1f} ms against {theirs * 1000:.1f} ms")


def _seconds(place: Place, command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, cwd=ROOT, env=place.environment(), check=True, capture_output=True)
    return time.perf_counter() - began
