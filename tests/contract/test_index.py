"""What every index must do, whatever it is made of: one suite for all adapters."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from huginn.embed.port import Identity
from huginn.errors import Busy, Refused, Unavailable
from huginn.ids import digest
from huginn.index.embedded import EmbeddedIndex
from huginn.index.folder import Folders
from huginn.index.label import Label, make_label
from huginn.index.opening import open_for_search, open_shelf
from huginn.index.port import Ask, Index, NewPoint, Place, Receipt
from huginn.scrub import scrub
from huginn.settings import Settings

LABEL = make_label("Test", Identity("test-model", "sha256:0", 4), {"chunker": "1"}, "scrub-1")


def settings_in(tmp_path: Path, min_free_bytes: int = 0) -> Settings:
    return Settings.model_validate({"state": tmp_path / "state", "index": {"min_free_bytes": min_free_bytes}})


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_in(tmp_path)


def make_index(settings: Settings) -> Index:
    """A new index, in use."""
    shelf = open_shelf(settings)
    collection = shelf.create(LABEL)
    shelf.switch(collection)
    return shelf.open(collection, wait=0)


@pytest.fixture(params=["embedded"])
def index(settings: Settings) -> Iterator[Index]:
    opened = make_index(settings)
    yield opened
    opened.close()


def point_id(number: int) -> str:
    return str(UUID(int=number + 1))


def point(
    number: int, text: str = "some text", *, source: str = "a", path: str = "a.md", vector: bool = True
) -> NewPoint:
    embedded = scrub(text).clean
    direction = np.random.default_rng(number).normal(size=4).astype(np.float32)
    payload = {
        "corpus": "forge",
        "source": source,
        "path": path,
        "text": text,
        "text_sha256": digest(text),
        "embedded_sha256": digest(text),
        "time": f"2024-03-{number % 28 + 1:02d}T10:00:00Z",
    }
    return NewPoint(point_id(number), payload, embedded, direction / np.linalg.norm(direction) if vector else None)


def write(index: Index, *points: NewPoint, source: str = "a") -> Receipt:
    writer = index.writer("forge", source)
    writer.upsert(points)
    return writer.acknowledge()


def test_a_point_that_was_acknowledged_is_there_whole(index: Index) -> None:
    write(index, point(1, "alpha"))
    (stored,) = index.stored(Place())
    assert stored.payload == point(1, "alpha").payload
    assert stored.has_vector
    vector = point(1).vector
    assert vector is not None
    assert np.allclose(index.vectors([digest("alpha")])[digest("alpha")], vector, atol=1e-6)


def test_more_points_than_one_batch_all_come_in_and_go(index: Index) -> None:
    points = [point(number, f"text {number}") for number in range(700)]
    assert write(index, *points).points == 700
    assert [stored.id for stored in index.stored(Place(), ["path"])] == sorted(new.id for new in points)
    writer = index.writer("forge", "a")
    writer.remove([new.id for new in points[:600]])
    assert writer.acknowledge().points == 100
    assert index.count(Place()) == 100


def test_writing_twice_is_writing_once(index: Index) -> None:
    write(index, point(1), point(2))
    assert write(index, point(1), point(2)).points == 2


def test_an_update_replaces_the_payload_whole_and_keeps_the_vector(index: Index) -> None:
    write(index, point(1, "alpha"))
    before = index.vectors([digest("alpha")])[digest("alpha")]
    payload = {**point(1, "alpha").payload, "start_line": 9}
    del payload["time"]
    writer = index.writer("forge", "a")
    writer.update({point_id(1): payload})
    writer.acknowledge()
    (stored,) = index.stored(Place())
    assert stored.payload == payload
    assert (index.vectors([digest("alpha")])[digest("alpha")] == before).all()


def test_a_vector_that_is_written_again_keeps_its_bits(index: Index) -> None:
    write(index, point(1, "alpha"))
    first = index.vectors([digest("alpha")])[digest("alpha")]
    write(index, NewPoint(point_id(1), point(1, "alpha").payload, point(1, "alpha").embedded, first))
    assert (index.vectors([digest("alpha")])[digest("alpha")] == first).all()


def test_a_point_without_a_vector_is_found_by_words_alone(index: Index) -> None:
    write(index, point(1, "alpha", vector=False), point(2, "beta"))
    (stored,) = index.stored(Place(ids=[point_id(1)]))
    assert not stored.has_vector
    vector = point(2).vector
    assert vector is not None
    by_words, by_meaning = index.query([Ask(scrub("alpha").clean, Place(), 9), Ask(vector, Place(), 9)])
    assert [hit.id for hit in by_words] == [point_id(1)]
    assert [hit.id for hit in by_meaning] == [point_id(2)]
    assert index.vectors([digest("alpha")]) == {}


def test_lists_are_ordered_by_score_and_equal_scores_by_id(index: Index) -> None:
    vector = point(5).vector
    assert vector is not None
    same = [NewPoint(point_id(n), point(n).payload, point(n).embedded, vector) for n in range(130)]
    write(index, *same)
    (hits,) = index.query([Ask(vector, Place(), 50)])
    assert [hit.id for hit in hits] == [point_id(n) for n in range(50)]


def test_a_place_filters_by_each_of_its_fields(index: Index) -> None:
    write(index, point(1, "one", path="src/a.py"), point(2, "two", path="src/lib/b.py"), point(3, "three", path="srcx"))
    write(index, point(4, "four", source="b", path="src"), source="b")

    def ids(place: Place) -> list[str]:
        return [stored.id for stored in index.stored(place)]

    assert ids(Place(corpus="forge", sources=["b"])) == [point_id(4)]
    assert ids(Place(paths=["src/a.py"])) == [point_id(1)]
    assert ids(Place(within=["src"])) == [point_id(1), point_id(2), point_id(4)]
    assert ids(Place(within=["src/lib/"])) == [point_id(2)]
    assert ids(Place(text_sha256=[digest("two")])) == [point_id(2)]
    assert ids(Place(ids=[point_id(3)])) == [point_id(3)]
    assert ids(Place(corpus="chat")) == []
    after, before = datetime(2024, 3, 3, 10, tzinfo=UTC), datetime(2024, 3, 4, 10, tzinfo=UTC)
    assert ids(Place(after=after, before=before)) == [point_id(2)]
    assert index.sources("forge") == {"a": 3, "b": 1}


def test_an_empty_choice_is_nothing_not_everything(index: Index) -> None:
    write(index, point(1))
    for place in (Place(sources=[]), Place(paths=[]), Place(within=[]), Place(ids=[]), Place(text_sha256=[])):
        assert index.count(place) == 0
        assert index.query([Ask(scrub("text").clean, place, 5)]) == [[]]


def test_filters_stand_inside_the_question(index: Index) -> None:
    vector = point(7).vector
    assert vector is not None
    near = [NewPoint(point_id(n), point(n).payload, point(n).embedded, vector) for n in range(200)]
    write(index, *near)
    write(index, point(900, source="b"), source="b")
    (hits,) = index.query([Ask(vector, Place(sources=["b"]), 5)])
    assert [hit.id for hit in hits] == [point_id(900)]


def test_a_writer_that_failed_gives_no_receipt(index: Index) -> None:
    writer = index.writer("forge", "a")
    good = point(1).vector
    assert good is not None
    with pytest.raises(Unavailable):
        writer.upsert([NewPoint(point_id(1), point(1).payload, point(1).embedded, good[:3])])
    with pytest.raises(Unavailable):
        writer.acknowledge()


def test_a_receipt_cannot_be_made_by_others() -> None:
    with pytest.raises(TypeError):
        Receipt("index", "forge", "a", 1, object())


def test_what_was_acknowledged_is_there_after_opening_again(settings: Settings) -> None:
    first = make_index(settings)
    write(first, point(1))
    first.close()
    again = open_for_search(settings, wait=0)
    assert (again.id, again.label, again.count(Place())) == (first.id, LABEL, 1)
    again.close()


def test_a_search_without_an_index_says_what_to_run(settings: Settings) -> None:
    with pytest.raises(Unavailable, match="huginn refresh"):
        open_for_search(settings, wait=0)


def test_a_second_writer_is_told_to_wait(settings: Settings) -> None:
    held = make_index(settings)
    shelf = open_shelf(settings)
    current = shelf.current()
    assert current is not None
    with pytest.raises(Busy):
        shelf.open(current, wait=0.2)
    held.close()


def test_a_full_disk_is_told_before_the_engine_is_opened(tmp_path: Path) -> None:
    full = settings_in(tmp_path, min_free_bytes=1 << 62)
    (tmp_path / "state").mkdir()
    with pytest.raises(Unavailable, match="disk"):
        make_index(full)
    assert open_shelf(full).current() is None


def test_a_full_disk_is_told_before_each_batch(tmp_path: Path) -> None:
    opened = make_index(settings_in(tmp_path))
    assert isinstance(opened, EmbeddedIndex)
    opened._min_free_bytes = 1 << 62
    with pytest.raises(Unavailable, match="disk"):
        write(opened, point(1))
    opened.close()


def test_half_made_collections_are_swept_away_and_a_lost_one_is_none(settings: Settings) -> None:
    make_index(settings).close()
    shelf = Folders(settings.state, 0)
    collection = shelf.current()
    assert collection is not None
    for path in sorted(shelf.shard(collection.name).rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    half = shelf.root / "half" / "shard"
    half.mkdir(parents=True)
    assert shelf.current() is None
    assert shelf.others() == []
    second = shelf.create(LABEL)
    assert second.id != collection.id
    assert not half.exists()


def test_the_switch_retires_what_was_in_use_and_back_again(settings: Settings) -> None:
    shelf = open_shelf(settings)
    first, second = shelf.create(LABEL), shelf.create(LABEL)
    shelf.switch(first)
    assert shelf.others() == [second]
    shelf.switch(second)
    assert shelf.current() == second
    (retired,) = shelf.others()
    assert retired.name == first.name
    assert retired.retired is not None
    shelf.switch(retired)
    current = shelf.current()
    assert current is not None
    assert (current.name, current.retired) == (first.name, None)
    with pytest.raises(ValueError, match="in use"):
        shelf.drop(first)
    shelf.drop(second)
    assert shelf.others() == []


def test_a_damaged_label_is_refused_with_what_to_do(settings: Settings) -> None:
    make_index(settings).close()
    shelf = Folders(settings.state, 0)
    collection = shelf.current()
    assert collection is not None
    (shelf.root / collection.name / "label.json").write_text("{")
    with pytest.raises(Refused, match="delete the folder"):
        open_for_search(settings, wait=0)


def test_labels_of_other_rules_models_scrubs_or_forges_differ() -> None:
    identity = LABEL.identity
    assert make_label("Test", identity, {"chunker": "1"}, "scrub-1") == LABEL
    others: list[Label] = [
        make_label("Other", identity, {"chunker": "1"}, "scrub-1"),
        make_label("Test", identity, {"chunker": "2"}, "scrub-1"),
        make_label("Test", identity, {"chunker": "1"}, "scrub-2"),
        make_label("Test", Identity("test-model", "sha256:0", 8), {"chunker": "1"}, "scrub-1"),
    ]
    assert all(LABEL.differences(other) for other in others)
