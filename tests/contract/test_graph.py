"""The graph of a large embedded index, made small: built beside, switched in one step, and never in the way."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from huginn.embed.port import Identity
from huginn.index import folder as folders
from huginn.index import graph
from huginn.index.embedded import EmbeddedIndex
from huginn.index.folder import Folders, open_shard
from huginn.index.label import make_label
from huginn.index.port import Ask, NewPoint, Place, Reader
from huginn.index.remote import RemoteReader, connect
from huginn.index.shelf import Collection
from huginn.run import open_run
from huginn.settings import Settings
from tests.support.git import Repository
from tests.support.points import point
from tests.support.workspace import Workspace

DIMENSIONS = 64
POINTS = 3_000
FROM = 1_000
LABEL = make_label("Test", Identity("test-model", "sha256:0", DIMENSIONS), {"chunker": "1"}, "scrub-1")
Vectors = NDArray[np.float32]


def vectors(count: int, seed: int) -> Vectors:
    """Around fifty middles, one after the other, as texts are."""
    middles = np.random.default_rng(0).normal(size=(50, DIMENSIONS))
    noise = np.random.default_rng(seed).normal(size=(count, DIMENSIONS)) * 0.7
    rows = middles[np.arange(count) % 50] + noise
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / lengths, dtype=np.float32)


def source_of(number: int) -> str:
    """Repositories of 10, 36 and 54 in a hundred, each with subjects of its own; the first would need no graph."""
    return "small" if number % 10 == 0 else "middle" if number % 50 < 20 else "large"


def made(numbers: Sequence[int], directions: Vectors) -> list[NewPoint]:
    points = [point(number, f"text {number}", source=source_of(number), vector=False) for number in numbers]
    return [
        NewPoint(made.id, made.payload, made.embedded, direction)
        for made, direction in zip(points, directions, strict=True)
    ]


@pytest.fixture(autouse=True)
def _graphs_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "FROM_POINTS", FROM)


@pytest.fixture
def shelf(embedded_settings: Settings) -> Folders:
    return Folders(embedded_settings.state, 0)


@pytest.fixture
def collection(shelf: Folders) -> Collection:
    collection = shelf.create(LABEL)
    shelf.switch(collection)
    index = shelf.open(collection, wait=0)
    index.writer("forge", "many").upsert(made(range(POINTS), vectors(POINTS, 1)))
    index.close()
    return collection


def shards(shelf: Folders, collection: Collection) -> list[str]:
    return sorted(path.name for path in (shelf.root / collection.name).glob("shard*/"))


def build(shelf: Folders, collection: Collection) -> str | None:
    index = shelf.open(collection, wait=0)
    try:
        return index.build_graph()
    finally:
        index.close()


def nearest(index: Reader, questions: Vectors, place: Place, limit: int = 10) -> list[list[str]]:
    return [[found.id for found in answer] for answer in index.query([Ask(row, place, limit) for row in questions])]


def recall(found: Sequence[Sequence[str]], exact: Sequence[Sequence[str]]) -> float:
    hits = sum(len(set(one) & set(other)) for one, other in zip(found, exact, strict=True))
    return hits / sum(len(answer) for answer in exact)


PLACES = [
    Place(),
    Place(sources=["large"]),
    Place(sources=["middle"]),
    Place(sources=["small"]),
    Place(sources=["middle"], within=["a.md"]),
]


def test_a_graph_finds_what_an_exact_search_finds_filtered_or_not(shelf: Folders, collection: Collection) -> None:
    questions = vectors(50, 2)
    index = shelf.open(collection, wait=0)
    exact = [nearest(index, questions, place) for place in PLACES]
    index.close()
    assert "graph over 3000 points" in str(build(shelf, collection))
    index = shelf.open(collection, wait=0)
    for place, wanted in zip(PLACES, exact, strict=True):
        assert recall(nearest(index, questions, place), wanted) >= 0.95
    index.close()


@pytest.fixture
def _graphs_are_poor(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that goes through such a graph shows it."""
    monkeypatch.setattr(graph, "CANDIDATES", 4)
    monkeypatch.setattr(graph, "EDGES", 2)


