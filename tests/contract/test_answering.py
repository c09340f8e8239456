"""Searches of other processes, answered by the one that holds the shard."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import huginn.index.folder
from huginn.errors import Busy, Unavailable
from huginn.index.folder import Folders
from huginn.index.lasting import LastingReader
from huginn.index.port import Ask, Place
from huginn.index.remote import RemoteReader, ask_to_hand_over, connect
from huginn.index.wire import address_of, receive, send
from huginn.run import open_run
from huginn.scrub import scrub
from tests.support.git import Repository
from tests.support.workspace import Workspace

HOLD = """
import sys, time
from pathlib import Path
from huginn.run import open_run
from huginn.settings import load
with open_run(load(Path(sys.argv[1]))):
    print("held", flush=True)
    time.sleep(120)
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    repository = Repository(tmp_path / "remote.git")
    repository.commit({f"part{n}.md": f"The heron number {n} stands in the water.\n" for n in range(600)})
    workspace = Workspace(tmp_path, {"repo": repository.path})
    workspace.refresh()
    return workspace


@contextmanager
def holder(workspace: Workspace) -> Iterator[subprocess.Popen[bytes]]:
    """Another process in the middle of a run."""
    settings = workspace.root / "huginn.toml"
    repos = f'[[forge.repos]]\nname = "repo"\nurl = "{workspace.repos["repo"]}"\n'
    settings.write_text(f'state = "state"\n[forge]\nname = "Test"\n{repos}[index]\nmin_free_bytes = 0\n')
    with subprocess.Popen([sys.executable, "-c", HOLD, str(settings)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        try:
            yield child
        finally:
            child.kill()


@pytest.fixture
def remote(workspace: Workspace) -> Iterator[tuple[RemoteReader, Workspace]]:
    """A reader through this very process, beside the index itself."""
    shelf = Folders(workspace.settings.state, 0)
    current = shelf.current()
    assert current is not None
    index = shelf.open(current, wait=0)
    reader = connect(shelf.socket(current.name), timeout=5)
    assert reader is not None
    yield reader, workspace
    reader.close()
    index.close()


def test_a_search_is_answered_while_another_process_holds_the_shard(workspace: Workspace) -> None:
    alone = workspace.search("heron 7 in the water", "number 77", top_k=20)
    with holder(workspace):
        together = workspace.search("heron 7 in the water", "number 77", top_k=20)
    assert together.hits == alone.hits


def test_a_search_is_a_greeting_and_one_question_to_the_holder(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the holder writes, each question may wait for a batch."""
    asked: list[str] = []
    ask = RemoteReader.ask

    def noted(self: RemoteReader, message: dict[str, Any]) -> Any:
        asked.append(message["do"])
        return ask(self, message)

    monkeypatch.setattr(RemoteReader, "ask", noted)
    questions: list[dict[str, Any]] = [
        {},
        {"fold": False},
        {"mode": "words"},
        {"mode": "meaning"},
        {"after": datetime(2001, 1, 1, tzinfo=UTC), "repos": ("repo",), "paths": ("part7.md",)},
    ]
    texts = "heron 7 in the water", "number 77", "heron 7 in the water "
    alone = [workspace.search(*texts, **question).hits for question in questions]
    assert all(alone)
    asked.clear()
    with holder(workspace):
        assert [workspace.search(*texts, **question).hits for question in questions] == alone
    assert asked == ["hello", "search"] * len(questions)


def test_a_holder_that_was_killed_is_no_obstacle(workspace: Workspace) -> None:
    with holder(workspace) as child:
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert workspace.search("heron").hits


def test_the_answers_are_those_of_the_index_itself(workspace: Workspace) -> None:
    shelf = Folders(workspace.settings.state, 0)
    current = shelf.current()
    assert current is not None
    index = shelf.open(current, wait=0)
    reader = connect(shelf.socket(current.name), timeout=5)
    assert reader is not None
    assert (reader.id, reader.label) == (index.id, index.label)
    place = Place(corpus="forge", within=["part1.md", "part2.md"])
    assert reader.count(place) == index.count(place) == 2
    assert reader.sources("forge") == index.sources("forge")
    assert list(reader.stored(Place())) == list(index.stored(Place()))
    assert list(reader.stored(Place(), ["path"])) == list(index.stored(Place(), ["path"]))
    vector = np.random.default_rng(1).normal(size=256).astype(np.float32)
    asks = [Ask(scrub("heron 7").clean, Place(), 50), Ask(vector, place, 50)]
    assert reader.query(asks) == index.query(asks)
    ids = [point.id for point in index.stored(Place(), ["path"])][:5]
    assert reader.fetch(ids) == index.fetch(ids)
    reader.close()
    index.close()


def test_a_reader_whose_holder_goes_says_so(remote: tuple[RemoteReader, Workspace]) -> None:
    reader, _ = remote
    reader._connection.shutdown(socket.SHUT_RDWR)
    with pytest.raises(Unavailable, match="ask again"):
        reader.sources("forge")


def test_garbage_and_unknown_questions_hurt_nobody(remote: tuple[RemoteReader, Workspace]) -> None:
    reader, workspace = remote
    (path,) = (workspace.settings.state / "sockets").iterdir()
    for garbage in (b"\xff\xff\xff\xff", b"\x00\x00\x00\x04{{{{", b"\x00", b"\x00\x00\x00\x02[]"):
        with socket.socket(socket.AF_UNIX) as connection, address_of(path) as address:
            connection.connect(address)
            connection.sendall(garbage)
    with socket.socket(socket.AF_UNIX) as connection, address_of(path) as address:
        connection.connect(address)
        for message in ({"do": "explode"}, {"do": "count", "place": {"colour": "red"}}, {"do": "query", "asks": 7}):
            send(connection, message)
            assert "cannot be read" in receive(connection)["error"]
    assert reader.sources("forge") == {"repo": 600}


def test_the_sockets_are_for_their_owner_alone_and_may_lie_deep(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    Repository(deep / "remote.git").commit({"a.md": "heron\n"})
    workspace = Workspace(deep, {"repo": deep / "remote.git"})
    with open_run(workspace.settings) as run:
        run.refresh("repo")
        folder = workspace.settings.state / "sockets"
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        assert len(list(folder.iterdir())) == 1
        assert workspace.search("heron").hits
    assert list(folder.iterdir()) == []


def test_a_writer_waits_for_a_short_search(workspace: Workspace) -> None:
    shelf = Folders(workspace.settings.state, 0)
    current = shelf.current()
    assert current is not None
    reader = shelf.read(current, wait=0)
    threading.Timer(0.5, reader.close).start()
    index = shelf.open(current, wait=10)
    index.close()
    reader = shelf.read(current, wait=0)
    with pytest.raises(Busy):
        shelf.open(current, wait=0.2)
    reader.close()


def test_a_lasting_reader_hands_the_shard_over_and_asks_the_new_holder(workspace: Workspace) -> None:
    shelf = Folders(workspace.settings.state, 0)
    lasting = LastingReader(shelf, wait=5)
    with lasting.reader() as reader:
        assert not isinstance(reader, RemoteReader)
        assert reader.sources("forge") == {"repo": 600}
    assert workspace.search("heron").hits  # another search meanwhile goes through it
    with holder(workspace), lasting.reader() as reader:
        assert isinstance(reader, RemoteReader)
        assert reader.sources("forge") == {"repo": 600}
    with lasting.reader() as reader:
        assert not isinstance(reader, RemoteReader)
        assert reader.sources("forge") == {"repo": 600}
    lasting.let_go()


def test_a_lasting_reader_that_was_asked_for_the_shard_does_not_take_it_again_before_the_writer(
    workspace: Workspace,
) -> None:
    shelf = Folders(workspace.settings.state, 0)
    current = shelf.current()
    assert current is not None
    lasting = LastingReader(shelf, wait=5)

    def use() -> type:
        with lasting.reader() as reader:
            assert reader.sources("forge") == {"repo": 600}
            return type(reader)

    assert use() is not RemoteReader
    assert ask_to_hand_over(shelf.socket(current.name), timeout=5)
    while shelf.socket(current.name).exists():
        time.sleep(0.01)
    with ThreadPoolExecutor() as pool:
        beside = pool.submit(use)
        time.sleep(0.3)  # the writer takes its time
        index = shelf.open(current, wait=0.2)
        assert beside.result(timeout=10) is RemoteReader
        index.close()
    assert use() is not RemoteReader
    lasting.let_go()


def test_a_writer_asks_again_where_another_has_taken_the_shard_before_it(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = Folders(workspace.settings.state, 0)
    current = shelf.current()
    assert current is not None
    path = shelf.socket(current.name)
    one, other = LastingReader(shelf, wait=5), LastingReader(shelf, wait=5)
    asked: list[bool] = []

    def overtaken(socket: Path, *, timeout: float) -> bool:
        asked.append(ask_to_hand_over(socket, timeout=timeout))
        if len(asked) == 1:
            while path.exists():
                time.sleep(0.01)
            with other.reader() as reader:
                assert not isinstance(reader, RemoteReader)
        return asked[-1]

    monkeypatch.setattr(huginn.index.folder, "ask_to_hand_over", overtaken)
    with one.reader():
        pass
    index = shelf.open(current, wait=5)
    assert asked[:2] == [True, True]
    index.close()
