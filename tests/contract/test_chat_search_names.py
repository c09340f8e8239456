"""Rooms: the message that matched, ids to the letter, windows one after the other as one hit."""

from __future__ import annotations

from typing import Any

import pytest

from huginn.embed import open_embedder
from huginn.index.opening import open_for_refresh
from huginn.rules import current_label
from huginn.search import Hit, SearchResult
from tests.support.git import Repository
from tests.support.rooms import BOB, HERONS, OWLS, Room, line, write_room
from tests.support.workspace import Workspace

HERON_LINES = [
    line(0, "Good morning to all of you.", minute=0),
    line(1, "The heron caught a pike in the pond at dawn.", minute=1, sender=BOB),
    line(2, "What a day.", minute=2),
    line(3, "The heron caught a pike again, in the same pond.", minute=90),
    line(4, "And E4711 was seen in the log.", minute=400, sender=BOB),
    line(5, "The heron caught a pike in the pond, the third.", minute=900),
]
OWL_LINES = [line(number, f"pike? {number}", minute=200 * number, prefix="$owl") for number in range(6)]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    root = tmp_path_factory.mktemp("rooms")
    repository = Repository(root / "remote.git")
    repository.commit({"docs/kettle.md": "Boil the kettle.\n"})
    workspace = Workspace(root, {"repo": repository.path})
    workspace.refresh()
    settings = workspace.settings
    embedder = open_embedder(settings.embedder)
    with open_for_refresh(settings, current_label(settings, embedder.identity), wait=5) as opened:
        write_room(opened.target, Room(HERONS, HERON_LINES), embedder=embedder)
        write_room(opened.target, Room(OWLS, OWL_LINES), embedder=embedder)
    return workspace


def events(hit: Hit) -> list[str]:
    return [message.event_id for message in hit.messages]


def ask(workspace: Workspace, text: str, **values: Any) -> SearchResult:
    return workspace.search(text, corpora=["chat"], **values)


def test_windows_one_after_the_other_are_one_hit_that_cites_them_all(workspace: Workspace) -> None:
    hits = ask(workspace, "heron caught a pike in the pond").hits
    joined = next(hit for hit in hits if "$e1" in events(hit))
    assert events(joined) == ["$e0", "$e1", "$e2", "$e3"]
    assert joined.citation.kind == "chat"
    assert (joined.citation.event_id, joined.citation.last_event_id) == ("$e0", "$e3")
    assert joined.following is None
    assert ["$e5"] in [events(hit) for hit in hits]


def test_nothing_is_joined_without_folding_or_by_chunk(workspace: Workspace) -> None:
    for values in ({"fold": False}, {"by": "chunk"}):
        found = [events(hit) for hit in ask(workspace, "heron caught a pike in the pond", **values).hits]
        assert ["$e0", "$e1", "$e2"] in found
        assert ["$e3"] in found


def test_a_hit_names_the_message_that_matched(workspace: Workspace) -> None:
    hits = ask(workspace, "a pike caught at dawn", fold=False).hits
    assert next(hit for hit in hits if "$e1" in events(hit)).matched == "$e1"
    none = ask(workspace, "zzz", fold=False, mode="meaning").hits
    assert {hit.matched for hit in none} == {None}


def test_short_messages_that_repeat_a_word_do_not_crowd_out_the_answer(workspace: Workspace) -> None:
    hits = ask(workspace, "who caught a pike in the pond?").hits
    assert all("$e" in event for event in events(hits[0]))


@pytest.mark.parametrize(("name", "window"), [("$owl3", ["$owl3"]), ("E4711", ["$e4"])])
def test_an_event_and_a_code_typed_as_such_come_first(workspace: Workspace, name: str, window: list[str]) -> None:
    result = ask(workspace, name)
    assert events(result.hits[0]) == window
    assert [(each.name, each.found) for each in result.exact] == [(name, True)]


def test_ids_that_nobody_knows_are_told(workspace: Workspace) -> None:
    for name in ("$nothing1", "@nobody:example.org", "#nowhere:example.org", "E4712"):
        assert [(each.name, each.found) for each in ask(workspace, name).exact] == [(name, False)]


def test_a_person_who_is_named_is_known_and_ranks_nobody_first(workspace: Workspace) -> None:
    result = ask(workspace, f"what did {BOB} say of the pike")
    assert [(each.name, each.found) for each in result.exact] == [(BOB, True)]
    assert "$e4" not in events(result.hits[0])
