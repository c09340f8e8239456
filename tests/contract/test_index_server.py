"""What only an index on a server can meet: faults of the server and of the way to it, and half-made collections."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from qdrant_client.http import models

from huginn.errors import HuginnError, Refused, Unavailable
from huginn.index import server, server_retry, server_writer
from huginn.index.opening import open_for_search, open_shelf
from huginn.index.port import Ask, Index, NewPoint, Place
from huginn.index.server import ServerIndex
from huginn.index.server_retry import Patience, Sender
from huginn.scrub import scrub
from huginn.settings import Settings
from tests.support.points import LABEL, make_index, point, point_id, write
from tests.support.qdrant_server import Fault, StandIn

TRANSIENT: list[tuple[str | int, dict[str, str]]] = [
    ("reset_before", {}),
    ("reset_after", {}),
    ("cut_off", {}),
    ("unfinished", {}),
    (500, {}),
    (503, {}),
    (429, {}),
    (429, {"Retry-After": "2"}),
    (429, {"Retry-After": "Fri, 01 Mar 2024 10:00:00 GMT"}),
]
LASTING: list[str | int] = ["reset_before", "reset_after", 500, 429, "garbage", "wrong_shape", "null"]
OTHER = {"other": models.VectorParams(size=2, distance=models.Distance.DOT)}
WRITES = ["upsert", "batch", "delete"]


@pytest.fixture
def settings(server_settings: Settings) -> Settings:
    return server_settings


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was waited between attempts; nobody waits in truth."""
    waited: list[float] = []
    monkeypatch.setattr(server_retry, "sleep", waited.append)
    return waited


@pytest.fixture
def index(settings: Settings) -> Iterator[Index]:
    opened = make_index(settings)
    yield opened
    opened.close()


def do(index: Index, what: str) -> None:
    """One write of each kind, over two points that are there."""
    writer = index.writer("forge", "a")
    if what == "upsert":
        writer.upsert([point(3)])
    elif what == "batch":
        writer.update({point_id(1): {**point(1).payload, "start_line": 7}})
    else:
        writer.remove([point_id(2)])
    writer.acknowledge()


@pytest.mark.parametrize("what", WRITES)
@pytest.mark.parametrize(("kind", "headers"), TRANSIENT)
def test_a_fault_that_passes_leaves_the_right_points(
    index: Index, standin: StandIn, what: str, kind: str | int, headers: dict[str, str]
) -> None:
    write(index, point(1), point(2))
    standin.faults = [Fault(kind, times=2, only=what, headers=headers)]
    do(index, what)
    assert standin.faults[0].times == 0
    stored = {found.id: found.payload for found in index.stored(Place())}
    expected = {point_id(1): point(1).payload, point_id(2): point(2).payload}
    if what == "upsert":
        expected[point_id(3)] = point(3).payload
    elif what == "batch":
        expected[point_id(1)] = {**point(1).payload, "start_line": 7}
    else:
        del expected[point_id(2)]
    assert stored == expected


def test_a_silent_server_is_asked_again_after_the_time_limit(settings: Settings, standin: StandIn) -> None:
    brief = settings.index.model_copy(update={"timeout_seconds": 1})
    index = make_index(settings.model_copy(update={"index": brief}))
    standin.faults = [Fault("slow", only="upsert", seconds=1.5)]
    assert write(index, point(1)).points == 1
    deadline = time.monotonic() + 10
    while len(standin.asked("upsert")) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(standin.asked("upsert")) == 2
    assert index.count(Place()) == 1
    index.close()


@pytest.mark.parametrize("what", WRITES)
@pytest.mark.parametrize("kind", [*LASTING, 400, 401, 403, 404, 409, 301])
def test_a_fault_that_lasts_is_told_and_there_is_no_receipt(
    index: Index, standin: StandIn, what: str, kind: str | int
) -> None:
    write(index, point(1), point(2))
    standin.faults = [Fault(kind, times=1000, only=what)]
    with pytest.raises(Unavailable, match=r"^index: http://127.0.0.1:\d+ .*; .+") as raised:
        do(index, what)
    attempts = 1000 - standin.faults[0].times
    is_tried_again = kind in ("reset_before", "reset_after", 500, 429)
    assert attempts == (server_retry.REFRESHING.attempts if is_tried_again else 1)
    assert ("tried 8 times" in str(raised.value)) == is_tried_again


def test_a_write_that_failed_for_good_gives_no_receipt_later(index: Index, standin: StandIn) -> None:
    writer = index.writer("forge", "a")
    standin.faults = [Fault(400, only="delete")]
    with pytest.raises(Unavailable):
        writer.remove([point_id(1)])
    writer.upsert([point(1)])
    with pytest.raises(Unavailable, match="failed before"):
        writer.acknowledge()