@pytest.mark.usefixtures("_graphs_are_poor")
def test_where_a_filter_leaves_few_points_the_answer_is_exact(shelf: Folders, collection: Collection) -> None:
    build(shelf, collection)
    questions, directions = vectors(20, 2), vectors(POINTS, 1)
    few = [number for number in range(POINTS) if source_of(number) == "small"]
    index = shelf.open(collection, wait=0)
    for question, found in zip(questions, nearest(index, questions, Place(sources=["small"]), 50), strict=True):
        order = np.argsort(-(directions[few] @ question), kind="stable")[:50]
        assert found == [point(few[place]).id for place in order]
    index.close()


@pytest.mark.usefixtures("_graphs_are_poor")
def test_an_index_that_has_become_small_is_searched_exactly_again(
    shelf: Folders, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(shelf, collection)
    questions = vectors(40, 2)
    index = shelf.open(collection, wait=0)
    poor = nearest(index, questions, Place(), 50)
    monkeypatch.setattr(graph, "FROM_POINTS", POINTS + 1)
    exact = nearest(index, questions, Place(), 50)
    order = np.argsort(-(vectors(POINTS, 1) @ questions[0]), kind="stable")[:50]
    assert exact[0] == [point(int(number)).id for number in order]
    assert recall(poor, exact) < 0.95
    index.close()


def test_what_is_written_after_the_switch_is_found_changed_and_removed_at_once(
    shelf: Folders, collection: Collection
) -> None:
    build(shelf, collection)
    index = shelf.open(collection, wait=0)
    fresh = vectors(2, 3)
    writer = index.writer("forge", "many")
    writer.upsert(made([POINTS, 7], fresh))  # a new one, and one in the place of another
    assert nearest(index, fresh, Place(), 1) == [[point(POINTS).id], [point(7).id]]
    moved = {**point(8).payload, "source": "elsewhere"}
    writer.update({point(8).id: moved})
    assert [found.id for found in index.stored(Place(sources=["elsewhere"]))] == [point(8).id]
    writer.remove([point(POINTS).id, point(9).id])
    assert nearest(index, fresh[:1], Place(), 1) != [[point(POINTS).id]]
    assert index.count(Place()) == POINTS - 1
    index.close()
    index = shelf.open(collection, wait=0)
    assert index.count(Place()) == POINTS - 1
    assert nearest(index, fresh[1:], Place(), 1) == [[point(7).id]]
    index.close()


def test_a_graph_is_built_when_it_is_due_and_not_before(shelf: Folders, collection: Collection) -> None:
    assert build(shelf, collection) is not None
    assert build(shelf, collection) is None
    directions = vectors(POINTS, 4)
    index = shelf.open(collection, wait=0)
    writer = index.writer("forge", "many")
    writer.upsert(made(range(500), directions[:500]))
    writer.upsert(made(range(POINTS, POINTS + FROM - 501), directions[500 : FROM - 1]))
    assert index.build_graph() is None
    writer.upsert(made([POINTS + FROM], directions[FROM - 1 : FROM]))
    assert index.build_graph() is not None
    index.close()
    assert build(shelf, collection) is None
    index = shelf.open(collection, wait=0)
    assert index.count(Place()) == POINTS + FROM - 500
    assert nearest(index, directions[:1], Place(), 1) == [[point(0).id]]
    index.close()


def test_an_index_of_few_points_gets_none(
    shelf: Folders, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "FROM_POINTS", POINTS + 1)
    assert build(shelf, collection) is None
    assert shards(shelf, collection) == ["shard"]


def test_the_switch_keeps_the_collection_and_leaves_one_shard(shelf: Folders, collection: Collection) -> None:
    build(shelf, collection)
    assert shelf.current() == collection
    assert shelf.others() == []
    [name] = shards(shelf, collection)
    assert name != "shard"
    reader = shelf.read(collection, wait=0)
    assert (reader.id, reader.label) == (collection.id, LABEL)
    reader.close()


@pytest.mark.parametrize(
    ("child", "told"),
    [
        ("import os\nos.kill(os.getpid(), 9)", "its process ended with -9"),
        ("raise SystemExit(3)", "its process ended with 3"),
        ('print(\'{"points": 1, "indexed": 2}\')', "the copy has 1 points"),
    ],
)
def test_a_child_that_fails_is_told_and_not_tried_again_for_a_day(
    shelf: Folders, collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, child: str, told: str
) -> None:
    script = tmp_path / "child.py"
    script.write_text(child)
    with monkeypatch.context() as patch:
        patch.setattr(graph, "_CHILD", script)
        assert told in str(build(shelf, collection))
    assert shards(shelf, collection) == ["shard"]
    assert build(shelf, collection) is None
    monkeypatch.setattr(graph, "_RETRY", timedelta(0))
    assert "graph over" in str(build(shelf, collection))


@pytest.mark.parametrize("lacking", ["disk", "memory"])
def test_without_room_for_it_no_graph_is_begun(
    shelf: Folders, collection: Collection, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(graph, "_run_child", lambda *_: pytest.fail("begun"))
        patch.setattr(graph, f"_{lacking.upper()}_FACTOR", 1 << 40)
        note = build(shelf, collection)
    assert note is not None
    assert note.startswith("searches by meaning look at all 3000 points: a graph needs")
    assert lacking in note
    assert "graph over" in str(build(shelf, collection))  # it is only a matter of room: tried in each run


def test_a_reader_that_opens_the_old_one_during_the_switch_ends_with_the_new_one(
    shelf: Folders, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def switched_meanwhile(path: Path, *rest: object) -> EmbeddedIndex | None:
        opened.append(path.name)
        index: EmbeddedIndex | None = open_shard(path, *rest)  # type: ignore[arg-type]
        if len(opened) == 1:
            assert index is not None
            index.build_graph()
            index._is_outlived = False
        return index

    monkeypatch.setattr(folders, "open_shard", switched_meanwhile)
    reader = shelf.read(collection, wait=5)
    assert isinstance(reader, EmbeddedIndex)
    assert opened[0] == "shard"
    assert opened[1] == reader._folder.name != "shard"
    assert reader.count(Place()) == POINTS
    reader.close()


SLOW_CHILD = """
import pathlib, runpy, sys, time
here = pathlib.Path(__file__).parent
(here / "begun").touch()
while not (here / "go").exists():
    time.sleep(0.01)
runpy.run_path({child!r}, run_name="__main__")
"""


@pytest.fixture
def slow_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The child waits until there is a file `go` beside this one; there is `begun` when it waits."""
    script = tmp_path / "slow.py"
    script.write_text(SLOW_CHILD.format(child=str(graph._CHILD)))
    monkeypatch.setattr(graph, "_CHILD", script)
    yield script
    script.with_name("go").touch()


def wait_for(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_searches_are_answered_all_the_while(shelf: Folders, collection: Collection, slow_child: Path) -> None:
    questions = vectors(5, 2)
    index = shelf.open(collection, wait=0)
    wanted = nearest(index, questions, PLACES[1])
    thread = threading.Thread(target=index.build_graph)
    thread.start()
    wait_for(slow_child.with_name("begun").exists)
    reader = connect(shelf.socket(collection.name), timeout=5)
    assert isinstance(reader, RemoteReader)
    assert nearest(reader, questions, PLACES[1]) == wanted
    slow_child.with_name("go").touch()
    thread.join()
    assert nearest(reader, questions, PLACES[1]) == wanted  # by the old one, until its holder closes it
    reader.close()
    index.close()
    assert len(shards(shelf, collection)) == 1


RUN = """
import json, os, shutil, signal, sys
from pathlib import Path
from typing import Any
from huginn.index import graph
from tests.contract.test_graph import FROM, kill_at
from tests.support.workspace import Workspace

graph.FROM_POINTS = FROM // 10
root, repository, step, child = sys.argv[1:]
graph._CHILD = Path(child)
kill_at(step)
print(json.dumps(Workspace(Path(root), {"repo": Path(repository)}).refresh().notes))
"""


def kill_at(step: str) -> None:
    """Have this process killed by the kernel before or after a step of building the graph."""
    moment, _, name = step.partition(" ")
    home: object = {"copytree": shutil, "sync": os}.get(name, graph)
    original = getattr(home, name)

    def kill(*arguments: object, **named: object) -> None:
        if moment == "after":
            original(*arguments, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(home, name, kill)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A repository of more points than want a graph."""
    monkeypatch.setattr(graph, "FROM_POINTS", FROM // 10)
    repository = Repository(tmp_path / "remote.git")
    repository.commit({f"part{n}.md": f"The heron number {n} stands in the water.\n" for n in range(300)})
    return Workspace(tmp_path, {"repo": repository.path})


def refresh_elsewhere(workspace: Workspace, step: str, child: Path = graph._CHILD) -> subprocess.Popen[bytes]:
    arguments = [str(workspace.root), str(workspace.repos["repo"]), step, str(child)]
    return subprocess.Popen([sys.executable, "-c", RUN, *arguments], stdout=subprocess.PIPE)


def in_use(workspace: Workspace) -> tuple[Folders, Collection]:
    shelf = Folders(workspace.settings.state, 0)
    current = shelf.current()
    assert current is not None
    return shelf, current


def test_a_refresh_builds_the_graph_tells_so_and_keeps_cursors_and_points(workspace: Workspace) -> None:
    report = workspace.refresh()
    assert [note.partition(",")[0] for note in report.notes] == [
        "searches by meaning go through a graph over 300 points"
    ]
    assert shards(*in_use(workspace)) != ["shard"]
    again = workspace.refresh()
    assert (again.notes, [source.outcome for source in again.sources]) == ([], ["unchanged"])
    assert workspace.search("heron number 77", mode="words").hits
    assert workspace.search("heron number 77").hits
    fresh = workspace.fresh()
    fresh.refresh()
    assert workspace.points() == fresh.points()


def test_a_search_that_is_under_way_at_the_end_of_the_run_is_answered(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "FROM_POINTS", FROM)  # whether there is a graph is all the same here
    workspace.refresh()
    wanted = workspace.search("heron number 77").hits
    ask = RemoteReader.ask
    ended: list[bool] = []
    with open_run(workspace.settings) as run:

        def ask_after_the_end(self: RemoteReader, message: dict[str, Any]) -> Any:
            if message["do"] == "search" and not ended:
                ended.append(True)
                run._opened.target.close()
            return ask(self, message)

        monkeypatch.setattr(RemoteReader, "ask", ask_after_the_end)
        assert workspace.search("heron number 77").hits == wanted
    assert ended


def test_a_rehearsal_builds_none(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(graph, "FROM_POINTS", 301)
        workspace.refresh()
    assert workspace.refresh(dry_run=True).notes == []
    assert shards(*in_use(workspace)) == ["shard"]


@pytest.mark.slow
@pytest.mark.parametrize("step", ["after copytree", "after _run_child", "before write", "after write"])
def test_a_refresh_that_is_killed_while_it_builds_leaves_one_good_shard(workspace: Workspace, step: str) -> None:
    with refresh_elsewhere(workspace, step) as child:
        assert child.wait() == -signal.SIGKILL
    shelf, collection = in_use(workspace)
    assert len(shards(shelf, collection)) == 2
    assert workspace.search("heron number 77").hits
    report = workspace.refresh()
    assert [source.outcome for source in report.sources] == ["unchanged"]
    assert bool(report.notes) is (step != "after write")
    assert len(shards(shelf, collection)) == 1
    fresh = workspace.fresh()
    fresh.refresh()
    assert workspace.points() == fresh.points()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the child goes on, on a copy that nobody uses")
def test_the_child_ends_with_a_refresh_that_is_killed(workspace: Workspace, tmp_path: Path) -> None:
    script = tmp_path / "child.py"
    script.write_text(
        f"import os, pathlib, sys, time\nsys.path.insert(0, {str(graph._CHILD.parent)!r})\n"
        "import graph_child\ngraph_child._end_with(int(sys.argv[1]))\n"
        f"pathlib.Path({str(tmp_path / 'pid')!r}).write_text(f'{{os.getpid()}} ')\ntime.sleep(100)\n"
    )
    with refresh_elsewhere(workspace, "before sync", script) as parent:
        wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith(" "))
        parent.kill()
    child = Path("/proc") / (tmp_path / "pid").read_text().strip() / "stat"
    wait_for(lambda: not child.exists() or child.read_text().rpartition(")")[2].split()[0] == "Z")
    assert json.dumps(workspace.refresh().notes) != "[]"
