"""A search that asks rooms: both corpora in one answer, citations, what a filter leaves of a window, its context."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from huginn.chat.window import Line
from huginn.embed import open_embedder
from huginn.errors import Refused, Unavailable
from huginn.index.folder import Folders
from huginn.index.opening import open_for_refresh
from huginn.index.payload import moment_of
from huginn.index.port import Index
from huginn.rules import current_label
from huginn.search import ChatCitation, Hit, Query, SearchResult, search
from huginn.settings import Settings
from tests.support.git import Repository
from tests.support.points import make_index
from tests.support.rooms import ANN, BOB, HERONS, MINUTE, OWLS, START, Room, at, in_pieces, line, write_room
from tests.support.workspace import Workspace, cited

ALIAS = "#herons:example.org"
HERON_LINES = [
    line(0, "Has anybody seen the heron at the pond?", minute=0),
    line(1, "Yes, the heron stood in the reeds.", minute=10, sender=BOB),
    line(2, "It caught a pike there.", minute=20),
    line(3, "The kettle is on, by the way.", minute=60, sender=BOB),
    line(4, "Tea for me.", minute=61),
    line(5, "A heron again, much later.", minute=400, sender=BOB),
]
OWL_LINES = [line(0, "An owl ate the heron's fish.", minute=5, prefix="$owl")]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A repository and two rooms in one index, made by the real embedder."""
    root = tmp_path_factory.mktemp("rooms")
    repository = Repository(root / "remote.git")
    repository.commit({"docs/heron.md": "The heron waits for a fish.\n", "docs/kettle.md": "Boil the kettle.\n"})
    workspace = Workspace(root, {"repo": repository.path})
    workspace.refresh()
    settings = workspace.settings
    embedder = open_embedder(settings.embedder)
    with open_for_refresh(settings, current_label(settings, embedder.identity), wait=5) as opened:
        write_room(opened.target, Room(HERONS, HERON_LINES, ALIAS), embedder=embedder)
        write_room(opened.target, Room(OWLS, OWL_LINES), embedder=embedder)
    return workspace


def events(hit: Hit) -> list[str]:
    return [message.event_id for message in hit.messages]


def room_of(hit: Hit) -> ChatCitation:
    assert hit.citation.kind == "chat"
    return hit.citation


def ask(workspace: Workspace, *texts: str, **values: Any) -> list[Hit]:
    return workspace.search(*texts, top_k=50, **values).hits


@pytest.mark.parametrize("mode", ["hybrid", "meaning", "words"])
def test_a_search_finds_both_corpora_ranked_by_score(workspace: Workspace, mode: str) -> None:
    hits = ask(workspace, "heron fish", mode=mode)
    assert {hit.corpus for hit in hits} == {"forge", "chat"}
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for corpus in ("forge", "chat"):
        alone = ask(workspace, "heron fish", mode=mode, corpora=[corpus])
        assert [hit.id for hit in alone] == [hit.id for hit in hits if hit.corpus == corpus]


def test_filters_choose_the_corpus(workspace: Workspace) -> None:
    def corpora(**values: Any) -> set[str]:
        return {hit.corpus for hit in ask(workspace, "heron", **values)}

    assert corpora(paths=["docs"]) == {"forge"}
    assert corpora(repos=["repo"]) == {"forge"}
    assert corpora(rooms=[OWLS]) == {"chat"}
    assert corpora(senders=[BOB]) == {"chat"}
    assert corpora(senders=[BOB], repos=["repo"]) == {"forge", "chat"}
    assert corpora(rooms=[OWLS], corpora=["forge", "chat"]) == {"forge", "chat"}


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"corpora": ["forge"], "rooms": [HERONS]}, "rooms"),
        ({"corpora": ["forge"], "senders": [BOB]}, "senders"),
        ({"corpora": ["chat"], "repos": ["repo"]}, "repos"),
        ({"corpora": ["chat"], "paths": ["docs"]}, "paths"),
        ({"senders": ["bob"]}, r"senders\[0\]"),
        ({"rooms": ["#heron:example.org"]}, r"rooms\[0\]"),
        ({"after": "2026-03-04"}, "after"),
    ],
)
def test_a_filter_that_cannot_be_meant_is_refused(workspace: Workspace, values: dict[str, Any], field: str) -> None:
    with pytest.raises(Refused, match=f"^{field}: "):
        ask(workspace, "heron", **values)


