"""The server under load: 50 searches a second for a minute, over HTTP on loopback, while a refresh is at work."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from tests.bench.place import ROOT, CouldNotMeasure, Place
from tests.bench.points import MADE, texts
from tests.bench.rows import Row, percentile
from tests.bench.searches import shard_of
from tests.support.git import Repository

_PER_SECOND = 50
_SECONDS = 60
_POINTS = 30_000
_QUESTIONS = [texts(1, first) for first in range(40)]


def measure(place: Place) -> list[Row]:
    """At 30,000 points, one text hybrid: errors, and p95 against the bare engine's, alone and during a refresh."""
    empty = place.folder / "unserved.git"
    Repository(empty)
    config = str(place.settings("serve", {MADE: empty, "corpus": place.corpus()}))
    count = place.child("tests.bench.points:fill", config=config, count=place.sized(_POINTS, least=300))
    bare = percentile(
        place.child("tests.bench.bare_search:held_open", shard=str(shard_of(config)), questions=_QUESTIONS), 0.95
    )
    with _server(place, config) as address:
        alone = place.child("tests.bench.serving:load", address=address, seconds=place.sized(_SECONDS, least=5) / 4)
        with place.started("tests.bench.runs:refresh", config=config, only=["corpus"]) as refresh:
            beside = place.child("tests.bench.serving:load", address=address, seconds=place.sized(_SECONDS, least=5))
            took = float(refresh.answer()["seconds"])
    what = f"{_PER_SECOND} searches/s over HTTP at {count} points"
    rows = [
        _row(f"{what}, p95 against the bare engine's", alone, bare),
        _row(f"{what}, the same during a refresh of {took:.0f} s", beside, bare),
    ]
    codes = Counter(status for _, status in (*alone, *beside))
    told = ", ".join(f"{number} with {code}" for code, number in sorted(codes.items()))
    return [*rows, Row(f"{what}, errors", codes.total() - codes[200], 0, told, unit="errors")]


def load(address: str, seconds: float) -> list[tuple[float, int]]:
    """Searches at a steady pace, whatever the answers take: the seconds of each since it was due, and its status."""
    return asyncio.run(_load(address, round(seconds * _PER_SECOND)))


async def _load(address: str, count: int) -> list[tuple[float, int]]:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(base_url=address, timeout=60, limits=limits, trust_env=False) as client:

        async def ask(number: int, due: float) -> tuple[float, int]:
            await asyncio.sleep(due - time.perf_counter())
            texts = _QUESTIONS[number % len(_QUESTIONS)]
            answer = await client.get("/api/search", params={"texts": texts})
            return time.perf_counter() - due, answer.status_code

        await client.get("/api/search", params={"texts": "to be ready"})
        began = time.perf_counter() + 0.2
        return await asyncio.gather(*(ask(number, began + number / _PER_SECOND) for number in range(count)))


@contextmanager
def _server(place: Place, config: str) -> Iterator[str]:
    command = [sys.executable, "-m", "huginn.cli", "serve", "--port", "0", "--config", config]
    with subprocess.Popen(command, cwd=ROOT, env=place.environment(), stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        address = server.stderr.readline().removeprefix("huginn: at ").strip()
        try:
            if not address.startswith("http"):
                raise CouldNotMeasure("the server does not start")
            yield address
        finally:
            server.terminate()


def _row(what: str, answers: list[tuple[float, int]], bare: float) -> Row:
    seconds = [each for each, _ in answers]
    late, half = percentile(seconds, 0.95), percentile(seconds, 0.5)
    return Row(what, late / bare, 10, f"{late * 1000:.0f} ms (p50 {half * 1000:.0f}) against {bare * 1000:.1f} ms")
