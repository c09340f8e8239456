"""The process that embeds: the same bits as here, each for its own text, and gone when its starter is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from huginn.embed import Answer, Culprit, embed_all
from huginn.embed.wordllama import WordLlamaEmbedder
from huginn.errors import Unavailable
from huginn.scrub import Clean
from tests.support.clean import clean
from tests.support.git import Repository
from tests.support.workspace import Workspace

START = """
import sys, time
from huginn.embed.wordllama import WordLlamaEmbedder
with WordLlamaEmbedder().ahead() as ahead:
    ahead.submit([])()
    print(ahead._process.pid, flush=True)
    time.sleep(60)
"""


@pytest.fixture(scope="module")
def embedder() -> WordLlamaEmbedder:
    return WordLlamaEmbedder()


def batch(number: int, size: int) -> list[Clean]:
    return [clean(f"def part{number}_{n}(kettle): return 'größe' * {n}\n" * (n % 5 + 1)) for n in range(size)]


def assert_same(found: list[Answer], expected: list[Answer]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert isinstance(one, np.ndarray)
        assert isinstance(other, np.ndarray)
        assert one.tobytes() == other.tobytes()


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def ends(pid: int, seconds: float = 10) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


def test_answers_are_the_same_bits_whenever_they_are_collected(embedder: WordLlamaEmbedder) -> None:
    sizes = [1, 64, 65, 0, 300, 7, 2, 100, 30, 5, 256, 12]
    with embedder.ahead() as ahead:
        waiting = [(number, ahead.submit(batch(number, size))) for number, size in enumerate(sizes)]
        for number, collect in reversed(waiting):
            assert_same(list(collect()), embed_all(embedder, batch(number, sizes[number])))


def test_several_threads_share_one_process_and_get_their_own_answers(embedder: WordLlamaEmbedder) -> None:
    def one(number: int) -> int:
        with embedder.ahead() as ahead:
            waiting = [ahead.submit(batch(number * 10 + n, 20)) for n in range(10)]
            for n, collect in enumerate(waiting):
                assert_same(list(collect()), embed_all(embedder, batch(number * 10 + n, 20)))
        return len(waiting)

    with embedder.ahead(), ThreadPoolExecutor(4) as pool:
        before = children_of(os.getpid())
        assert sum(pool.map(one, range(6))) == 60
        assert children_of(os.getpid()) == before


def test_a_text_without_a_vector_is_told_and_holds_nobody_back(embedder: WordLlamaEmbedder) -> None:
    good = batch(1, 3)
    with embedder.ahead() as ahead:
        first, culprit, *rest = ahead.submit([good[0], clean(""), *good[1:]])()
    assert culprit == Culprit("a text without a token")
    assert_same([first, *rest], embed_all(embedder, good))


def test_a_process_that_is_killed_is_an_embedder_that_is_away_until_the_next(embedder: WordLlamaEmbedder) -> None:
    before = set(children_of(os.getpid()))
    with embedder.ahead() as ahead:
        ahead.submit(batch(1, 1))()
        (child,) = set(children_of(os.getpid())) - before
        os.kill(child, signal.SIGKILL)
        assert ends(child)
        with pytest.raises(Unavailable, match=r"embedder: .*ended"):
            ahead.submit(batch(2, 10))()
    assert set(children_of(os.getpid())) == before
    with embedder.ahead() as ahead:
        assert len(ahead.submit(batch(1, 3))()) == 3


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_with_the_process_that_started_it(how: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", START], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert not ends(child, 0.1)
        parent.send_signal(how)
        parent.wait()
    assert ends(child)


def test_a_refresh_with_it_gives_the_points_that_one_without_it_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = Repository(tmp_path / "remote.git")
    part = "def part{n}_{m}():\n    return '{n} {m}'  # stands in the shallow water, and waits for the fish\n\n\n"
    files: dict[str | bytes, bytes | str | None] = {
        f"src/file{n}.py": "".join(part.format(n=n, m=m) for m in range(420)) for n in range(30)
    }
    files["table.txt"] = "the same line of a table, again and again and again\n" * 9000
    repository.commit(files)
    workspace = Workspace(tmp_path, {"repo": repository.path})
    started: list[object] = []
    monkeypatch.setattr("huginn.embed.second._start", _noting(started, "huginn.embed.second"))
    with_it = workspace.refresh_one()
    assert len(started) == 1
    monkeypatch.setattr(WordLlamaEmbedder, "many", 1 << 30)
    fresh = workspace.fresh()
    without_it = fresh.refresh_one()
    assert len(started) == 1
    assert workspace.points() == fresh.points()
    assert with_it.embedded == len({payload["embedded_sha256"] for payload in workspace.payloads()})
    assert (with_it.embedded, with_it.reused, with_it.written) == (
        without_it.embedded,
        without_it.reused,
        without_it.written,
    )


def _noting(started: list[object], module: str) -> object:
    original = sys.modules[module]._start

    def start(memory: int) -> object:
        started.append(memory)
        return original(memory)

    return start