@pytest.mark.parametrize("kind", LASTING)
@pytest.mark.parametrize("what", ["scroll", "query", "count", "facet", "retrieve"])
def test_a_question_without_a_usable_answer_is_told(index: Index, standin: StandIn, what: str, kind: str | int) -> None:
    write(index, point(1))
    standin.faults = [Fault(kind, times=1000, only=what)]
    questions: dict[str, Any] = {
        "scroll": lambda: list(index.stored(Place())),
        "query": lambda: index.query([Ask(scrub("text").clean, Place(), 5)]),
        "count": lambda: index.count(Place()),
        "facet": lambda: index.sources("forge"),
        "retrieve": lambda: index.fetch([point_id(1)]),
    }
    with pytest.raises(Unavailable):
        questions[what]()


def test_a_list_that_is_missing_from_an_answer_is_no_answer(index: Index, standin: StandIn) -> None:
    standin.faults = [Fault("shorter", only="query")]
    with pytest.raises(Unavailable, match="1 lists for 2 questions"):
        index.query([Ask(scrub("text").clean, Place(), 5), Ask(scrub("other").clean, Place(), 5)])


def test_what_the_server_asks_to_wait_is_waited(index: Index, standin: StandIn, pauses: list[float]) -> None:
    standin.faults = [Fault(429, headers={"Retry-After": "30"})]
    index.count(Place())
    assert pauses == [30.0]


def test_a_server_that_asks_to_wait_too_long_is_away(index: Index, standin: StandIn, pauses: list[float]) -> None:
    standin.faults = [Fault(429, headers={"Retry-After": "91"})]
    with pytest.raises(Unavailable, match="asks to wait 91 s"):
        index.count(Place())
    assert pauses == []


def test_pauses_grow_and_are_never_quite_the_same(index: Index, standin: StandIn, pauses: list[float]) -> None:
    standin.faults = [Fault(503, times=7)]
    index.count(Place())
    for pause, longest in zip(pauses, [0.5, 1, 2, 4, 8, 15, 15], strict=True):
        assert longest / 2 <= pause <= longest
    standin.faults = [Fault(503, times=7)]
    first = list(pauses)
    index.count(Place())
    assert pauses[7:] != first


def test_no_attempt_is_begun_after_the_time_that_patience_has() -> None:
    clock = 0.0

    def request() -> object:
        nonlocal clock
        clock += 10
        raise server_retry._Unfinished

    with patch.object(server_retry, "monotonic", lambda: clock), pytest.raises(Unavailable, match="tried 4 times"):
        Sender("x", Patience(attempts=100, seconds=25)).send(request)
    assert clock == 40


def test_a_search_is_less_patient_than_a_refresh(settings: Settings, standin: StandIn) -> None:
    make_index(settings).close()
    standin.faults = [Fault(500, times=1000)]
    with pytest.raises(Unavailable):
        open_for_search(settings, wait=0)
    assert standin.faults[0].times == 1000 - server_retry.SEARCHING.attempts


def test_a_server_that_is_away_is_told_and_nothing_local_takes_its_place(settings: Settings, standin: StandIn) -> None:
    make_index(settings).close()
    with standin.away():
        with pytest.raises(Unavailable, match=r"cannot be reached.*; start it, or check index.url"):
            open_for_search(settings, wait=0)
        with pytest.raises(Unavailable, match="cannot be reached"):
            make_index(settings)
    assert [path.name for path in (settings.state / "index").iterdir()] == ["server.json"]
    open_for_search(settings, wait=0).close()


def test_an_error_repeats_neither_what_was_sent_nor_what_was_answered_nor_the_key(tmp_path: Path) -> None:
    key_file = tmp_path / "key"
    key_file.write_text("sesame-open\n")
    standin = StandIn(tmp_path / "server", api_key="sesame-open")
    index_settings = {"url": standin.url, "api_key_file": key_file}
    settings = Settings.model_validate({"state": tmp_path / "state", "index": index_settings})
    index = make_index(settings)
    text = " ".join(["secret", "heron"])  # put together here: a traceback shows the lines of this file
    for kind in (400, 500, "garbage", "wrong_shape", "reset_after"):
        standin.faults = [Fault(kind, times=1000, reason=text)]
        with pytest.raises(Unavailable) as raised:
            write(index, point(1, text))
        told = "".join(traceback.format_exception(raised.value)) + repr(raised.value)
        assert text not in told
        assert "sesame" not in told
    assert "sesame" not in repr(index) + repr(vars(index)) + repr(settings) + repr(vars(vars(index)["connection"]))
    standin.stop()


