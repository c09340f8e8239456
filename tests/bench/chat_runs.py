"""Runs over rooms in a process of their own, and what a homeserver gives bare: called by `tests.bench.child`."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import quote, urlsplit

from huginn.chat.client import Client
from huginn.index.opening import open_for_search
from huginn.index.port import Place
from huginn.run import open_run
from huginn.settings import load


def refresh(config: str, times: int = 1) -> list[dict[str, Any]]:
    """Whole runs over all rooms, one after the other: seconds, those of the rooms alone, requests, and counts."""
    settings = load(Path(config))
    told = []
    for _ in range(times):
        began = time.perf_counter()
        with _counted() as requests, open_run(settings, corpus="chat") as run:
            opened = time.perf_counter()
            report = run.finish([run.refresh(name) for name in run.sources])
            rooms = time.perf_counter() - opened
        for source in report.sources:
            assert source.is_well, source.reason
        sums = {name: sum(getattr(one, name) for one in report.sources) for name in ("messages", "embedded", "written")}
        told.append({"seconds": time.perf_counter() - began, "rooms": rooms, "requests": len(requests), **sums})
    return told


@contextmanager
def _counted() -> Iterator[list[Any]]:
    asked: list[Any] = []
    begin = Client.begin

    def counting(self: Client, *arguments: Any, **named: Any) -> Any:
        asked.append(arguments)
        return begin(self, *arguments, **named)

    with patch.object(Client, "begin", counting):
        yield asked


def dump(config: str, texts: str) -> int:
    """Write what was embedded for all windows, in order of time, to a file as JSON; gives their number."""
    index = open_for_search(load(Path(config)), wait=5)
    try:
        payloads: list[Any] = [point.payload for point in index.stored(Place(corpus="chat"))]
    finally:
        index.close()
    payloads.sort(key=lambda payload: (payload["source"], payload["time"]))
    found = ["\n".join(message["body"] for message in payload["messages"]) for payload in payloads]
    Path(texts).write_text(json.dumps(found), encoding="utf-8")
    return len(found)


class Bare:
    """A connection to a homeserver that is kept, and nothing else."""

    def __init__(self, url: str, token: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc)
        self._headers = {"Authorization": f"Bearer {token}"}

    def ask(self, path: str) -> Any:
        self._connection.request("GET", f"/_matrix/client/v3{path}", headers=self._headers)
        return json.loads(self._connection.getresponse().read())


def page_through(url: str, token: str, room: str) -> float:
    """The seconds in which a room is paged through from its beginning, 1,000 events a page."""
    began = time.perf_counter()
    bare, end = Bare(url, token), ""
    while True:
        page = bare.ask(f"/rooms/{quote(room)}/messages?dir=f&limit=1000{end}")
        if "end" not in page:
            return time.perf_counter() - began
        end = f"&from={quote(page['end'])}"


def sync(url: str, token: str, times: int) -> list[float]:
    """The seconds of looks for changes when there are none."""
    bare = Bare(url, token)
    since = bare.ask("/sync?timeout=0")["next_batch"]
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        bare.ask(f"/sync?timeout=0&since={quote(since)}")
        seconds.append(time.perf_counter() - began)
    return seconds
