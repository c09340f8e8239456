"""What stands around a hit: lines and messages as they were written, each once, none left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from huginn.errors import Refused
from huginn.index.folder import Folders
from huginn.index.port import Index
from huginn.search import Around, Hit, Query, search
from huginn.settings import Settings
from tests.support.git import Repository
from tests.support.points import make_index
from tests.support.rooms import HERONS, OWLS, Room, at, in_pieces, line, write_room
from tests.support.workspace import Workspace

PYTHON = "\n\n" + "".join(
    f"def part{number}():\n    '''Counts the herons.'''\n\n\n    first = {number}\n" + "    more = 1\n" * 12 + "\n\n\n"
    for number in range(40)
)
PROSE = "\n".join(f"Line {number} of the heron's tale, which is long." * (1 + number % 3) for number in range(300))
LONG = "above\n" + "needle in hay, " * 200 + "\nbelow heron\n" + "tail\n" * 5
FILES = {
    "a.py": PYTHON,
    "tale.txt": PROSE,
    "long.txt": LONG,
    "crlf.txt": PROSE.replace("\n", "\r\n"),
    "tabs.md": "# One\n\n\tcode\n\n" + "para\n\n" * 300,
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    root = tmp_path_factory.mktemp("around")
    repository = Repository(root / "remote.git")
    repository.commit({name: f"an older heron\n{text}" for name, text in FILES.items()})
    repository.commit(dict(FILES.items()))
    other = Repository(root / "other.git")
    other.commit({"a.py": "def heron():\n    return 'another file of the same path'\n"})
    workspace = Workspace(root, {"repo": repository.path, "other": other.path})
    workspace.refresh()
    return workspace


def file_around(hit: Hit) -> tuple[list[str], list[str], list[str]]:
    """The lines of the file before, in and after a hit."""
    assert hit.citation.kind == "forge"
    lines = FILES[hit.citation.path].replace("\r\n", "\n").split("\n")
    start, end = hit.citation.start_line, hit.citation.end_line
    return lines[: start - 1], lines[start - 1 : end], lines[end:]


def around(hit: Hit) -> Around:
    assert hit.around is not None
    return hit.around


@pytest.mark.parametrize("size", [1, 7, 50])
@pytest.mark.parametrize("by", ["file", "chunk"])
def test_lines_around_a_hit_are_those_of_the_file_without_a_gap_or_a_line_twice(
    workspace: Workspace, size: int, by: str
) -> None:
    hits = workspace.search(
        "counts the herons", "the heron's tale", "para", repos=("repo",), context=size, top_k=50, by=by
    ).hits
    reached = set()
    for hit in hits:
        before, inside, after = file_around(hit)
        if hit.citation.kind == "forge" and hit.citation.path == "long.txt":
            continue
        assert [line.rstrip("\r") for line in hit.text.split("\n")] == inside
        shown = around(hit)
        got = [line.rstrip("\r") for line in (*shown.lines_before, *shown.lines_after)]
        # What is blank at the ends of a file is in no chunk.
        lead = len(before) - len(before[next((n for n, text in enumerate(before) if text.strip()), len(before)) :])
        wanted_before = before[max(lead, len(before) - size) :]
        end = max((n + 1 for n, text in enumerate(after) if text.strip()), default=0)
        wanted_after = after[: min(size, end)]
        assert got == [*wanted_before, *wanted_after]
        reached |= {len(wanted_before) == size, len(wanted_after) == size}
        assert shown.messages_before == shown.messages_after == []
    assert True in reached
    assert len(hits) > 3


def test_at_a_line_that_was_cut_into_parts_the_lines_end(workspace: Workspace) -> None:
    hits = workspace.search("needle hay", paths=("long.txt",), context=3, by="chunk", mode="words", top_k=50).hits
    for hit in hits:
        assert hit.citation.kind == "forge"
        if hit.citation.start_line == hit.citation.end_line == 2:
            assert (around(hit).lines_before, around(hit).lines_after) == ([], [])
    below = workspace.search("below heron tail", paths=("long.txt",), context=3, by="chunk", mode="words").hits[0]
    assert "needle" not in "".join(around(below).lines_before)


def test_without_context_nothing_comes_along(workspace: Workspace) -> None:
    assert [hit.around for hit in workspace.search("heron").hits if hit.around] == []


@pytest.mark.parametrize("size", [-1, 51])
def test_more_context_than_there_may_be_is_refused(size: int) -> None:
    with pytest.raises(Refused, match="out of range") as refusal:
        Query(texts=("heron",), context=size)
    assert refusal.value.field == "context"


def test_the_holder_of_the_index_gives_the_same_context(workspace: Workspace) -> None:
    alone = workspace.search("herons", context=4).hits
    shelf = Folders(workspace.settings.state, 0)
    current = shelf.current()
    assert current is not None
    index = shelf.open(current, wait=5)
    try:
        assert workspace.search("herons", context=4).hits == alone
    finally:
        index.close()
    assert any(around(hit).lines_before for hit in alone)


@pytest.fixture
def index(settings: Settings) -> Iterator[Index]:
    opened = make_index(settings)
    said = [line(number, "needle" if number == 8 else "", minute=number) for number in range(20)]
    write_room(opened, Room(HERONS, said), cut=in_pieces(3))
    write_room(opened, Room(OWLS, [line(number, minute=number, prefix="$owl") for number in range(20)]))
    yield opened
    opened.close()


@pytest.fixture
def found(settings: Settings) -> Callable[..., Around]:
    def found(**values: Any) -> Around:
        query = Query(texts=("needle",), mode="words", corpora=("chat",), **values)
        return around(search(settings, query).hits[0])

    return found


def numbers(shown: Around) -> tuple[list[str], list[str]]:
    return [m.event_id for m in shown.messages_before], [m.event_id for m in shown.messages_after]


@pytest.mark.usefixtures("index")
def test_messages_around_a_hit_are_those_of_its_room_in_order(found: Callable[..., Around]) -> None:
    shown = found(context=4)
    assert numbers(shown) == (["$e2", "$e3", "$e4", "$e5"], ["$e9", "$e10", "$e11", "$e12"])
    assert (shown.lines_before, shown.lines_after) == ([], [])
    assert shown.messages_after[0].body == "message 9"
    assert numbers(found(context=50)) == (
        [f"$e{number}" for number in range(6)],
        [f"$e{number}" for number in range(9, 20)],
    )


@pytest.mark.usefixtures("index")
def test_messages_outside_the_time_that_was_asked_for_are_not_around(found: Callable[..., Around]) -> None:
    assert numbers(found(context=9, after=at(4), before=at(11))) == (["$e4", "$e5"], ["$e9", "$e10"])
    assert numbers(found(context=9, after=at(7), before=at(9))) == ([], [])