def test_a_key_is_sent_and_its_lack_is_told(tmp_path: Path) -> None:
    standin = StandIn(tmp_path / "server", api_key="sesame")
    key_file = tmp_path / "key"
    settings = Settings.model_validate({"state": tmp_path / "state", "index": {"url": standin.url}})
    with pytest.raises(Unavailable, match=r"HTTP 401.*index.api_key_file"):
        make_index(settings)
    named = settings.model_copy(update={"index": settings.index.model_copy(update={"api_key_file": key_file})})
    for content in (None, b"", b"two\nlines", b"\xff"):
        if content is not None:
            key_file.write_bytes(content)
        with pytest.raises(Refused, match=r"index.api_key_file: "):
            make_index(named)
    key_file.write_text("sesame\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a run says nothing on standard error
        make_index(named).close()
    assert standin.violations == []
    standin.stop()


def test_the_last_index_of_a_shelf_that_is_closed_closes_the_connection(settings: Settings) -> None:
    shelf = open_shelf(settings)
    first, second = (shelf.open(shelf.create(LABEL), wait=0) for _ in range(2))
    assert isinstance(first, ServerIndex)
    first.close()
    assert first.connection._client is not None
    second.close()
    assert first.connection._client is None
    assert len(shelf.others()) == 2


def test_every_write_waits_in_one_order_and_deletions_have_the_longer_limit(index: Index, standin: StandIn) -> None:
    write(index, point(1), point(2))
    for what in WRITES:
        do(index, what)
    for operation in WRITES:
        for request in standin.asked(operation):
            assert (request.parameters["wait"], request.parameters["ordering"]) == ("true", "medium")
    assert standin.asked("delete")[0].parameters["timeout"] == "300"
    assert all(request.parameters["wait"] == "true" for request in standin.asked("index"))


def test_every_question_is_exact_and_has_its_filter_inside(index: Index, standin: StandIn) -> None:
    write(index, point(1))
    vector = point(1).vector
    assert vector is not None
    place = Place(sources=["a"])
    index.query([Ask(vector, place, 5), Ask(scrub("text").clean, place, 5)])
    index.sources("forge")
    (request,) = standin.asked("query")
    assert [search.params.exact for search in request.body.searches] == [True, True]
    assert all(search.filter is not None for search in request.body.searches)
    assert standin.asked("facet")[0].body.exact
    assert all(count.body.exact for count in standin.asked("count"))


def test_an_empty_choice_is_not_sent(index: Index, standin: StandIn) -> None:
    write(index, point(1))
    text = scrub("text").clean
    lists = index.query([Ask(text, Place(ids=[]), 5), Ask(text, Place(), 5)])
    assert [len(found) for found in lists] == [0, 1]
    assert [len(request.body.searches) for request in standin.asked("query")] == [1]


def test_requests_are_bounded_in_points(index: Index, standin: StandIn) -> None:
    points = [point(number) for number in range(600)]
    write(index, *points)
    assert [len(request.body.points) for request in standin.asked("upsert")] == [256, 256, 88]
    writer = index.writer("forge", "a")
    writer.update({new.id: {**new.payload, "start_line": 1} for new in points})
    writer.remove([new.id for new in points])
    assert writer.acknowledge().points == 0
    assert [len(request.body.operations) for request in standin.asked("batch")] == [256, 256, 88]
    assert [len(request.body.points) for request in standin.asked("delete")] == [256, 256, 88]


def test_requests_are_bounded_in_bytes_and_what_is_too_large_alone_is_told(index: Index, standin: StandIn) -> None:
    large = point(99, "long " * 2000)
    points = [point(number, f"{number} " + "ü" * 300) for number in range(30)]
    with patch.object(server_writer, "_MOST_BYTES", 8000):
        writer = index.writer("forge", "a")
        unstored = writer.upsert([*points[:15], large, *points[15:]])
        assert writer.acknowledge().points == 30
        writer.update({new.id: {**new.payload, "start_line": 1} for new in points})
    assert unstored.keys() == {large.id}
    assert "bytes are too many" in unstored[large.id]
    sent = [*standin.asked("upsert"), *standin.asked("batch")]
    assert len(sent) > 4
    assert max(request.size for request in sent) < 8100


def test_a_request_stays_below_what_a_server_takes_at_most() -> None:
    assert server_writer._MOST_BYTES + 100 < 16_000_000


def test_a_server_that_takes_less_gets_less(index: Index, standin: StandIn) -> None:
    large = point(99, "long " * 2000)
    standin.largest_body = 8000
    writer = index.writer("forge", "a")
    unstored = writer.upsert([*(point(number) for number in range(40)), large])
    assert unstored.keys() == {large.id}
    assert writer.acknowledge().points == 40


def test_a_payload_that_has_grown_too_large_is_told_and_the_others_are_replaced(index: Index, standin: StandIn) -> None:
    points = [point(number) for number in range(40)]
    write(index, *points)
    standin.largest_body = 8000
    payloads = {new.id: {**new.payload, "start_line": 7} for new in points}
    payloads[points[3].id]["text"] = "long " * 2000
    payloads[points[4].id]["path"] = "\ud800"
    writer = index.writer("forge", "a")
    unstored = writer.update(payloads)
    assert unstored == {
        points[3].id: "the index's server takes no point of that size",
        points[4].id: "its text cannot be sent to the index",
    }
    with patch.object(server_writer, "_MOST_BYTES", 8000):
        assert "bytes are too many" in writer.update(payloads)[points[3].id]
    assert writer.acknowledge().points == 40
    replaced = [stored.id for stored in index.stored(Place()) if stored.payload.get("start_line") == 7]
    assert sorted(replaced) == sorted(new.id for new in points if new.id not in unstored)


def test_text_that_cannot_be_sent_is_told_of_its_point_alone(index: Index) -> None:
    writer = index.writer("forge", "a")
    broken = NewPoint(point_id(1), {**point(1).payload, "path": "\ud800"}, point(1).embedded, point(1).vector)
    assert writer.upsert([broken, point(2)]).keys() == {point_id(1)}
    assert writer.acknowledge().points == 1


def test_all_sources_are_found_whatever_their_number(index: Index) -> None:
    for number in range(5):
        write(index, point(number, source=f"s{number}"), source=f"s{number}")
    with patch.object(server, "_SOURCES", 2):
        assert index.sources("forge") == {f"s{number}": 1 for number in range(5)}


def test_scores_have_the_bits_that_the_engine_gave_them(index: Index, embedded_settings: Settings) -> None:
    other = make_index(embedded_settings.model_copy(update={"state": embedded_settings.state / "embedded"}))
    points = [point(number, f"text {number} heron") for number in range(30)]
    write(index, *points)
    write(other, *points)
    vector = np.asarray([0.1, 0.2, 0.3, 0.4], dtype=np.float32)
    asks = [Ask(vector, Place(), 20), Ask(scrub("heron 7").clean, Place(), 20)]
    assert index.query(asks) == other.query(asks)
    other.close()


def test_a_half_made_collection_is_swept_and_made_anew_and_nothing_else_is_touched(
    settings: Settings, standin: StandIn
) -> None:
    foreign = f"huginn_other_{'0' * 8}_{'0' * 32}"
    shelf = open_shelf(settings)
    for name in ("notes", foreign):
        assert standin.store.create(name, models.CreateCollection(vectors=OTHER))
    for broken in ("create", "index", "change"):
        standin.faults = [Fault(400, only=broken)]
        with pytest.raises(Unavailable):
            shelf.create(LABEL)
        assert (len(standin.store.collections) == 3) == (broken != "create")
        assert shelf.others() == []
    made = shelf.create(LABEL)
    assert set(standin.store.collections) == {"notes", foreign, made.name}
    assert set(standin.store.collections[made.name].indexes) == {
        *("corpus", "source", "path", "text_sha256", "embedded_sha256", "time", "end_time"),
        *("alias", "messages[].event_id", "messages[].sender"),
    }


def test_a_collection_that_was_made_though_the_connection_broke_is_used(settings: Settings, standin: StandIn) -> None:
    standin.faults = [Fault("reset_after", only=what) for what in ("create", "index", "change", "change_aliases")]
    index = make_index(settings)
    assert len(standin.store.collections) == 1
    assert all(fault.times == 0 for fault in standin.faults)
    assert write(index, point(1)).points == 1
    index.close()


def test_a_switch_is_one_step(settings: Settings, standin: StandIn) -> None:
    shelf = open_shelf(settings)
    first, second = shelf.create(LABEL), shelf.create(LABEL)
    shelf.switch(first)
    standin.faults = [Fault(400, only="change_aliases")]
    with pytest.raises(Unavailable):
        shelf.switch(second)
    assert shelf.current() == first
    shelf.switch(second)
    assert shelf.current() == second
    assert [len(request.body.actions) for request in standin.asked("change_aliases")] == [1, 2]


def _without_index(standin: StandIn, name: str) -> None:
    del standin.store.collections[name].indexes["time"]


def _with_another_type(standin: StandIn, name: str) -> None:
    standin.store.collections[name].indexes["time"] = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD)


