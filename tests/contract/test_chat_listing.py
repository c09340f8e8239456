"""Messages listed page by page, and read on from one: the same from every index, whatever a refresh does meanwhile."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, seed
from hypothesis import settings as examples
from hypothesis import strategies as st

from huginn.chat.window import Line
from huginn.errors import Refused
from huginn.index.embedded import EmbeddedIndex
from huginn.index.payload import moment_of
from huginn.index.port import Index, Place, StoredPoint
from huginn.search import Listing, ListQuery, list_messages, show_window
from huginn.settings import Settings
from tests.support.points import make_index
from tests.support.rooms import ANN, BOB, HERONS, OWLS, START, Room, at, in_pieces, line, write_room

HERON_LINES = [line(number, minute=number, sender=BOB if number % 3 == 0 else ANN) for number in range(12)]
OWL_LINES = [line(number, minute=number + 0.5, prefix="$owl") for number in range(12)]
ALIAS = "#herons:example.org"


@pytest.fixture
def index(settings: Settings) -> Iterator[Index]:
    opened = make_index(settings)
    write_room(opened, Room(HERONS, HERON_LINES, ALIAS), cut=in_pieces(5))
    write_room(opened, Room(OWLS, OWL_LINES), cut=in_pieces(4))
    yield opened
    opened.close()


def pages(settings: Settings, between: Callable[[], object] = lambda: None, **values: Any) -> list[Listing]:
    """All pages of a listing; `between` is done before each but the first."""
    found = [list_messages(settings, ListQuery(**values))]
    while found[-1].cursor is not None:
        between()
        found.append(list_messages(settings, ListQuery(**values, cursor=found[-1].cursor)))
    return found


def ids(listings: Sequence[Listing]) -> list[str]:
    return [message.event_id for listing in listings for message in listing.messages]


def merged(*rooms: Sequence[Line]) -> list[str]:
    return [line.event_id for line in sorted((line for lines in rooms for line in lines), key=lambda line: line.time)]


@pytest.mark.usefixtures("index")
def test_pages_put_together_are_all_messages_of_all_rooms_oldest_first(settings: Settings) -> None:
    for top_k in (1, 5, 24, 50):
        found = pages(settings, top_k=top_k)
        assert ids(found) == merged(HERON_LINES, OWL_LINES)
        assert [len(page.messages) for page in found[:-1]] == [top_k] * (len(found) - 1)


@pytest.mark.usefixtures("index")
def test_a_listed_message_has_its_room_its_words_and_a_permalink(settings: Settings) -> None:
    chat = {"homeserver": "https://matrix.example.org", "user": "@huginn:matrix.example.org:8448"}
    settings = Settings.model_validate({**settings.model_dump(), "chat": chat})
    first = list_messages(settings, ListQuery(rooms=[ALIAS], top_k=1)).messages[0]
    assert first.model_dump() == {
        "event_id": "$e0",
        "sender": BOB,
        "time": moment_of(START),
        "body": "message 0",
        "room": HERONS,
        "alias": ALIAS,
        "url": "https://matrix.to/#/!herons%3Aexample.org/%24e0?via=matrix.example.org%3A8448",
    }


@pytest.mark.usefixtures("index")
def test_filters_leave_out_everything_else(settings: Settings) -> None:
    herons, owls = merged(HERON_LINES), merged(OWL_LINES)
    assert ids(pages(settings, rooms=[ALIAS], top_k=5)) == herons
    assert ids(pages(settings, rooms=[OWLS])) == owls
    assert ids(pages(settings, rooms=[OWLS, HERONS])) == merged(HERON_LINES, OWL_LINES)
    assert ids(pages(settings, senders=[BOB], top_k=2)) == herons[::3]
    assert ids(pages(settings, rooms=[HERONS], after=at(2), before=at(7))) == herons[2:7]
    assert ids(pages(settings, after=at(30))) == []
    assert ids(pages(settings, before="0001-01-01T00:00:00Z")) == []


@pytest.mark.usefixtures("index")
def test_a_room_that_is_not_there_is_refused(settings: Settings) -> None:
    with pytest.raises(Refused, match=r"^rooms\[1\]: .*#nobody:example.org") as refusal:
        list_messages(settings, ListQuery(rooms=[ALIAS, "#nobody:example.org"]))
    assert "huginn status" in refusal.value.next_step


def test_an_alias_that_moved_names_all_rooms_that_are_stored_with_it(settings: Settings, index: Index) -> None:
    write_room(index, Room("!new", [line(1, minute=90, prefix="$new")], ALIAS))
    assert ids(pages(settings, rooms=[ALIAS])) == [*merged(HERON_LINES), "$new1"]


def test_without_an_index_or_with_no_room_in_it_nothing_is_listed(settings: Settings) -> None:
    assert pages(settings, rooms=["#nobody:example.org"])[0].messages == []
    make_index(settings).close()
    assert pages(settings, rooms=["#nobody:example.org"])[0].messages == []


NO_CURSORS = [
    "",
    "x",
    "ü",
    "%%%%",
    "A" * 100_000,
    base64.urlsafe_b64encode(b"{}").decode(),
    base64.urlsafe_b64encode(b"[1]").decode(),
    base64.urlsafe_b64encode(b'[1, -5, "!a", "$b", ""]').decode(),
    base64.urlsafe_b64encode(b'[1, 1e400, "!a", "$b", ""]').decode(),
    base64.urlsafe_b64encode(b"[" * 5000).decode(),
]


def test_a_cursor_that_is_none_is_refused(embedded_settings: Settings) -> None:
    for cursor in NO_CURSORS:
        with pytest.raises(Refused, match=r"^cursor: "):
            list_messages(embedded_settings, ListQuery(cursor=cursor))


@pytest.mark.usefixtures("index")
def test_a_cursor_belongs_to_its_filters_and_its_version_but_not_to_the_size_of_a_page(settings: Settings) -> None:
    cursor = list_messages(settings, ListQuery(rooms=[HERONS, OWLS], after=at(1), top_k=2)).cursor
    for values in ({}, {"rooms": [HERONS]}, {"rooms": [HERONS, OWLS], "after": at(2)}, {"senders": [ANN]}):
        with pytest.raises(Refused, match=r"^cursor: it was made with other filters"):
            list_messages(settings, ListQuery(**values, cursor=cursor))
    same = list_messages(settings, ListQuery(rooms=[OWLS, HERONS, OWLS], after=at(1), top_k=7, cursor=cursor))
    assert ids([same]) == merged(HERON_LINES, OWL_LINES)[4:11]
    document = json.loads(base64.urlsafe_b64decode(f"{cursor}=="))
    other = base64.urlsafe_b64encode(json.dumps([2, *document[1:]]).encode()).decode()
    with pytest.raises(Refused, match=r"^cursor: it is none"):
        list_messages(settings, ListQuery(rooms=[HERONS, OWLS], after=at(1), cursor=other))


def test_messages_of_one_millisecond_come_once_across_rooms_and_pages(settings: Settings, index: Index) -> None:
    for room in ("!b", "!a"):
        write_room(index, Room(room, [line(number, minute=60, prefix=f"${room}") for number in range(5)]))
    expected = [f"$!{room}{number}" for room in "ab" for number in range(5)]
    assert ids(pages(settings, after=at(60), top_k=3)) == expected


def test_clocks_that_lie_are_listed_in_their_place(settings: Settings, index: Index) -> None:
    first, last = Line("$first", ANN, 0, line(0).body), Line("$last", ANN, 253_402_300_799_999, line(1).body)
    write_room(index, Room("!clocks", [first, last]))
    found = pages(settings, top_k=7)
    assert ids(found) == ["$first", *merged(HERON_LINES, OWL_LINES), "$last"]
    assert ids(pages(settings, before="1970-01-01T00:00:00.001Z")) == ["$first"]
    window = show_window(settings, "$last", before=3, after=3)
    assert [message.event_id for message in window.messages] == ["$first", "$last"]


def test_a_message_longer_than_a_window_is_listed_whole_and_once(settings: Settings, index: Index) -> None:
    long = "A sentence of the long message. " * 200
    lines = [line(1, minute=90), line(2, long, minute=91), line(3, minute=92)]
    write_room(index, Room("!long", [Line(f"$long{n}", ANN, line.time, line.body) for n, line in enumerate(lines)]))
    found = pages(settings, after=at(80), top_k=1)
    assert ids(found) == ["$long0", "$long1", "$long2"]
    assert found[1].messages[0].body.rstrip() == long.rstrip()
    window = show_window(settings, "$long1", before=9, after=9)
    assert [message.event_id for message in window.messages] == ["$long0", "$long1", "$long2"]
    assert window.messages[1].body.rstrip() == long.rstrip()


def test_a_message_of_two_windows_comes_once(settings: Settings, index: Index) -> None:
    """As between the writing of new windows and the removal of old ones, and after a kill there."""
    lines = [line(number, minute=60 + number, prefix="$two") for number in range(6)]
    with patch("tests.support.rooms.set", lambda _: set(), create=True):
        write_room(index, Room("!two", lines, ALIAS), cut=in_pieces(4))
        write_room(index, Room("!two", lines, ALIAS), cut=lambda lines: in_pieces(3)(lines))
    assert index.count(Place(corpus="chat", sources=["!two"])) == 3
    listed = pages(settings, rooms=["!two"], top_k=4)
    assert ids(listed) == [line.event_id for line in lines]
    assert [message.body for page in listed for message in page.messages] == [str(line.body) for line in lines]


def test_what_was_masked_since_is_masked_in_listings_and_windows(settings: Settings, index: Index) -> None:
    token = "gh" + "p_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    write_room(index, Room("!secret", [line(1, f"the token is {token}", minute=90, prefix="$secret")]))
    listing, window = pages(settings, rooms=["!secret"])[0], show_window(settings, "$secret1")
    for body in (listing.messages[0].body, window.messages[0].body):
        assert body.startswith("the token is [secret: ")
        assert token not in body


@pytest.mark.usefixtures("index")
def test_a_window_shows_the_neighbours_in_the_same_room_alone(settings: Settings) -> None:
    window = show_window(settings, "$e5", before=2, after=3)
    assert (window.event_id, window.room, window.alias) == ("$e5", HERONS, ALIAS)
    assert [message.event_id for message in window.messages] == ["$e3", "$e4", "$e5", "$e6", "$e7", "$e8"]
    assert [m.event_id for m in show_window(settings, "$e0", before=5, after=0).messages] == ["$e0"]
    assert [m.event_id for m in show_window(settings, "$e11", before=1, after=5).messages] == ["$e10", "$e11"]
    assert len(show_window(settings, "$e6", before=1000, after=1000).messages) == 12


@pytest.mark.usefixtures("index")
def test_a_window_around_what_the_index_lacks_is_refused(settings: Settings) -> None:
    for event_id in ("$none", "", "\ud800", "message 1"):
        with pytest.raises(Refused, match=r"^event_id: "):
            show_window(settings, event_id)


def test_without_an_index_a_window_is_refused_by_its_id(settings: Settings) -> None:
    with pytest.raises(Refused, match=r"^event_id: "):
        show_window(settings, "$e1")


@pytest.mark.parametrize("values", [{"before": -1}, {"after": 1001}])
def test_numbers_of_neighbours_have_limits(embedded_settings: Settings, values: dict[str, int]) -> None:
    with pytest.raises(Refused, match=f"^{next(iter(values))}: "):
        show_window(embedded_settings, "$e1", **values)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"top_k": 0}, "top_k"),
        ({"top_k": 1001}, "top_k"),
        ({"rooms": [""]}, "rooms"),
        ({"rooms": ["!a", "\ud800"]}, r"rooms\[1\]"),
        ({"senders": ["ann"]}, r"senders\[0\]"),
        ({"after": "2026-03-04T00:00:00"}, "after"),
        ({"before": "0001-01-01T00:00:00+14:00"}, "before"),
    ],
)
def test_a_listing_is_refused_by_its_field(values: dict[str, Any], field: str) -> None:
    with pytest.raises(Refused, match=f"^{field}: "):
        ListQuery(**values)


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of all points that the index has given out."""
    given_out: list[str] = []
    stored = EmbeddedIndex.stored

    def counted(self: EmbeddedIndex, *arguments: Any, **options: Any) -> Iterator[StoredPoint]:
        for point in stored(self, *arguments, **options):
            given_out.append(point.id)
            yield point

    monkeypatch.setattr(EmbeddedIndex, "stored", counted)
    return given_out