def test_a_hit_cites_room_messages_times_and_a_permalink(workspace: Workspace) -> None:
    hit = ask(workspace, "pike reeds pond", mode="words", rooms=[ALIAS])[0]
    assert room_of(hit).model_dump() == {
        "kind": "chat",
        "room": HERONS,
        "alias": ALIAS,
        "event_id": "$e0",
        "last_event_id": "$e2",
        "time": moment_of(START),
        "end_time": moment_of(START + 20 * MINUTE),
        "url": "https://matrix.to/#/!herons%3Aexample.org/%24e0",
    }
    assert [(m.event_id, m.sender, m.body) for m in hit.messages] == [
        (line.event_id, line.sender, line.body) for line in HERON_LINES[:3]
    ]
    assert hit.text.startswith(f"2026-03-04T05:00:00Z {ANN}\nHas anybody")
    assert hit.places == [hit.citation]


def test_what_follows_within_two_hours_is_context_and_no_hit(workspace: Workspace) -> None:
    first, second, last = sorted(ask(workspace, "heron", rooms=[HERONS], mode="meaning"), key=lambda hit: hit.text)
    assert [events(hit) for hit in (first, second, last)] == [["$e0", "$e1", "$e2"], ["$e3", "$e4"], ["$e5"]]
    assert first.following is not None
    assert first.following.messages == second.messages
    assert first.following.citation == second.citation
    assert second.following is None
    assert last.following is None
    assert [hit.following for hit in ask(workspace, "heron", paths=["docs"])] == [None, None]


def test_a_window_that_straddles_a_bound_is_cut_to_what_is_inside(workspace: Workspace) -> None:
    hits = ask(workspace, "heron", rooms=[HERONS], after=at(10), before=at(61), mode="meaning")
    first, second = sorted(hits, key=lambda hit: hit.text)
    assert [events(first), events(second)] == [["$e1", "$e2"], ["$e3"]]
    assert (room_of(first).event_id, room_of(first).time) == ("$e1", moment_of(START + 10 * MINUTE))
    assert (room_of(second).last_event_id, room_of(second).end_time) == ("$e3", moment_of(START + 60 * MINUTE))
    assert "Has anybody" not in first.text
    assert "Tea" not in second.text
    assert first.following is not None
    assert [message.event_id for message in first.following.messages] == ["$e3"]
    assert ask(workspace, "heron", rooms=[HERONS], after=at(11), before=at(19)) == []
    cut = ask(workspace, "pike", rooms=[HERONS], before=at(20), mode="words")[0]
    assert (events(cut), cut.following) == (["$e0", "$e1"], None)


def test_a_window_whose_messages_of_a_sender_lie_outside_is_no_hit(workspace: Workspace) -> None:
    hits = ask(workspace, "heron", senders=[BOB], rooms=[HERONS], after=at(11))
    assert sorted(events(hit) for hit in hits) == [["$e3", "$e4"], ["$e5"]]


def test_times_hold_for_files_too(workspace: Workspace) -> None:
    changed = cited(ask(workspace, "heron", paths=["docs"])[0]).time
    assert ask(workspace, "heron", corpora=["forge"], before=changed) == []
    assert ask(workspace, "heron", corpora=["forge"], after=changed)


def test_without_an_index_only_a_search_in_rooms_alone_is_answered(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, {})
    assert workspace.search("heron", corpora=["chat"]).hits == []
    assert workspace.search("heron", rooms=["#heron:example.org"], mode="words").hits == []
    with pytest.raises(Unavailable, match="none yet"):
        workspace.search("heron")


@pytest.fixture
def index(settings: Settings) -> Iterator[Index]:
    opened = make_index(settings)
    yield opened
    opened.close()


def by_words(settings: Settings, *texts: str, **values: Any) -> SearchResult:
    return search(settings, Query(texts=texts, mode="words", **values))


def test_on_every_index_windows_are_found_filtered_and_followed(settings: Settings, index: Index) -> None:
    write_room(index, Room(HERONS, HERON_LINES, ALIAS))
    write_room(index, Room(OWLS, OWL_LINES))
    assert len(by_words(settings, "heron").hits) == 3
    hits = by_words(settings, "heron", rooms=[ALIAS], senders=[BOB], after=at(5), before=at(61)).hits
    assert [events(hit) for hit in hits] == [["$e1", "$e2"]]
    assert hits[0].following is not None
    assert [message.event_id for message in hits[0].following.messages] == ["$e3"]