def _without_prefix(standin: StandIn, name: str) -> None:
    standin.store.collections[name].indexes["path"] = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD)


def _without_label(standin: StandIn, name: str) -> None:
    standin.store.collections[name].metadata.clear()


def _with_a_damaged_label(standin: StandIn, name: str) -> None:
    standin.store.collections[name].metadata["huginn"] = {"id": "x"}


def _with_other_vectors(standin: StandIn, name: str) -> None:
    vectors = {"meaning": models.VectorParams(size=4, distance=models.Distance.DOT)}
    created = standin.store.collections[name].created
    standin.store.collections[name].created = created.model_copy(update={"vectors": vectors})


def _without_idf(standin: StandIn, name: str) -> None:
    created = standin.store.collections[name].created
    words = {"words": models.SparseVectorParams()}
    standin.store.collections[name].created = created.model_copy(update={"sparse_vectors": words})


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (_without_index, "'time' has no index of the type datetime"),
        (_with_another_type, "'time' has no index of the type datetime"),
        (_without_prefix, "'path' is not one for prefixes"),
        (_without_label, "has no label"),
        (_with_a_damaged_label, "label is damaged"),
        (_with_other_vectors, "no vectors 'meaning' of 4 dimensions"),
        (_without_idf, "the modifier idf"),
    ],
)
def test_a_collection_that_is_not_as_we_make_them_is_refused_with_what_to_do(
    settings: Settings, standin: StandIn, damage: Any, told: str
) -> None:
    make_index(settings).close()
    (name,) = standin.store.collections
    damage(standin, name)
    with pytest.raises(Refused, match=rf"{name}.*{told}.*; delete it on the server and run 'huginn refresh'"):
        open_for_search(settings, wait=0)