def test_what_a_page_costs_does_not_grow_with_the_corpus(embedded_settings: Settings, fetched: list[str]) -> None:
    index = make_index(embedded_settings)
    costs = []
    for windows in (1_000, 5_000):
        lines = [line(number, minute=number * 31, prefix="$many") for number in range(windows)]
        write_room(index, Room("!many", lines))
        middle = moment_of(lines[windows // 2].time)
        for values in ({}, {"after": middle}, {"after": middle, "before": middle + timedelta(days=2)}):
            fetched.clear()
            assert len(list_messages(embedded_settings, ListQuery(**values, top_k=50)).messages) == 50
            costs.append(len(fetched))
        for event_id in ("$many0", f"$many{windows // 2}", f"$many{windows - 1}"):
            fetched.clear()
            assert len(show_window(embedded_settings, event_id, before=20, after=20).messages) >= 21
            costs.append(len(fetched))
    index.close()
    assert max(costs) <= 3 * 256


@st.composite
def histories(draw: st.DrawFn) -> list[Room]:
    """A few rooms with messages at times that fall together often, some of them long."""
    rooms = []
    for number in range(draw(st.integers(1, 3))):
        minutes = st.sampled_from([0, 0.00002, 1, 2, 31, 62, 1440, 1440 * 40]) | st.integers(0, 5000)
        times = draw(st.lists(minutes, max_size=25))
        body = st.sampled_from(["short", "x " * 500, "long. " * 500])
        lines = [line(n, draw(body), minute=minute, prefix=f"${number}e") for n, minute in enumerate(times)]
        rooms.append(Room(f"!{number}", lines))
    return rooms


@pytest.fixture(scope="module")
def open_index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Settings, Index]]:
    state: Path = tmp_path_factory.mktemp("listing")
    settings = Settings.model_validate({"state": state, "index": {"min_free_bytes": 0}})
    index = make_index(settings)
    yield settings, index
    index.close()


@seed(4)
@given(st.data(), histories(), st.integers(1, 7))
@examples(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pages_are_all_messages_in_order_while_windows_are_cut_anew(
    open_index: tuple[Settings, Index], data: st.DataObject, rooms: list[Room], top_k: int
) -> None:
    settings, index = open_index
    writer = index.writer("chat", "all")
    writer.remove([point.id for point in index.stored(Place(), ["source"])])
    writer.acknowledge()

    def cut_anew() -> None:
        for room in rooms:
            write_room(index, room, cut=in_pieces(data.draw(st.integers(1, 9))))

    cut_anew()
    everything = sorted((line.time, room.id, line.event_id) for room in rooms for line in room.lines)
    found = pages(settings, cut_anew, top_k=top_k)
    assert ids(found) == [event_id for _, _, event_id in everything]
    if everything:
        _, room_id, event_id = data.draw(st.sampled_from(everything))
        of_room = [event for _, room, event in everything if room == room_id]
        here = of_room.index(event_id)
        window = show_window(settings, event_id, before=top_k, after=2)
        assert [m.event_id for m in window.messages] == of_room[max(0, here - top_k) : here + 3]
