"""The plan: what is written is exactly the difference, and carrying it out gives what was wanted."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from huginn.ids import digest, forge_ids
from huginn.index.payload import ForgePayload
from huginn.index.port import StoredPoint
from huginn.plan import WantedPoint, plan
from huginn.scrub import scrub

CLEAN = scrub("clean").clean


def wanted_point(name: str, line: int, embedded: str, path: str = "a.py") -> WantedPoint:
    payload = ForgePayload(
        source="repo",
        path=path,
        start_line=line,
        end_line=line + 1,
        blob="b",
        commit="c",
        time=datetime(2024, 3, 1, tzinfo=UTC),
        names=("part",),
        language="python",
        text=name,
        text_sha256=digest(name),
        embedded_sha256=digest(embedded),
    )
    return WantedPoint(forge_ids("repo", path, [digest(name)])[0], path, payload, CLEAN)


def as_stored(point: WantedPoint, *, has_vector: bool = True) -> StoredPoint:
    return StoredPoint(point.id, point.payload.model_dump(mode="json"), has_vector)


POINTS = st.dictionaries(
    st.sampled_from("abcdef"), st.tuples(st.integers(1, 3), st.sampled_from(["h1", "h2"])), max_size=6
).map(lambda drawn: [wanted_point(name, line, name + head) for name, (line, head) in drawn.items()])


@given(POINTS, POINTS)
def test_carrying_out_the_plan_gives_what_was_wanted_and_nothing_is_written_for_nothing(
    before: list[WantedPoint], after: list[WantedPoint]
) -> None:
    store = {point.id: dict(as_stored(point).payload) for point in before}
    embedded = {point.id: point.payload.embedded_sha256 for point in before}
    made = plan(after, [as_stored(point) for point in before])
    for point in made.write:
        assert embedded.get(point.id) != point.payload.embedded_sha256
        store[point.id] = point.payload.model_dump(mode="json")
    for point_id, payload in made.update.items():
        assert store[point_id] != payload
        store[point_id] = dict(payload)
    for point_id in made.remove:
        del store[point_id]
    assert store == {point.id: point.payload.model_dump(mode="json") for point in after}
    again = plan(after, [as_stored(point) for point in after])
    assert (again.write, again.update, again.remove) == ((), {}, frozenset())


def test_lines_that_moved_change_the_payload_alone() -> None:
    made = plan([wanted_point("a", 5, "x")], [as_stored(wanted_point("a", 1, "x"))])
    assert (made.write, len(made.update)) == ((), 1)


def test_other_enclosing_names_make_the_vector_anew() -> None:
    made = plan([wanted_point("a", 1, "y")], [as_stored(wanted_point("a", 1, "x"))])
    assert len(made.write) == 1


def test_a_point_that_is_stored_by_its_words_is_told_and_left() -> None:
    point = wanted_point("a", 1, "x")
    made = plan([point], [as_stored(point, has_vector=False)])
    assert (made.write, made.update, made.words_only) == ((), {}, frozenset({"a.py"}))


def test_what_must_disappear_first_is_written_whole_if_it_is_wanted_again() -> None:
    stays, goes = wanted_point("a", 1, "x"), wanted_point("b", 1, "x")
    made = plan([stays], [as_stored(stays), as_stored(goes)], remove_first={stays.id, goes.id})
    assert (made.write, made.keep, made.remove) == ((stays,), (), frozenset())
    assert made.remove_first == {stays.id, goes.id}


def test_ids_count_equal_texts_and_do_not_mix_places() -> None:
    twice = forge_ids("repo", "a", [digest("x"), digest("y"), digest("x")])
    assert len(set(twice)) == 3
    assert forge_ids("repo", "a", [digest("x")]) == twice[:1]
    assert forge_ids("repo", "b", [digest("x")]) != twice[:1]
    assert forge_ids("repo/a", "b", [digest("x")]) != forge_ids("repo", "a/b", [digest("x")])
    assert twice[0] == "8de3161f-3dbf-5c65-adf4-c3beb18d289d"