def test_a_server_that_keeps_no_metadata_is_too_old(settings: Settings, standin: StandIn) -> None:
    with (
        patch.object(type(standin.store), "update", lambda *_: True),
        pytest.raises(Refused, match=r"Qdrant 1.19.0 .* keeps no metadata.*; use Qdrant 1.19 or newer"),
    ):
        open_shelf(settings).create(LABEL)


def test_indexes_of_two_forges_on_one_server_stay_apart(tmp_path: Path, standin: StandIn) -> None:
    found = []
    for number, name in enumerate(("Our Forge", "Our-Forge", "Our/Forge", "Our")):
        settings = Settings.model_validate(
            {"state": tmp_path / str(number), "forge": {"name": name}, "index": {"url": standin.url}}
        )
        index = make_index(settings)
        assert index.count(Place()) == 0
        write(index, point(number))
        index.close()
        assert open_shelf(settings).others() == []
        found.append(index.id)
    assert len(set(found)) == len(standin.store.aliases) == 4


def test_sharding_is_passed_on_and_only_if_it_is_given(settings: Settings, standin: StandIn) -> None:
    open_shelf(settings).create(LABEL)
    given = {"shard_number": 3, "replication_factor": 2, "write_consistency_factor": 2}
    named = settings.index.model_copy(update={**given, "alias": "named"})
    open_shelf(settings.model_copy(update={"index": named})).create(LABEL)
    plain, sharded = (request.body.model_dump(exclude_none=True) for request in standin.asked("create"))
    assert not plain.keys() & given.keys()
    assert {name: sharded[name] for name in given} == given


def test_without_the_client_the_error_says_what_to_install(settings: Settings) -> None:
    with (
        patch("importlib.util.find_spec", lambda name: None),
        pytest.raises(Refused, match=r"pip install 'huginn\[server\]'"),
    ):
        open_for_search(settings, wait=0)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host:6333",
        "host:6333",
        "http://",
        "http://user:sesame@host:6333",
        "http://sesame@host:6333",
        "http://host:6333/?api-key=sesame",
        "http://host:6333/#sesame",
        "http://ho st",
        "http://host:sesame",
        "",
    ],
)
def test_an_address_that_is_none_or_holds_a_secret_is_refused_without_repeating_it(tmp_path: Path, url: str) -> None:
    with pytest.raises(ValueError, match=r"index\.url") as raised:
        Settings.model_validate({"state": tmp_path, "index": {"url": url}})
    assert "sesame" not in str(raised.value)


def test_every_error_here_is_one_that_a_person_is_meant_to_read() -> None:
    assert issubclass(server_retry.TooLarge, HuginnError)
