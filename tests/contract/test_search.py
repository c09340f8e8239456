"""A search through the whole program: real repository, embedder and engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import huginn.search.access
import huginn.search.answer as module
from huginn.embed import open_embedder
from huginn.embed.wordllama import WordLlamaEmbedder
from huginn.errors import Busy, Refused, Unavailable
from huginn.index.port import Ask, Place
from huginn.scrub import scrub
from huginn.search import Query, SearchResult
from tests.support.git import Repository
from tests.support.workspace import Workspace, cited

PAGES: dict[str | bytes, bytes | str | None] = {
    f"docs/{name}.md": f"# {name}\n\n{text}\n"
    for name, text in {
        "heron": "The heron stands in the shallow water and waits for a fish.",
        "kettle": "Put the kettle on the stove and boil the water for tea.",
        "ladder": "The ladder leans against the wall of the shed.",
        "invoice": "An invoice is sent on the last day of each month.",
        "lock": "A file lock keeps a second writer out until the first has ended.",
        "search": "A search fuses the ranked lists of several texts into one.",
    }.items()
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    root = tmp_path_factory.mktemp("search")
    repository = Repository(root / "remote.git")
    files: dict[str | bytes, bytes | str | None] = dict(PAGES)
    for number in range(10):
        files[f"copies/{number}/LICENSE"] = "The quick licence text, the same in every folder.\n"
    for number in range(30):
        files[f"src/part{number}.py"] = f"def part{number}():\n    return 'heron {number} water'\n"
    repository.commit(files)
    other = Repository(root / "other.git")
    other.commit({"heron.md": "A heron in another repository.\n"})
    workspace = Workspace(root, {"repo": repository.path, "other": other.path})
    workspace.refresh()
    return workspace


@pytest.fixture
def calls() -> Iterator[list[int]]:
    """How many texts each call of the embedder had."""
    made: list[int] = []
    embed = WordLlamaEmbedder.embed

    def counted(self: WordLlamaEmbedder, texts: Any) -> Any:
        made.append(len(texts))
        return embed(self, texts)

    with patch.object(WordLlamaEmbedder, "embed", counted):
        yield made


def ids(result: SearchResult) -> list[str]:
    return [hit.id for hit in result.hits]


@pytest.mark.parametrize("text", ["a bird in the water", "file lock", "def part7"])
def test_one_text_in_mode_meaning_gives_exactly_the_engine_s_order_and_hits(workspace: Workspace, text: str) -> None:
    result = workspace.search(text, mode="meaning", fold=False, top_k=50)
    vector = open_embedder(workspace.settings.embedder).embed([scrub(text).clean])[0]
    with workspace.index() as index:
        (engine,) = index.query([Ask(vector, Place(corpus="forge"), 50)])
    assert [(hit.id, hit.ranks[0].cosine) for hit in result.hits] == [(found.id, found.score) for found in engine]


@pytest.mark.parametrize(("by", "k"), [("chunk", 60), ("file", 5)])
@pytest.mark.parametrize("mode", ["hybrid", "meaning", "words"])
def test_several_texts_give_the_fusion_of_what_each_gives_alone(
    workspace: Workspace, mode: str, by: str, k: int
) -> None:
    texts = ["heron in the water", "boil a kettle", "writer lock"]
    ranks: dict[str, float] = {}
    for text in texts:
        for rank, hit in enumerate(workspace.search(text, mode=mode, by=by, fold=False, top_k=50).hits, 1):
            ranks[hit.id] = ranks.get(hit.id, 0) + 1 / (k + rank)
    together = workspace.search(*texts, mode=mode, by=by, fold=False, top_k=50)
    with_room = {hit.id: pytest.approx(hit.score) for hit in together.hits}
    alone = {point: score for point, score in ranks.items() if point in with_room}
    assert alone == with_room
    assert [hit.score for hit in together.hits] == sorted((hit.score for hit in together.hits), reverse=True)
    assert max(ranks.values()) == pytest.approx(together.hits[0].score)


def test_a_text_given_twice_counts_once(workspace: Workspace) -> None:
    once = workspace.search("heron water", "kettle")
    twice = workspace.search("heron water", "  heron water\n", "kettle")
    assert ids(once) == ids(twice)
    assert [hit.score for hit in once.hits] == [hit.score for hit in twice.hits]
    assert {rank.text for hit in twice.hits for rank in hit.ranks} == {0, 2}


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"texts": []}, "texts"),
        ({"texts": ["x"] * 9}, "texts"),
        ({"texts": ["x", "y", "  "]}, r"texts\[2\]"),
        ({"texts": ["x", "y" * 1001]}, r"texts\[1\]"),
        ({"texts": ["ü" * 501]}, r"texts\[0\]"),
        ({"texts": ["\ud800"]}, r"texts\[0\]"),
        ({"texts": ["x"], "top_k": 0}, "top_k"),
        ({"texts": ["x"], "top_k": 51}, "top_k"),
        ({"texts": ["x"], "mode": "magic"}, "mode"),
        ({"texts": ["x"], "corpora": ["mail"]}, r"corpora\[0\]"),
        ({"texts": ["x"], "paths": [" "]}, "paths"),
        ({"texts": ["x"], "colour": 1}, "colour"),
    ],
)
def test_a_refusal_names_the_field_and_nothing_is_embedded(
    workspace: Workspace, calls: list[int], values: dict[str, Any], field: str
) -> None:
    with pytest.raises(Refused, match=f"^{field}: "):
        workspace.search(*values.pop("texts"), **values)
    assert calls == []


def test_a_text_of_exactly_the_limit_is_taken(workspace: Workspace, calls: list[int]) -> None:
    workspace.search("x" * 1000)
    assert calls == [1]


def test_all_texts_are_embedded_in_one_batch_and_not_at_all_for_words(workspace: Workspace, calls: list[int]) -> None:
    workspace.search("heron", "kettle", "ladder")
    assert calls == [3]
    workspace.search("heron", "kettle", mode="words")
    assert calls == [3]


def test_ten_copies_of_one_text_fill_one_place_with_all_their_places(workspace: Workspace) -> None:
    result = workspace.search("quick licence text the same in every folder", top_k=3)
    first = result.hits[0]
    assert first.copies == 10
    assert sorted(place.path for place in first.places if place.kind == "forge") == [
        f"copies/{number}/LICENSE" for number in range(10)
    ]
    assert first.places[0] == first.citation
    assert len({hit.text for hit in result.hits}) == 3


def test_folding_never_reorders_and_can_be_switched_off(workspace: Workspace) -> None:
    text = "quick licence text in the water"
    unfolded = workspace.search(text, fold=False, top_k=50).hits
    assert sum("licence" in hit.text for hit in unfolded) == 10
    assert all(hit.places == [hit.citation] for hit in unfolded)
    first: list[str] = []
    texts: set[str] = set()
    for hit in unfolded:
        if hit.text not in texts:
            first.append(hit.id)
            texts.add(hit.text)
    folded = ids(workspace.search(text, top_k=50))
    assert folded[: len(first)] == first


def test_filters_leave_out_everything_else(workspace: Workspace) -> None:
    assert {cited(hit).repo for hit in workspace.search("heron", repos=["other"]).hits} == {"other"}
    in_folder = workspace.search("heron", paths=["src"], top_k=50).hits
    assert len(in_folder) == 30
    assert all(cited(hit).path.startswith("src/") for hit in in_folder)
    assert [cited(hit).path for hit in workspace.search("heron", paths=["docs/heron.md"]).hits] == ["docs/heron.md"]
    assert workspace.search("heron", corpora=["chat"]).hits == []


def test_a_hit_cites_repository_commit_time_path_and_lines(workspace: Workspace) -> None:
    (hit,) = workspace.search("invoice month", mode="words").hits[:1]
    assert hit.citation.model_dump(exclude={"commit", "time"}) == {
        "kind": "forge",
        "repo": "repo",
        "path": "docs/invoice.md",
        "start_line": 1,
        "end_line": 3,
        "url": None,
    }
    assert len(cited(hit).commit) == 40
    assert hit.ranks[0].bm25 is not None
    assert hit.ranks[0].cosine is None


def test_the_web_template_makes_a_link(tmp_path: Path) -> None:
    Repository(tmp_path / "r.git").commit({"a b/#1.md": "heron\n"})
    workspace = Workspace(tmp_path, {"Team/r": tmp_path / "r.git"})
    workspace.refresh()
    settings = workspace.settings
    web = "https://forge.example.org/{repo}/blob/{commit}/{path}#L{start}-L{end}"
    repository = settings.forge.repos[0].model_copy(update={"web": web})
    settings = settings.model_copy(update={"forge": settings.forge.model_copy(update={"repos": (repository,)})})
    (hit,) = module.search(settings, Query(texts=["heron"])).hits
    assert hit.citation.url == (f"https://forge.example.org/Team/r/blob/{cited(hit).commit}/a%20b/%231.md#L1-L1")


def test_a_query_is_scrubbed_before_it_leaves_the_process(workspace: Workspace) -> None:
    token = "gh" + "p_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    sent: list[str] = []
    embed = WordLlamaEmbedder.embed

    def spy(self: WordLlamaEmbedder, texts: Any) -> Any:
        sent.extend(texts)
        return embed(self, texts)

    with patch.object(WordLlamaEmbedder, "embed", spy):
        result = workspace.search(f"who uses {token}")
    assert sent
    assert token not in "".join(sent)
    assert token not in result.model_dump_json()


def test_an_embedder_that_is_away_is_an_error_and_words_still_answer(workspace: Workspace) -> None:
    def away(self: WordLlamaEmbedder, texts: Any) -> Any:
        raise Unavailable("embedder", "it is away")

    with patch.object(WordLlamaEmbedder, "embed", away):
        for mode in ("hybrid", "meaning"):
            with pytest.raises(Unavailable, match="embedder"):
                workspace.search("heron", mode=mode)
        assert workspace.search("heron", mode="words").hits


def test_a_search_waits_for_a_holder_that_does_not_answer_and_then_says_that_it_is_busy(
    workspace: Workspace,
) -> None:
    with workspace.index(), patch.object(huginn.search.access, "INDEX_WAIT_SECONDS", 0.2), pytest.raises(Busy):
        workspace.search("heron")


def test_a_search_ends_after_its_time_limit(workspace: Workspace) -> None:
    with patch.object(module, "LIMIT_SECONDS", -1.0), pytest.raises(Unavailable, match="no answer within"):
        workspace.search("heron")
