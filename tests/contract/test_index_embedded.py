"""What only the embedded index can meet: a second holder of the files, a full disk, files that are lost or damaged."""

from __future__ import annotations

import pytest

from huginn.errors import Busy, Refused, Unavailable
from huginn.index import folder
from huginn.index.embedded import EmbeddedIndex
from huginn.index.opening import open_for_refresh, open_for_search
from huginn.settings import Settings
from tests.contract.test_index import LABEL, point, write


@pytest.fixture
def settings(embedded_settings: Settings) -> Settings:
    return embedded_settings


def test_a_second_holder_is_told_to_wait(settings: Settings) -> None:
    held = open_for_refresh(settings, LABEL, wait=0)
    with pytest.raises(Busy):
        open_for_search(settings, LABEL, wait=0.2)
    held.close()


def test_a_full_disk_is_told_before_the_engine_is_opened(settings: Settings) -> None:
    full = settings.model_copy(update={"index": settings.index.model_copy(update={"min_free_bytes": 1 << 62})})
    settings.state.mkdir()
    with pytest.raises(Unavailable, match="disk"):
        open_for_refresh(full, LABEL, wait=0)
    assert folder.current(full.state) is None


def test_a_full_disk_is_told_before_each_batch(settings: Settings) -> None:
    opened = open_for_refresh(settings, LABEL, wait=0)
    assert isinstance(opened, EmbeddedIndex)
    opened._min_free_bytes = 1 << 62
    with pytest.raises(Unavailable, match="disk"):
        write(opened, point(1))
    opened.close()


def test_a_lost_or_half_made_index_is_made_anew_with_another_id(settings: Settings) -> None:
    first = open_for_refresh(settings, LABEL, wait=0)
    first.close()
    collection = folder.current(settings.state)
    assert collection is not None
    for path in sorted(collection.shard.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    half = folder.root(settings.state) / "half" / "shard"
    half.mkdir(parents=True)
    second = open_for_refresh(settings, LABEL, wait=0)
    assert second.id != first.id
    assert not half.exists()
    second.close()


def test_a_damaged_label_is_refused_with_what_to_do(settings: Settings) -> None:
    open_for_refresh(settings, LABEL, wait=0).close()
    collection = folder.current(settings.state)
    assert collection is not None
    (collection.shard.parent / "label.json").write_text("{")
    with pytest.raises(Refused, match="delete the folder"):
        open_for_refresh(settings, LABEL, wait=0)
