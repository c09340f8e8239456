"""An index that stays open between questions: it goes on answering whatever a refresh, a rebuild or the settings do."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from huginn.embed import open_embedder
from huginn.errors import Refused, Unavailable
from huginn.index.opening import NoIndex, open_for_refresh, open_shelf
from huginn.rules import current_label
from huginn.search import ListQuery, OpenIndex, Query, open_index, search
from huginn.settings import Settings, load
from tests.contract.test_rebuild import changed
from tests.support.git import Repository
from tests.support.rooms import ANN, BOB, HERONS, Room, line, write_room
from tests.support.workspace import Workspace, cited

REFRESH = """
import sys
from pathlib import Path
from huginn.run import open_run
from huginn.settings import load
with open_run(load(Path(sys.argv[1]))) as run:
    run.finish([run.refresh(name) for name in run.sources])
"""
HERON = Query(texts=("where does the heron stand",))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "remote.git")
    repository.commit({f"part{n}.md": f"The heron number {n} stands in the water.\n" for n in range(300)})
    return repository


@pytest.fixture
def config(tmp_path: Path, repository: Repository, pytestconfig: pytest.Config) -> Path:
    """A settings file, and an index made by it."""
    config = tmp_path / "huginn.toml"
    config.write_text(settings_text(repository))
    assert pytestconfig.cache is not None
    shutil.copytree(pytestconfig.cache.mkdir("scrub-rules"), tmp_path / "state" / "cache")
    Workspace(tmp_path, {"repo": repository.path}).refresh()
    return config


def settings_text(repository: Repository, more: str = "") -> str:
    repos = f'[[forge.repos]]\nname = "repo"\nurl = "{repository.path}"\n'
    return f'state = "state"\n[forge]\nname = "Test"\n{repos}[index]\nmin_free_bytes = 0\n{more}'


def refresh_beside(config: Path) -> None:
    """A refresh in a process of its own, to its end."""
    subprocess.run([sys.executable, "-c", REFRESH, str(config)], check=True, timeout=120)


@contextmanager
def asked_all_the_while(ask: Callable[[], object], *, threads: int = 2) -> Iterator[list[float]]:
    """Asks from several threads until the end; gives how long each answer took. Any error comes out at the end."""
    took: list[float] = []
    ended = threading.Event()

    def go_on() -> None:
        while not ended.is_set():
            began = time.monotonic()
            assert ask()
            took.append(time.monotonic() - began)

    with ThreadPoolExecutor(threads) as pool:
        asking = [pool.submit(go_on) for _ in range(threads)]
        try:
            yield took
        finally:
            ended.set()
        for each in asking:
            each.result()


def test_it_answers_all_the_while_a_refresh_runs_and_then_has_the_new_text(
    config: Path, repository: Repository
) -> None:
    repository.commit({f"new{n}.md": f"A walrus number {n} lies on the ice.\n" for n in range(200)})
    with open_index(config) as index:
        assert index.search(HERON).hits
        with asked_all_the_while(lambda: index.search(HERON).hits) as took:
            refresh_beside(config)
            during = len(took)
        walrus = index.search(Query(texts=("walrus on the ice",)))
    assert during > 5
    assert cited(walrus.hits[0]).path.startswith("new")
    assert max(took) < 6, "nobody waits for a whole refresh"


def test_two_that_stay_open_and_are_asked_all_the_while_do_not_keep_a_refresh_out(
    config: Path, repository: Repository
) -> None:
    """What one of them lets go of, the other would take."""
    repository.commit({"new.md": "A walrus lies on the ice.\n"})
    with (
        open_index(config) as one,
        open_index(config) as other,
        asked_all_the_while(lambda: one.search(HERON).hits),
        asked_all_the_while(lambda: other.search(HERON).hits),
    ):
        refresh_beside(config)
        for index in (one, other):
            assert cited(index.search(Query(texts=("walrus",))).hits[0]).path == "new.md"


@pytest.mark.parametrize("change", [{"rules": True}, {"model": True}], ids=["rules", "model"])
def test_it_goes_over_to_an_index_that_takes_the_place_of_the_old_one(
    config: Path, repository: Repository, change: dict[str, bool]
) -> None:
    workspace = Workspace(config.parent, {"repo": repository.path})
    repository.commit({"new.md": "A walrus lies on the ice.\n"})
    with open_index(workspace.settings) as index:
        before = index.search(HERON)
        old = open_shelf(workspace.settings).current()
        with changed(**change):
            with asked_all_the_while(lambda: index.search(Query(texts=("heron",), mode="words")).hits):
                report = workspace.refresh()
            assert report.rebuild is not None
            assert report.rebuild.switched
            assert open_shelf(workspace.settings).current() != old
            assert cited(index.search(Query(texts=("walrus",))).hits[0]).path == "new.md"
            assert index.search(HERON) != before
            assert index.search(HERON).hits == search(workspace.settings, HERON).hits


def test_an_index_that_was_dropped_meanwhile_is_let_go_of(config: Path, repository: Repository) -> None:
    """With other rules of secrets the old index goes at once, while it is open here."""
    workspace = Workspace(config.parent, {"repo": repository.path})
    with open_index(workspace.settings) as index:
        assert index.search(HERON).hits
        with changed(rules=True, scrubber=True):
            workspace.refresh()
            assert open_shelf(workspace.settings).others() == []
            assert index.search(HERON).hits


def test_many_threads_and_coroutines_get_the_answers_of_one(config: Path) -> None:
    queries = [Query(texts=(f"heron number {n}",)) for n in range(12)]
    expected = [search(load(config), query).hits for query in queries]

    async def all_at_once() -> list[object]:
        async with open_index(config) as index:
            return [result.hits for result in await asyncio.gather(*(index.asearch(query) for query in queries))]

    assert asyncio.run(all_at_once()) == expected
    with open_index(config) as index, ThreadPoolExecutor(6) as pool:
        assert [result.hits for result in pool.map(index.search, queries)] == expected


def test_another_process_searches_while_it_is_open(config: Path) -> None:
    with open_index(config) as index:
        assert search(load(config), HERON).hits == index.search(HERON).hits


def test_nothing_is_asked_after_the_end_and_the_index_is_free(config: Path) -> None:
    with open_index(config) as index:
        assert index.search(HERON).hits
    with pytest.raises(ValueError, match="closed"):
        index.search(HERON)
    settings = load(config)
    label = current_label(settings, open_embedder(settings.embedder).identity)
    with open_for_refresh(settings, label, wait=0) as opened:
        assert opened.target.sources("forge") == {"repo": 300}


def test_where_nothing_is_indexed_yet_it_says_so_and_finds_it_afterwards(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "remote.git")
    repository.commit({"heron.md": "The heron stands in the water.\n"})
    workspace = Workspace(tmp_path, {"repo": repository.path})
    with open_index(workspace.settings) as index:
        with pytest.raises(NoIndex):
            index.search(HERON)
        assert index.list_messages(ListQuery()).messages == []
        workspace.refresh()
        assert index.search(HERON).hits


def test_changed_settings_hold_for_the_next_question(config: Path, repository: Repository) -> None:
    with open_index(config) as index:
        assert cited(index.search(HERON).hits[0]).url is None
        web = 'web = "https://forge.example.org/{path}"\n'
        config.write_text(settings_text(repository).replace("[index]", f"{web}[index]"))
        assert str(cited(index.search(HERON).hits[0]).url).startswith("https://forge.example.org/part")
        config.write_text("state = [")
        with pytest.raises(Refused, match="config"):
            index.search(HERON)
        config.write_text(settings_text(repository).replace('"state"', '"elsewhere"'))
        with pytest.raises(Unavailable, match="none yet"):
            index.search(HERON)
        config.write_text(settings_text(repository))
        assert index.search(HERON).hits


def test_settings_that_are_not_there_are_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Refused, match="config"):
        open_index(tmp_path / "none.toml")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HUGINN_CONFIG", raising=False)
    with pytest.raises(Refused, match="config"):
        open_index()


OWLS = "!owls:example.org"
CHAT = '[chat]\nhomeserver = "http://127.0.0.1:9"\nuser = "@huginn:example.org"\nexclude = {exclude}\n'
LINES = [line(0, "The heron is back at the pond."), line(1, "It caught a pike.", minute=5)]
OWL_LINES = [line(0, "An owl ate the heron's fish.", prefix="$owl")]


@pytest.fixture
def rooms(config: Path, repository: Repository) -> Iterator[tuple[OpenIndex, Callable[[str], Settings]]]:
    """An open index with two rooms, and what sets `exclude` in its settings."""

    def exclude(rooms: str) -> Settings:
        config.write_text(settings_text(repository, CHAT.format(exclude=rooms)))
        return load(config)

    settings = exclude("[]")
    embedder = open_embedder(settings.embedder)
    with open_for_refresh(settings, current_label(settings, embedder.identity), wait=5) as opened:
        write_room(opened.target, Room(HERONS, LINES, "#herons:example.org"), embedder=embedder)
        write_room(opened.target, Room(OWLS, OWL_LINES, "#owls:example.org"), embedder=embedder)
    with open_index(config) as index:
        yield index, exclude


@pytest.mark.parametrize("name", [HERONS, "#herons:example.org", "#HERONS", "#herons"])
def test_a_room_that_the_settings_exclude_is_gone_from_every_answer_at_once(
    rooms: tuple[OpenIndex, Callable[[str], Settings]], name: str
) -> None:
    index, exclude = rooms
    about_rooms = Query(texts=("heron",), corpora=("chat",))
    assert {hit.citation.room for hit in index.search(about_rooms).hits if hit.citation.kind == "chat"} == {
        HERONS,
        OWLS,
    }
    settings = exclude(f'["{name}"]')
    for result in (index.search(about_rooms), search(settings, about_rooms)):
        assert [hit.citation.room for hit in result.hits if hit.citation.kind == "chat"] == [OWLS]
    for named in (HERONS, "#herons:example.org", "$e0", "pike"):
        result = index.search(Query(texts=(named,), corpora=("chat",)))
        assert [exact.found for exact in result.exact] == [False]
        assert HERONS not in result.model_copy(update={"query": about_rooms, "exact": []}).model_dump_json()
    assert index.search(Query(texts=("#owls:example.org",), corpora=("chat",))).exact[0].found
    assert index.search(Query(texts=(ANN,), senders=(ANN, BOB))).exact[0].found
    assert [message.room for message in index.list_messages(ListQuery()).messages] == [OWLS]
    for room in (HERONS, "#herons:example.org"):
        with pytest.raises(Refused, match="holds no messages of a room"):
            index.search(Query(texts=("heron",), rooms=(room,)))
        with pytest.raises(Refused, match="holds no messages of a room"):
            index.list_messages(ListQuery(rooms=(room,)))
    with pytest.raises(Refused, match="holds no message "):
        index.show_window("$e0")
    assert index.show_window("$owl0").messages
    exclude("[]")
    assert index.show_window("$e0").messages


def test_where_every_room_is_excluded_nothing_of_rooms_is_found(
    rooms: tuple[OpenIndex, Callable[[str], Settings]],
) -> None:
    index, exclude = rooms
    exclude(f'["{HERONS}", "{OWLS}"]')
    assert {hit.corpus for hit in index.search(Query(texts=("heron",))).hits} == {"forge"}
    assert index.list_messages(ListQuery()).messages == []
