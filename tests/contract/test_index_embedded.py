"""What only the embedded index can meet: a second holder of the files, a full disk, files that are lost or damaged."""

from __future__ import annotations

import pytest

from huginn.errors import Busy, Refused, Unavailable
from huginn.index.embedded import EmbeddedIndex
from huginn.index.folder import Folders
from huginn.index.opening import open_for_search, open_shelf
from huginn.settings import Settings
from tests.support.points import LABEL, make_index, point, write


@pytest.fixture
def settings(embedded_settings: Settings) -> Settings:
    return embedded_settings


def test_a_second_writer_is_told_to_wait(settings: Settings) -> None:
    held = make_index(settings)
    shelf = open_shelf(settings)
    current = shelf.current()
    assert current is not None
    with pytest.raises(Busy):
        shelf.open(current, wait=0.2)
    held.close()


def test_a_full_disk_is_told_before_the_engine_is_opened(settings: Settings) -> None:
    full = settings.model_copy(update={"index": settings.index.model_copy(update={"min_free_bytes": 1 << 62})})
    settings.state.mkdir()
    with pytest.raises(Unavailable, match="disk"):
        make_index(full)
    assert open_shelf(full).current() is None


def test_a_full_disk_is_told_before_each_batch(settings: Settings) -> None:
    opened = make_index(settings)
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
    half = shelf.root / ("0" * 32) / "shard"
    half.mkdir(parents=True)
    assert shelf.current() is None
    assert shelf.others() == []
    second = shelf.create(LABEL)
    assert second.id != collection.id
    assert not half.exists()


def test_a_damaged_label_is_refused_with_what_to_do(settings: Settings) -> None:
    make_index(settings).close()
    shelf = Folders(settings.state, 0)
    collection = shelf.current()
    assert collection is not None
    (shelf.root / collection.name / "label.json").write_text("{")
    with pytest.raises(Refused, match="delete the folder"):
        open_for_search(settings, wait=0)
