"""Names to the letter, files, neighbours and briefs, through the whole program."""

from __future__ import annotations

from pathlib import Path

import pytest

from huginn.errors import Refused
from huginn.search import SearchResult
from tests.support.git import Repository
from tests.support.workspace import Workspace, cited

FILLER = "    # the user and the name and what the user says of the name\n" * 12


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    root = tmp_path_factory.mktemp("names")
    repository = Repository(root / "remote.git")
    files: dict[str | bytes, bytes | str | None] = {
        f"near/user{number}.py": f"# get the user name, get user, user name {number}\nget_user = user_name = {number}\n"
        for number in range(120)
    }
    files["deep/module.py"] = f"{FILLER}def getUserName(user):\n    return user.name\n\n\n{FILLER}"
    files["deep/use.py"] = "print(getUserName(None), 'E4711')\n"
    for number in range(10):
        files[f"copies/{number}/LICENSE"] = "The quick licence text, QUICKLY-1.0, the same in every folder.\n"
    files["long/fish.md"] = "\n\n".join(
        f"# Part {number}\n\n" + f"The pike of part {number} eats the roach and the perch in the pond. " * 8
        for number in range(6)
    )
    repository.commit(files)
    workspace = Workspace(root, {"repo": repository.path})
    workspace.refresh()
    return workspace


def paths(result: SearchResult) -> list[str]:
    return [cited(hit).path for hit in result.hits]


def exact(result: SearchResult) -> dict[str, bool]:
    return {each.name: each.found for each in result.exact}


def test_a_name_typed_as_such_is_found_first_its_definition_at_the_head(workspace: Workspace) -> None:
    result = workspace.search("getUserName")
    assert paths(result)[:2] == ["deep/module.py", "deep/use.py"]
    assert exact(result) == {"getUserName": True}


@pytest.mark.parametrize("name", ["E4711", "use.py", "deep/use.py"])
def test_a_code_and_a_file_are_found_first(workspace: Workspace, name: str) -> None:
    result = workspace.search(name)
    assert paths(result)[0] == "deep/use.py"
    assert exact(result) == {name: True}


@pytest.mark.parametrize("mode", ["hybrid", "words", "meaning"])
def test_a_name_that_stands_nowhere_is_told_beside_the_near_ones(workspace: Workspace, mode: str) -> None:
    result = workspace.search("getUserNames", mode=mode)
    assert exact(result) == {"getUserNames": False}
    assert result.hits


def test_a_name_within_a_question_is_told_too_and_filters_hold_for_it(workspace: Workspace) -> None:
    question = "where is getUserName called with E4711 or E4712"
    assert exact(workspace.search(question)) == {"getUserName": True, "E4711": True, "E4712": False}
    assert exact(workspace.search(question, paths=["near"])) == {"getUserName": False, "E4711": False, "E4712": False}


def test_a_commit_is_found_by_the_beginning_of_its_id(workspace: Workspace) -> None:
    commit = cited(workspace.search("heron").hits[0]).commit
    for typed in (commit, commit[:12]):
        if any(character.isdigit() for character in typed):
            assert exact(workspace.search(typed)) == {typed: True}
    assert exact(workspace.search("0123456789abcdef0123")) == {"0123456789abcdef0123": False}


def test_a_name_in_ten_copies_fills_one_place_with_all_their_places(workspace: Workspace) -> None:
    first, *others = workspace.search("QUICKLY-1.0").hits
    assert first.copies == 10
    assert not any("QUICKLY" in hit.text for hit in others)


def test_by_file_a_page_holds_each_file_once_before_any_twice(workspace: Workspace) -> None:
    result = workspace.search("pike, roach and perch", "user name", top_k=10)
    assert len(set(paths(result))) == 10
    assert sorted((hit.score for hit in result.hits), reverse=True) == [hit.score for hit in result.hits]


def test_by_chunk_every_chunk_is_ranked_for_itself(workspace: Workspace) -> None:
    found = paths(workspace.search("pike, roach and perch", by="chunk", top_k=6))
    assert found.count("long/fish.md") > 1


def test_neighbours_are_one_hit_with_their_range_and_nothing_twice(workspace: Workspace) -> None:
    lines = Repository(Path(workspace.repos["repo"])).read("main", "long/fish.md").decode().split("\n")
    hit = workspace.search("pike roach perch pond", paths=["long"]).hits[0]
    citation = cited(hit)
    chunks = [cited(each) for each in workspace.search("pike", paths=["long"], by="chunk", fold=False, top_k=50).hits]
    assert citation.end_line - citation.start_line > max(chunk.end_line - chunk.start_line for chunk in chunks)
    assert hit.text.split("\n") == lines[citation.start_line - 1 : citation.end_line]
    assert hit.places == [citation]
    alone = workspace.search("pike roach perch pond", paths=["long"], fold=False).hits[0]
    assert alone.id == hit.id
    assert alone.text in hit.text
    assert len(alone.text) < len(hit.text)


def test_a_brief_is_asked_as_a_whole_beside_the_texts(workspace: Workspace) -> None:
    brief = "Where the user's name comes from\n\n" + "It is said that getUserName returns it. " * 40
    result = workspace.search("E4711", brief=brief)
    assert result.parts[0] == "Where the user's name comes from"
    assert {rank.text for hit in result.hits for rank in hit.ranks} == set(range(1 + len(result.parts)))
    assert result.query.brief == brief
    assert exact(result) == {"E4711": True, "getUserName": True}


@pytest.mark.parametrize("brief", ["", " \n", "x" * 65_537, "\ud800"])
def test_a_brief_that_cannot_be_asked_is_refused(workspace: Workspace, brief: str) -> None:
    with pytest.raises(Refused, match=r"^brief: "):
        workspace.search(brief=brief)


def test_a_brief_takes_one_of_the_eight_texts(workspace: Workspace) -> None:
    with pytest.raises(Refused, match=r"^texts: "):
        workspace.search(*[f"text {number}" for number in range(8)], brief="one more")
    long = "\n\n".join(f"Paragraph {number}. " + "The pike eats the roach. " * 30 for number in range(20))
    texts = [f"text {number}" for number in range(6)]
    assert len(workspace.search(*texts, brief=long).parts) == 2
