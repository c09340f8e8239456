"""SEC-01, point 10: a release masks what the one before it did not, and no file changes meanwhile."""

from __future__ import annotations

import random
import string
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

import huginn.rules
from huginn import scrub
from huginn.embed.wordllama import WordLlamaEmbedder
from huginn.index.opening import open_shelf
from huginn.index.port import Place
from huginn.scrubbing.tokens import Span, find_tokens
from tests.support.git import Repository
from tests.support.workspace import Workspace, outcomes

KIND = "matrix token"
LETTERS = "".join(random.Random(3).choice(string.ascii_letters) for _ in range(20))
VALUE = f"{'syt'}_bGlzYQ_{LETTERS}_1AbCd9"  # put together here, and never valid


@contextmanager
def release_before() -> Iterator[None]:
    """The scrub as it would have been before it knew this kind, with the fingerprint that it would have had."""

    def fewer(text: str) -> list[Span]:
        return [span for span in find_tokens(text) if span[2] != KIND]

    with patch("huginn.scrub.find_tokens", fewer), patch.object(scrub, "fingerprint", lambda: "before"):
        yield


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    one, two = Repository(tmp_path / "one.git"), Repository(tmp_path / "two.git")
    one.commit({"bot.md": f"# The bot\n\nIt reads the walrus with {VALUE} only.\n", "a.md": "heron\n"})
    two.commit({"b.md": "osprey\n"})
    workspace = Workspace(tmp_path, {"one": one.path, "two": two.path})
    with release_before():
        workspace.refresh()
        assert any(VALUE in payload["text"] for payload in workspace.payloads())
    return workspace


def held_on_disk(workspace: Workspace) -> list[str]:
    """All payloads of all indexes that there are."""
    shelf = open_shelf(workspace.settings)
    held: list[str] = []
    for collection in (shelf.current(), *shelf.others()):
        assert collection is not None
        index = shelf.open(collection, wait=5)
        held += [str(point.payload) for point in index.stored(Place())]
        index.close()
    return held


def test_the_next_refresh_leaves_the_value_in_no_index_and_in_no_vector(workspace: Workspace) -> None:
    embed, sent = WordLlamaEmbedder.embed, list[str]()

    def spy(self: WordLlamaEmbedder, texts: list[scrub.Clean]) -> object:
        sent.extend(texts)
        return embed(self, texts)

    with patch.object(WordLlamaEmbedder, "embed", spy):
        report = workspace.refresh()
    assert report.rebuild is not None
    assert report.rebuild.switched
    held = held_on_disk(workspace)
    assert any("walrus" in text for text in held)
    assert not [text for text in [*held, *sent, report.model_dump_json()] if LETTERS in text]
    files = [path for path in (workspace.settings.state / "index").rglob("*") if path.is_file()]
    assert not [path for path in files if LETTERS.encode() in path.read_bytes()]
    fresh = workspace.fresh()
    fresh.refresh()
    assert workspace.points() == fresh.points()  # vectors too: none is of the text with the value in it
    assert outcomes(workspace.refresh()) == [("one", "unchanged"), ("two", "unchanged")]


def test_an_index_that_was_retired_before_goes_as_well(workspace: Workspace) -> None:
    with release_before(), patch.object(huginn.rules, "versions", lambda: {"chunker": "next"}):
        workspace.refresh()
        assert len(open_shelf(workspace.settings).others()) == 1
    workspace.refresh()
    assert not [text for text in held_on_disk(workspace) if LETTERS in text]


def test_until_the_switch_hits_of_the_old_index_are_scrubbed_again(workspace: Workspace) -> None:
    two = Path(str(workspace.repos["two"]))
    two.rename(two.with_suffix(".away"))
    report = workspace.refresh()
    assert report.rebuild is not None
    assert report.rebuild.waiting == ["two"]
    assert any(LETTERS in text for text in held_on_disk(workspace))
    for mode in ("words", "meaning", "hybrid"):
        answer = workspace.search("walrus", mode=mode).model_dump_json()
        assert f"[secret: {KIND}]" in answer
        assert LETTERS not in answer
    two.with_suffix(".away").rename(two)
    workspace.refresh()
    assert not [text for text in held_on_disk(workspace) if LETTERS in text]
