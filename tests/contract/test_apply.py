"""Plans carried out: what must disappear goes first, whatever becomes of the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from huginn.apply import AHEAD, Tally, carry_out
from huginn.checkpoints import Checkpoints, Ledger
from huginn.embed.ahead import Threads
from huginn.embed.port import Identity, Vector
from huginn.errors import Unavailable
from huginn.index.port import Index, Place
from huginn.parts import Parts
from huginn.plan import Plan, plan
from huginn.scrub import Clean
from huginn.settings import Settings
from tests.support.points import make_index
from tests.unit.test_plan import as_stored, wanted_point

STAYS, GOES, STALE = (wanted_point(name, 1, name, path=f"{name}.py") for name in ("stays", "goes", "stale"))


class Scripted:
    """An embedder that first does what a test says."""

    identity = Identity("test-model", "sha256:0", 4)
    model = identity.model
    software: Sequence[str] = ()
    batch_size, batch_characters, width = 64, 1 << 30, 1

    def __init__(self, before: Callable[[], None], many: int) -> None:
        self._before = before
        self.many = many

    def fitted(self, text: Clean, *, surely: bool = False) -> Clean:
        return text

    def embed(self, texts: Sequence[Clean]) -> Sequence[Vector]:
        self._before()
        return [np.array([len(text), 1, 0, 0], dtype=np.float32) for text in texts]

    embed_query = embed

    def ahead(self) -> Threads:
        return Threads(self)

    def probe(self) -> Vector:
        return self.embed([STAYS.embedded])[0]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    made = make_index(Settings(state=tmp_path, index={"min_free_bytes": 0}))
    yield made
    made.close()


def carried_out(
    plans: Iterable[Plan], index: Index, before: Callable[[], None], *, many: int = 1_000
) -> tuple[Tally, Exception | None]:
    parts = Parts(index, Scripted(before, many), Checkpoints(Path("nowhere")), Ledger({}, {}), {})
    tally = Tally()
    return tally, carry_out(plans, index.writer("forge", "repo"), parts, tally)


def held(index: Index) -> set[str]:
    return {point.id for point in index.stored(Place())}


def fill(index: Index) -> Plan:
    """Store three points; the plan that writes one of them and one more anew, and has the two others go."""
    carried_out([plan([STAYS, GOES, STALE], [])], index, lambda: None)
    stored = [as_stored(point) for point in (STAYS, GOES, STALE)]
    return plan([STAYS, wanted_point("new", 1, "new")], stored, remove_first={STAYS.id, GOES.id})


def test_what_must_disappear_is_gone_before_anything_is_embedded(index: Index) -> None:
    difference = fill(index)
    seen: list[set[str]] = []

    tally, away = carried_out([difference], index, lambda: seen.append(held(index)))

    assert seen == [{STALE.id}]
    assert held(index) == {point.id for point in difference.write}
    assert (away, tally.written, tally.removed) == (None, 2, 3)


def test_what_must_disappear_goes_without_an_embedder_too_and_what_is_to_be_replaced_stays(index: Index) -> None:
    def is_away() -> NoReturn:
        raise Unavailable("embedder", "away")

    difference = fill(index)
    nothing_first = plan([wanted_point("other", 1, "other")], [])
    tally, away = carried_out([nothing_first, difference], index, is_away)

    assert isinstance(away, Unavailable)
    assert held(index) == {STALE.id}
    assert (tally.written, tally.removed) == (0, 2)


def one_by_one(number: int) -> list[Plan]:
    """Plans of one piece each; every text stands in two of them."""
    points = [[wanted_point(f"{n}", n, f"text {n // 2}", path=f"{n}.py")] for n in range(number)]
    return [plan(each, []) for each in points]


@pytest.mark.parametrize("many", [1, 1 << 30])
def test_a_text_that_is_on_its_way_is_not_embedded_again(index: Index, many: int) -> None:
    calls: list[None] = []
    tally, _ = carried_out(one_by_one(40), index, lambda: calls.append(None), many=many)

    assert (tally.written, tally.embedded, tally.reused, len(calls)) == (40, 20, 20, 20)
    assert len(held(index)) == 40


def test_what_is_killed_has_embedded_no_more_than_is_on_its_way(index: Index) -> None:
    calls: list[None] = []

    def plans() -> Iterator[Plan]:
        yield from one_by_one(80)
        while len(calls) < 33:  # what has been handed over is embedded
            pass
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carried_out(plans(), index, lambda: calls.append(None), many=1)
    assert 2 * len(calls) - len(held(index)) <= AHEAD


def test_a_plan_that_writes_much_is_carried_out_in_pieces_and_removes_last(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huginn.apply.PIECE", 3)
    carried_out([plan([STALE, GOES], [])], index, lambda: None)
    new = [wanted_point(f"{n}", n, f"text {n}") for n in range(10)]
    seen: list[set[str]] = []

    difference = plan(new, [as_stored(STALE), as_stored(GOES)], remove_first={GOES.id})
    tally, _ = carried_out([difference], index, lambda: seen.append(held(index)))

    assert [len(each) for each in seen] == [1, 4, 7, 10]
    assert all(STALE.id in each and GOES.id not in each for each in seen)
    assert held(index) == {point.id for point in new}
    assert (tally.written, tally.removed) == (10, 2)
