"""Runs of Huginn in a process of their own: what `tests.bench.child` calls. Through public entry points alone."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from huginn import scrub
from huginn.errors import Unavailable
from huginn.forge.header import header
from huginn.ids import digest
from huginn.index.folder import Folders
from huginn.index.lasting import LastingReader
from huginn.index.opening import open_for_search
from huginn.index.port import Place
from huginn.index.shard import make_shard
from huginn.run import open_run
from huginn.search import Query, search
from huginn.settings import load


def compile_rules(cache: str) -> None:
    """Let the scrub's rules be compiled, which it does once for all runs."""
    scrub.prepare(Path(cache))
    scrub.scrub("a text that is not of letters alone: 1")


def refresh(config: str, only: list[str], says_when: bool = False) -> dict[str, Any]:
    """A whole run over these sources: its seconds, when it began and ended, and the counts of the report.

    The rules are compiled already, and what is imported when a run opens counts as its own. `says_when`: a line is
    printed when the run is open.
    """
    settings = load(Path(config))
    began = time.monotonic()
    with open_run(settings, only=only) as run:
        opened = time.monotonic()
        if says_when:
            _say("open")
        report = run.finish([run.refresh(name) for name in run.sources])
        refreshed = time.monotonic()
    for source in report.sources:
        assert source.is_well, source.reason
    sums = {name: sum(getattr(source, name) for source in report.sources) for name in ("chunks", "embedded", "written")}
    return {"seconds": time.monotonic() - began, "opened": opened, "refreshed": refreshed, **sums}


def refreshes_one_by_one(config: str, only: list[str], bare: list[str]) -> dict[str, Any]:
    """The seconds of each source's refresh in one run, and of `bare`, a command that runs in between them."""
    own, others, embedded = [], [], []
    with open_run(load(Path(config)), only=only) as run:
        reports = []
        for name in run.sources:
            began = time.perf_counter()
            reports.append(run.refresh(name))
            own.append(time.perf_counter() - began)
            embedded.append(reports[-1].embedded)
            assert reports[-1].is_well, reports[-1].reason
            began = time.perf_counter()
            subprocess.run(
                [*bare, *([_url(config, name)] if bare[-1] == "--" else [])], check=True, capture_output=True
            )
            others.append(time.perf_counter() - began)
        run.finish(reports)
    return {"own": own, "bare": others, "embedded": embedded}


def idle(config: str, only: list[list[str]]) -> list[float]:
    """The seconds of whole runs over these sources, from opening to end."""
    settings = load(Path(config))
    seconds = []
    for names in only:
        began = time.perf_counter()
        with open_run(settings, only=names) as run:
            reports = [run.refresh(name) for name in run.sources]
            assert {report.outcome for report in reports} == {"unchanged"}
            run.finish(reports)
        seconds.append(time.perf_counter() - began)
    return seconds


def empty_shard(shard: str) -> None:
    """A shard as Huginn makes it, without points."""
    make_shard(Path(shard), 256)


def search_all(config: str, questions: list[list[str]]) -> list[float]:
    """The seconds of each search, in a process that has searched before."""
    settings = load(Path(config))
    search(settings, Query(texts=questions[0]))
    seconds = []
    for texts in questions:
        began = time.perf_counter()
        search(settings, Query(texts=texts))
        seconds.append(time.perf_counter() - began)
    return seconds


def search_until_told(config: str, questions: list[list[str]], pause: float) -> list[tuple[float, float, bool]]:
    """Searches, one every `pause` seconds or at once, until standard input ends: from when to when, and answered?"""
    settings = load(Path(config))
    told = threading.Event()
    threading.Thread(target=_wait_for_the_word, args=(told,), daemon=True).start()
    search(settings, Query(texts=questions[0]))
    found: list[tuple[float, float, bool]] = []
    while not told.is_set():
        began = time.monotonic()
        try:
            search(settings, Query(texts=questions[len(found) % len(questions)]))
        except Unavailable:
            found.append((began, time.monotonic(), False))
        else:
            found.append((began, time.monotonic(), True))
        told.wait(max(0.0, began + pause - time.monotonic()))
    return found


def hold(config: str) -> None:
    """Hold the shard as a process does that answers people all day, until standard input ends."""
    settings = load(Path(config))
    lasting = LastingReader(Folders(settings.state, settings.index.min_free_bytes), wait=5)
    with lasting.reader():
        _say("held")
    sys.stdin.read()
    lasting.let_go()


def digests(config: str, to: str) -> None:
    """Write the digests of all embedded texts that the index holds to a file, as JSON."""
    index = open_for_search(load(Path(config)), wait=5)
    try:
        held = {str(point.payload["embedded_sha256"]) for point in index.stored(Place(), ["embedded_sha256"])}
        Path(to).write_text(json.dumps(sorted(held)), encoding="utf-8")
    finally:
        index.close()


def dump(config: str, texts: str | None, points: str | None, without: str | None) -> int:
    """Write the distinct embedded texts, in order of path and line, as JSON; and all points with them, a line for each.

    `without` is a file of digests to leave out. Gives the number of texts.
    """
    index = open_for_search(load(Path(config)), wait=5)
    try:
        stored = sorted(index.stored(Place()), key=lambda point: _order(point.payload))
    finally:
        index.close()
    embedded: dict[str, str] = {}
    left_out = set(json.loads(Path(without).read_text(encoding="utf-8"))) if without else set()
    with Path(points or "/dev/null").open("w", encoding="utf-8") as file:
        for point in stored:
            payload: Any = point.payload
            text = _embedded(payload)
            if payload["embedded_sha256"] not in left_out:
                embedded[payload["embedded_sha256"]] = text
            file.write(json.dumps({"id": point.id, "payload": payload, "embedded": text}) + "\n")
    if texts:
        Path(texts).write_text(json.dumps(list(embedded.values())), encoding="utf-8")
    return len(embedded)


def _embedded(payload: Any) -> str:
    """What was embedded for a point: the index holds its digest alone, so it is put together again and checked."""
    line = scrub.scrub(header(payload["source"], payload["path"], payload["names"])).clean
    text = f"{line}\n{payload['text']}"
    assert digest(text) == payload["embedded_sha256"], "the text that was embedded is put together in another way now"
    return text


def _order(payload: Any) -> tuple[str, str, int]:
    return payload["source"], payload["path"], payload["start_line"]


def _url(config: str, name: str) -> str:
    return next(repository.url for repository in load(Path(config)).forge.repos if repository.name == name)


def _wait_for_the_word(told: threading.Event) -> None:
    sys.stdin.read()
    told.set()


def _say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()