def test_what_is_cut_away_does_not_crowd_out_what_is_inside(settings: Settings, index: Index) -> None:
    """Windows that reach over the whole span without a message in it fill the lists first."""
    for number in range(60):
        lines = [line(n, "heron heron", minute=n * 10, prefix=f"${number}e") for n in (0, 2)]
        write_room(index, Room(f"!{number}", lines))
    write_room(index, Room(OWLS, [line(0, "a heron among many other words", minute=10)]))
    hits = by_words(settings, "heron", after=at(5), before=at(15), fold=False).hits
    assert [events(hit) for hit in hits] == [["$e0"]]


def test_the_parts_of_a_long_message_follow_each_other(settings: Settings, index: Index) -> None:
    body = "needle. " + "Another sentence of the long message. " * 100
    write_room(index, Room(OWLS, [line(0, body, minute=0), line(1, "after it", minute=1)]))
    hit = by_words(settings, "needle").hits[0]
    assert hit.following is not None
    assert [message.event_id for message in hit.following.messages] == ["$e0"]
    assert body.startswith(hit.messages[0].body + hit.following.messages[0].body)


def test_what_follows_is_the_next_window_where_much_is_said(settings: Settings, index: Index) -> None:
    lines = [line(number, "needle" if number == 7 else "hay", minute=number / 100) for number in range(600)]
    write_room(index, Room(OWLS, lines), cut=in_pieces(1))
    hit = by_words(settings, "needle").hits[0]
    assert hit.following is not None
    assert [message.event_id for message in hit.following.messages] == ["$e8"]


def test_the_same_words_at_the_same_time_in_two_rooms_are_one_hit_with_two_places(
    settings: Settings, index: Index
) -> None:
    for room in (HERONS, OWLS):
        write_room(index, Room(room, [line(0, "heron"), line(1, "again", minute=20)]))
    hit = by_words(settings, "heron", before=at(10)).hits[0]
    assert hit.copies == 2
    assert {(place.room, place.last_event_id) for place in hit.places if place.kind == "chat"} == {
        (HERONS, "$e0"),
        (OWLS, "$e0"),
    }


def test_a_text_that_looks_like_two_messages_makes_no_other_citation_fail(settings: Settings, index: Index) -> None:
    """Equal texts of other messages: one of them has nothing inside the span."""
    said = [line(0, "heron"), line(1, "again", minute=10, sender=BOB), line(2, "bye", minute=20)]
    forged = f"heron\n2026-03-04T05:10:00Z {BOB}\nagain"
    write_room(index, Room(HERONS, [line(0, forged), line(2, "bye", minute=20)]))
    write_room(index, Room(OWLS, said))
    hits = by_words(settings, "heron", after=at(5), before=at(15)).hits
    assert [(room_of(hit).room, events(hit), hit.copies) for hit in hits] == [(OWLS, ["$e1"], 1)]


def test_what_was_masked_since_is_masked_in_hits_and_context(settings: Settings, index: Index) -> None:
    token = "gh" + "p_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    lines = [line(0, f"needle, the token is {token}"), line(1, f"again {token}", minute=60)]
    write_room(index, Room(OWLS, lines))
    result = by_words(settings, "needle")
    assert token not in result.model_dump_json()
    assert result.hits[0].following is not None
    for text in (result.hits[0].text, result.hits[0].messages[0].body, result.hits[0].following.messages[0].body):
        assert "[secret: " in text


def test_a_clock_at_the_end_of_time_has_nothing_after_it(settings: Settings, index: Index) -> None:
    write_room(index, Room(OWLS, [Line("$last", ANN, 253_402_300_799_999, line(0, "needle").body)]))
    hit = by_words(settings, "needle").hits[0]
    assert (room_of(hit).end_time, hit.following) == (moment_of(253_402_300_799_999), None)


@pytest.mark.parametrize(
    "question",
    [
        {},
        {"rooms": (ALIAS,), "senders": (BOB,)},
        {"after": at(5), "before": at(61)},
        {"corpora": ("chat",), "fold": False},
    ],
)
def test_the_holder_of_the_index_gives_the_same_hits_messages_and_context(
    workspace: Workspace, question: dict[str, Any]
) -> None:
    alone = workspace.search("heron at the pond", "kettle", **question).hits
    assert any(hit.corpus == "chat" for hit in alone)
    shelf = Folders(workspace.settings.state, 0)
    current = shelf.current()
    assert current is not None
    index = shelf.open(current, wait=5)
    try:
        assert workspace.search("heron at the pond", "kettle", **question).hits == alone
    finally:
        index.close()
