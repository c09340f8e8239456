"""Answers take at most half of the time of a holder that writes, and one search is not held up for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from huginn.index.answering import Answering
from huginn.index.port import Place
from huginn.index.remote import RemoteReader, connect
from tests.support.points import LABEL

TOOK = 0.02


class Slow:
    """An index of which each question takes the same time; `busy` is how long it was asked altogether."""

    id = "an-index"
    label = LABEL

    def __init__(self) -> None:
        self.busy = 0.0

    def count(self, place: Place) -> int:
        began = time.monotonic()
        time.sleep(TOOK)
        self.busy += time.monotonic() - began
        return 1


@contextmanager
def answered(folder: Path, *, is_writing: bool) -> Iterator[tuple[Slow, Callable[[], RemoteReader]]]:
    index: Any = Slow()
    path = folder / "sockets" / "holder"
    answering = Answering(index, path, is_writing=is_writing)

    def search() -> RemoteReader:
        reader = connect(path, timeout=5)
        assert reader is not None
        return reader

    try:
        yield index, search
    finally:
        answering.close()


def ask(reader: RemoteReader, times: int) -> None:
    for _ in range(times):
        reader.count(Place())


def test_searches_back_to_back_leave_a_writer_half_of_the_time(tmp_path: Path) -> None:
    with answered(tmp_path, is_writing=True) as (index, search):
        began = time.monotonic()
        for _ in range(10):
            reader = search()
            ask(reader, 4)
            reader.close()
        search().close()  # the next one begins when the debt is paid
        assert index.busy <= 0.5 * (time.monotonic() - began)


def test_whoever_asks_on_and_on_in_one_conversation_leaves_it_as_well(tmp_path: Path) -> None:
    with answered(tmp_path, is_writing=True) as (index, search):
        reader = search()
        began = time.monotonic()
        ask(reader, 40)
        reader.close()
        search().close()
        assert index.busy <= 0.5 * (time.monotonic() - began)


def test_a_search_now_and_then_waits_for_nothing(tmp_path: Path) -> None:
    with answered(tmp_path, is_writing=True) as (index, search):
        waited = []
        for _ in range(5):
            busy, began = index.busy, time.monotonic()
            reader = search()
            ask(reader, 4)
            waited.append(time.monotonic() - began - (index.busy - busy))
            reader.close()
            time.sleep(5 * TOOK)
        assert min(waited) < 2 * TOOK, "a rest between all questions would be four times what one of them took"


def test_a_holder_without_work_of_its_own_answers_at_once(tmp_path: Path) -> None:
    with answered(tmp_path, is_writing=False) as (index, search):
        waited = []
        for _ in range(5):
            busy, began = index.busy, time.monotonic()
            reader = search()
            ask(reader, 4)
            waited.append(time.monotonic() - began - (index.busy - busy))
            reader.close()
        assert min(waited) < 2 * TOOK
