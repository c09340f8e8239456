"""A homeserver that fails: tried again a bounded number of times, in bounded time, and never told with the token."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from huginn.chat import client as client_module
from huginn.chat.client import Client, Patience
from huginn.chat.homeserver import FactsUnread, Homeserver, Page, TokenUnknown
from huginn.chat.matrix import MatrixHomeserver
from huginn.chat.scope import accepted_before
from huginn.errors import HuginnError, Refused, Unavailable
from tests.support.faulty_homeserver import Fault, FaultyHomeserver

TOKEN = "syt_not-a-real-token_of-chat"
USER = "@reader:example.org"
ROOM = accepted_before("!room:example.org", None)
PATIENCE = Patience(attempts=3, seconds=2.0, first=0.01)
LIMITED = {"errcode": "M_LIMIT_EXCEEDED", "error": "Too fast"}
ANSWERS = {
    "/joined_rooms": {"joined_rooms": [ROOM.id]},
    "/sync": {"next_batch": "s1", "rooms": {"join": {}}},
    "/state": [],
    "/aliases": {"aliases": []},
    "/messages": {"chunk": [], "start": "t0"},
    "/event/$e": {"event_id": "$e"},
    "/m.replace": {"chunk": []},
    "/whoami": {"user_id": "@other:example.org"},
}


@pytest.fixture
def server() -> Iterator[FaultyHomeserver]:
    server = FaultyHomeserver(answers=ANSWERS)
    yield server
    server.stop()


@pytest.fixture
def homeserver(server: FaultyHomeserver, caplog: pytest.LogCaptureFixture) -> Iterator[MatrixHomeserver]:
    caplog.set_level(logging.DEBUG)
    homeserver = MatrixHomeserver(Client(server.url, SecretStr(TOKEN), timeout_seconds=0.5, patience=PATIENCE), USER)
    yield homeserver
    homeserver.close()
    assert set(server.tokens) <= {TOKEN}
    assert TOKEN not in caplog.text + "".join(server.requests) + repr(vars(homeserver)) + repr(vars(homeserver._client))


QUESTIONS: dict[str, Callable[[Homeserver], object]] = {
    "joined_rooms": lambda homeserver: homeserver.joined_rooms(),
    "direct_rooms": lambda homeserver: homeserver.direct_rooms(),
    "changes": lambda homeserver: homeserver.changes("s0"),
    "facts": lambda homeserver: homeserver.facts(ROOM.id),
    "messages": lambda homeserver: list(homeserver.messages(ROOM, None)),
    "event": lambda homeserver: homeserver.event(ROOM, "$e"),
    "edits": lambda homeserver: homeserver.edits(ROOM, "$e"),
}


def failed(question: Callable[[], object]) -> HuginnError:
    """What a question ends with; it takes no long time, and names no token."""
    began = time.monotonic()
    with pytest.raises(HuginnError) as error:
        question()
    assert time.monotonic() - began < 5
    assert TOKEN not in str(error.value) + repr(error.value)
    return error.value


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (Fault("reset"), "broke the connection off"),
        (Fault("slow", seconds=1.5), "did not answer in time"),
        (Fault("cut_off"), "broke the connection off"),
        (Fault("garbage"), "cannot be read"),
        (Fault(500, body={"errcode": "M_UNKNOWN", "error": "Internal server error"}), "fails (HTTP 500 M_UNKNOWN)"),
        (Fault(502), "fails (HTTP 502)"),
        (Fault(503, headers={"Retry-After": "0"}), "fails (HTTP 503)"),
        (Fault(504), "fails (HTTP 504)"),
        (Fault(408), "fails (HTTP 408)"),
        (Fault(429, body={**LIMITED, "retry_after_ms": 20}), "asks to wait 0.02 s"),
        (Fault(429, body={**LIMITED, "retry_after_ms": "soon"}), "has too much to do"),
        (Fault(429, body={**LIMITED, "retry_after_ms": -5}), "has too much to do"),
        (Fault(429, headers={"Retry-After": "Wed, 21 Oct 2037 07:28:00 GMT"}), "has too much to do"),
        (Fault(429), "has too much to do"),
    ],
)
def test_what_may_pass_is_tried_three_times_and_then_told(
    server: FaultyHomeserver, homeserver: MatrixHomeserver, fault: Fault, told: str
) -> None:
    server.faults = [fault]
    error = failed(homeserver.joined_rooms)
    assert isinstance(error, Unavailable)
    assert error.part == "homeserver"
    assert told in error.reason
    assert "tried 3 times" in error.reason
    assert error.next_step
    sent_at_once_again = 2 if fault.kind == "reset" else 1  # by aiohttp: the server may just have closed a kept one
    assert len(server.requests) == 3 * sent_at_once_again


@pytest.mark.parametrize("kind", ["reset", "slow", "cut_off", "garbage", 500, 502, 429])
def test_what_passes_costs_nothing_but_time(
    server: FaultyHomeserver, homeserver: MatrixHomeserver, kind: str | int
) -> None:
    server.faults = [Fault(kind, times=2, seconds=1)]
    assert homeserver.joined_rooms() == {ROOM.id}
    assert len(server.requests) == 3


def test_a_homeserver_that_is_not_there_is_told_and_found_again(
    server: FaultyHomeserver, homeserver: MatrixHomeserver
) -> None:
    with server.away():
        assert "cannot be reached, tried 3 times" in failed(homeserver.joined_rooms).reason
    assert homeserver.joined_rooms() == {ROOM.id}


@pytest.mark.parametrize(
    ("body", "headers"), [({**LIMITED, "retry_after_ms": 300}, {}), ({**LIMITED}, {"Retry-After": "1"})]
)
def test_the_wait_that_is_asked_for_is_kept(
    server: FaultyHomeserver, homeserver: MatrixHomeserver, body: object, headers: dict[str, str]
) -> None:
    server.faults = [Fault(429, times=1, body=body, headers=headers)]
    began = time.monotonic()
    homeserver.joined_rooms()
    assert time.monotonic() - began >= 0.3
    assert len(server.requests) == 2


@pytest.mark.parametrize("wait", [60_000, 10**400, 1e308])
def test_a_wait_longer_than_our_patience_is_not_begun(
    server: FaultyHomeserver, homeserver: MatrixHomeserver, wait: float
) -> None:
    server.faults = [Fault(429, body={**LIMITED, "retry_after_ms": wait})]
    assert "has too much to do" in failed(homeserver.joined_rooms).reason
    assert len(server.requests) == 1


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("soft", [True, False])
def test_a_token_that_is_not_taken_is_refused_at_once_with_what_to_do(
    server: FaultyHomeserver, homeserver: MatrixHomeserver, question: str, soft: bool
) -> None:
    server.faults = [Fault(401, body={"errcode": "M_UNKNOWN_TOKEN", "error": TOKEN, "soft_logout": soft})]
    error = failed(lambda: QUESTIONS[question](homeserver))
    assert isinstance(error, Refused)
    assert error.field == "chat.token_file"
    assert "M_UNKNOWN_TOKEN" in error.reason
    assert "new token" in error.next_step
    server.faults = []
    homeserver.joined_rooms()
    assert server.tokens[-1] == TOKEN


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(
    "fault",
    [
        Fault("html"),
        Fault(404),
        Fault(404, body={"errcode": "M_UNRECOGNIZED", "error": "Unrecognized request"}),
        Fault(405, body={"errcode": "M_UNRECOGNIZED", "error": "Unrecognized request"}),
    ],
)
def test_what_is_no_homeserver_is_refused_at_once(
    server: FaultyHomeserver, homeserver: MatrixHomeserver, question: str, fault: Fault
) -> None:
    server.faults = [Fault(fault.kind, body=fault.body)]
    error = failed(lambda: QUESTIONS[question](homeserver))
    assert isinstance(error, Refused)
    assert error.field == "chat.homeserver"
    assert "people" not in str(error)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_refused_and_the_other_host_never_asked(
    server: FaultyHomeserver, homeserver: MatrixHomeserver, status: int
) -> None:
    other = FaultyHomeserver(answers=ANSWERS)
    server.faults = [Fault(status, headers={"Location": f"{other.url}/_matrix/client/v3/joined_rooms"})]
    error = failed(homeserver.joined_rooms)
    other.stop()
    assert isinstance(error, Refused)
    assert error.field == "chat.homeserver"
    assert other.requests == []
    assert len(server.requests) == 1


WRONG_SHAPES: tuple[Any, ...] = (
    None,
    5,
    "text",
    {"joined_rooms": None, "next_batch": 5, "aliases": {}, "chunk": {}, "user_id": []},
    {"joined_rooms": [5], "next_batch": "s1", "rooms": [], "aliases": [5], "chunk": "text", "m.direct": 5},
    {"joined_rooms": "text", "rooms": {"join": []}, "chunk": [], "end": 5, "next_batch": 5, "@a:b": [[]]},
    {"joined_rooms": {}, "rooms": {"join": {"!a": 5}}, "next_batch": "s1", "aliases": None, "@a:b": "text"},
    {"joined_rooms": {}, "rooms": {"join": {"!a": {"state": {"events": 5}}}}, "next_batch": "s1", "@a:b": None},
)


@pytest.mark.parametrize("question", [name for name in QUESTIONS if name != "event"])
@pytest.mark.parametrize("body", WRONG_SHAPES)
def test_an_answer_of_the_wrong_shape_is_an_error_of_ours_never_an_empty_answer(
    server: FaultyHomeserver, homeserver: MatrixHomeserver, question: str, body: object
) -> None:
    server.faults = [Fault("answer", body=body)]
    with pytest.raises((Unavailable, FactsUnread)):
        QUESTIONS[question](homeserver)
    assert len(server.requests) <= 2


@pytest.mark.parametrize("question", ["facts", "direct_rooms"])
@pytest.mark.parametrize("fault", [Fault(500), Fault("slow", seconds=1), Fault("garbage"), Fault("answer", body=5)])
def test_facts_that_cannot_be_read_cost_no_more_than_they_decide(
    server: FaultyHomeserver, homeserver: MatrixHomeserver, question: str, fault: Fault
) -> None:
    server.faults = [Fault(fault.kind, body=fault.body, seconds=fault.seconds)]
    with pytest.raises(FactsUnread):
        QUESTIONS[question](homeserver)


@pytest.mark.parametrize("part", ["/state", "/aliases", "/messages"])
@pytest.mark.parametrize("status", [403, 404])
def test_each_part_of_the_facts_that_is_denied_leaves_them_unread(
    server: FaultyHomeserver, homeserver: MatrixHomeserver, part: str, status: int
) -> None:
    server.faults = [Fault(status, only=part, body={"errcode": "M_FORBIDDEN", "error": "no"})]
    with pytest.raises(FactsUnread, match=rf"HTTP {status} M_FORBIDDEN"):
        homeserver.facts(ROOM.id)


def test_no_list_of_direct_chats_is_an_empty_one(homeserver: MatrixHomeserver) -> None:
    assert homeserver.direct_rooms() == frozenset()


def test_a_token_of_another_account_is_refused_by_the_users_field(
    server: FaultyHomeserver, homeserver: MatrixHomeserver
) -> None:
    server.faults = [Fault(403, only="m.direct", body={"errcode": "M_FORBIDDEN", "error": "not yours"})]
    error = failed(homeserver.direct_rooms)
    assert isinstance(error, Refused)
    assert error.field == "chat.user"
    assert "@other:example.org" in error.reason


@pytest.mark.parametrize("question", ["messages", "changes"])
def test_a_place_in_the_stream_that_the_homeserver_does_not_know_says_so(
    server: FaultyHomeserver, homeserver: MatrixHomeserver, question: str
) -> None:
    server.faults = [Fault(400, body={"errcode": "M_UNKNOWN", "error": "Invalid stream token"})]
    with pytest.raises(TokenUnknown):
        list(homeserver.messages(ROOM, "garbage")) if question == "messages" else homeserver.changes("garbage")
    with pytest.raises(Unavailable):  # without a token there is none to forget
        list(homeserver.messages(ROOM, None)) if question == "messages" else homeserver.changes(None)


@pytest.mark.parametrize(("status", "raised"), [(403, FactsUnread), (404, FactsUnread), (400, Unavailable)])
def test_messages_that_are_denied_cost_their_room_alone(
    server: FaultyHomeserver, homeserver: MatrixHomeserver, status: int, raised: type[Exception]
) -> None:
    server.faults = [Fault(status, body={"errcode": "M_FORBIDDEN", "error": "no"})]
    with pytest.raises(raised):
        list(homeserver.messages(ROOM, None))


def test_an_empty_page_with_an_end_is_not_the_last(server: FaultyHomeserver, homeserver: MatrixHomeserver) -> None:
    server.faults = [
        Fault("answer", times=1, body={"chunk": [], "end": "t1"}),
        Fault("answer", times=1, body={"chunk": [{"event_id": "$a"}, 5, None], "end": "t2"}),
        Fault("answer", times=1, body={"chunk": [], "end": None}),
    ]
    pages = list(homeserver.messages(ROOM, "s0"))
    assert pages == [Page([], "t1"), Page([{"event_id": "$a"}, 5, None], "t2"), Page([], None)]
    assert [request.partition("from=")[2][:2] for request in server.requests] == ["s0", "t1", "t2"]


@pytest.mark.parametrize("ends", [["s0"], ["t1", "t1"], ["t1", "t2", "t1"]])
def test_pages_that_lead_round_in_a_circle_are_left(
    server: FaultyHomeserver, homeserver: MatrixHomeserver, ends: list[str]
) -> None:
    server.faults = [Fault("answer", times=1, body={"chunk": [{}], "end": end}) for end in ends]
    server.faults.append(Fault("answer", body={"chunk": [{}], "end": ends[-1]}))
    with pytest.raises(Unavailable):
        list(homeserver.messages(ROOM, "s0"))
    assert len(server.requests) == len(ends)


def test_a_look_for_changes_waits_for_nothing_and_shows_nobody_that_the_reader_is_there(
    server: FaultyHomeserver, homeserver: MatrixHomeserver
) -> None:
    homeserver.changes("s0")
    [request] = server.requests
    assert {"since=s0", "timeout=0", "set_presence=offline"} <= set(request.partition("?")[2].split("&"))


def test_pages_without_end_and_without_events_are_left(
    server: FaultyHomeserver, homeserver: MatrixHomeserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huginn.chat.matrix._EMPTY_PAGES", 3)
    server.faults = [Fault("answer", times=1, body={"chunk": [], "end": f"t{number}"}) for number in range(9)]
    with pytest.raises(Unavailable):
        list(homeserver.messages(ROOM, None))
    assert len(server.requests) == 4


def test_a_room_that_is_left_in_the_middle_is_read_no_further(
    server: FaultyHomeserver, homeserver: MatrixHomeserver
) -> None:
    """Pages are asked for ahead; a reader that sees a bridge in the first breaks off what is under way."""
    server.faults = [Fault("answer", times=1, body={"chunk": [{}], "end": "t1"}), Fault(500)]
    pages = homeserver.messages(ROOM, None)
    next(pages)
    pages.close()  # type: ignore[attr-defined] # it is a generator
    time.sleep(0.2)
    assert len(server.requests) <= 2


def test_pages_are_asked_for_forwards_and_as_large_as_can_be(
    server: FaultyHomeserver, homeserver: MatrixHomeserver
) -> None:
    list(homeserver.messages(ROOM, "s0"))
    [request] = server.requests
    assert sorted(request.partition("?")[2].split("&")) == ["dir=f", "from=s0", "limit=1000"]


def test_edits_come_from_all_pages(server: FaultyHomeserver, homeserver: MatrixHomeserver) -> None:
    server.faults = [
        Fault("answer", times=1, body={"chunk": [{"event_id": "$1"}, "broken"], "next_batch": "n1"}),
        Fault("answer", times=1, body={"chunk": [{"event_id": "$2"}]}),
    ]
    assert homeserver.edits(ROOM, "$e") == [{"event_id": "$1"}, {"event_id": "$2"}]


@pytest.mark.parametrize("event_id", ["..", "", "$a\ud800", "$a\n", "$" + "a" * 255, "../../joined_rooms"])
def test_what_is_no_id_of_an_event_is_not_asked_for(
    server: FaultyHomeserver, homeserver: MatrixHomeserver, event_id: str
) -> None:
    assert homeserver.event(ROOM, event_id) is None
    assert homeserver.edits(ROOM, event_id) == []
    assert server.requests == []


@pytest.mark.parametrize("event_id", ["$a/../../b", "$a?b=c#d", "$a%2Fb", "$ü+ b&c"])
def test_an_odd_id_reaches_the_homeserver_as_one_part_of_the_path(
    server: FaultyHomeserver, homeserver: MatrixHomeserver, event_id: str
) -> None:
    assert homeserver.event(ROOM, event_id) is None
    [path] = server.requests
    assert path.count("/") == 7
    assert "?" not in path


def test_a_number_of_thousands_of_digits_does_not_cost_the_page(
    server: FaultyHomeserver, homeserver: MatrixHomeserver
) -> None:
    server.answer = lambda path, headers: (  # type: ignore[method-assign] # Python cannot write it either
        200, "application/json", b'{"chunk": [{"origin_server_ts": ' + b"1" * 9000 + b'}, {"event_id": "$a"}]}'
    )  # fmt: skip
    [page] = homeserver.messages(ROOM, None)
    assert page.events[1] == {"event_id": "$a"}


def test_an_answer_too_large_to_hold_is_given_up(
    server: FaultyHomeserver, homeserver: MatrixHomeserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "LARGEST_ANSWER", 1000)
    server.faults = [Fault("answer", body={"joined_rooms": ["!a:b"] * 1000})]
    assert "more than 1000 bytes" in failed(homeserver.joined_rooms).reason
    assert len(server.requests) == 1


def test_several_threads_may_ask_at_once(server: FaultyHomeserver, homeserver: MatrixHomeserver) -> None:
    server.faults = [Fault("slow", times=4, seconds=0.3)]
    threads = [threading.Thread(target=homeserver.joined_rooms) for _ in range(8)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - began < 2
    assert len(server.requests) >= 12


def test_closing_breaks_off_what_is_under_way_and_ends_the_thread(server: FaultyHomeserver) -> None:
    homeserver = MatrixHomeserver(Client(server.url, SecretStr(TOKEN), timeout_seconds=60), USER)
    server.faults = [Fault("slow", seconds=2)]
    before = threading.active_count()
    next_page = homeserver._client.begin(["joined_rooms"])
    time.sleep(0.2)
    began = time.monotonic()
    homeserver.close()
    homeserver.close()
    assert time.monotonic() - began < 1
    assert next_page.cancelled()
    assert "homeserver" not in [thread.name for thread in threading.enumerate()] or threading.active_count() < before


@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "http://a..b", "http://" + "a" * 70 + ".invalid"])
def test_an_address_without_a_homeserver_is_an_error_of_ours(address: str) -> None:
    homeserver = MatrixHomeserver(Client(address, SecretStr(TOKEN), timeout_seconds=2, patience=PATIENCE), USER)
    try:
        failed(homeserver.joined_rooms)
    finally:
        homeserver.close()


def test_tls_that_is_none_is_told_at_once(server: FaultyHomeserver) -> None:
    address = server.url.replace("http:", "https:")
    homeserver = MatrixHomeserver(Client(address, SecretStr(TOKEN), timeout_seconds=2, patience=PATIENCE), USER)
    try:
        assert "certificate" in failed(homeserver.joined_rooms).reason
    finally:
        homeserver.close()
    assert server.requests == []


def test_what_nio_logs_is_not_heard(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("nio.responses").error("a body")
    logging.getLogger("nio").critical("a body")
    assert "a body" not in caplog.text
