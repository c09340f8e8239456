"""Windows: whole, small, and touched by a change no further than its stretch of its day."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from huginn.chat.text import has_text
from huginn.chat.window import SIZE, Line, Window, windows
from tests.support.chat import ADA, TIME
from tests.support.clean import clean

MINUTE = 60 * 1000
DAY = 24 * 60 * MINUTE
NOON = TIME // DAY * DAY + 12 * 60 * MINUTE


def line(number: int, time: int, body: str) -> Line:
    return Line(f"${number:04}", ADA, time, clean(body))


def size(window: Window) -> int:
    return len("\n".join(one.body for one in window.lines).encode())


def ids(made: list[Window]) -> list[list[str]]:
    return [[one.event_id for one in window.lines] for window in made]


def test_a_gap_of_over_thirty_minutes_ends_a_window() -> None:
    times = [NOON, NOON + 30 * MINUTE, NOON + 60 * MINUTE + 1]
    assert ids(windows(line(n, time, "x") for n, time in enumerate(times))) == [["$0000", "$0001"], ["$0002"]]


def test_midnight_ends_a_window() -> None:
    midnight = NOON + 12 * 60 * MINUTE
    assert ids(windows([line(0, midnight - 1, "x"), line(1, midnight, "y")])) == [["$0000"], ["$0001"]]


def test_a_window_holds_up_to_its_size_and_not_a_byte_more() -> None:
    half = "ä" * (SIZE // 4)
    fits = [line(0, NOON, half), line(1, NOON + 1, half[:-1] + "x")]
    assert [size(window) for window in windows(fits)] == [SIZE]
    assert [size(window) for window in windows([fits[0], replace(fits[1], body=clean(half))])] == [SIZE // 2, SIZE // 2]
    assert len(windows([line(0, NOON, "x" * SIZE)])) == 1
    assert len(windows([line(0, NOON, "x" * (SIZE + 1))])) == 2


def test_messages_of_one_time_stand_in_order_of_their_ids() -> None:
    made = windows([line(2, NOON, "c"), line(0, NOON, "a"), line(3, NOON - 1, "d"), line(1, NOON, "b")])
    assert ids(made) == [["$0003", "$0000", "$0001", "$0002"]]


def test_a_long_message_is_cut_into_parts_of_its_own_at_the_end_of_a_line_a_sentence_or_a_word() -> None:
    body = "first line of words\n" * 50 + "A sentence ends here. " * 60 + "word " * 300 + "end"
    made = windows([line(0, NOON, "before"), line(1, NOON + 1, body), line(2, NOON + 2, "after")])
    assert [window.part for window in made] == [0, *range(len(made) - 2), 0]
    parts = [window.lines[0].body for window in made[1:-1]]
    assert "".join(parts) == body
    assert parts[0].endswith("\n")
    assert parts[1].endswith(". ")
    assert all(part.endswith(" ") for part in parts[1:-1])
    assert ids(made) == [["$0000"], *[["$0001"]] * len(parts), ["$0002"]]


def test_no_part_begins_within_a_character() -> None:
    woman = "\U0001f469\U0001f3fd\u200d\U0001f4bb"
    for sign in ("ä", "a\u0308", "\U0001f469", woman, "กี"):
        for before in range(1, 20):
            body = "x" * before + sign * 2000
            parts = [window.lines[0].body for window in windows([line(0, NOON, body)])]
            assert "".join(parts) == body
            assert (len(parts[0]) - before) % len(sign) == 0, sign
            assert all(len(part) % len(sign) == 0 for part in parts[1:]), sign
    marks = "a" + "\u0308" * 3000
    assert all(size(window) <= SIZE for window in windows([line(0, NOON, marks)]))


def test_no_part_of_a_message_is_blank() -> None:
    bodies = ["x" * 1199 + " \n" * 2000 + "y", "x" * 1200 + "\n", "[secret: private key]" + "\n" * 3000]
    bodies += ["\u200b" * 3000 + "x", "x" + " " * 5000, ("x" * 1100 + "\u2003" * 900) * 3]
    for body in bodies:
        made = windows([line(0, NOON, body)])
        assert all(has_text(window.lines[0].body) for window in made)
        assert all(size(window) <= SIZE for window in made)
        together = "".join(window.lines[0].body for window in made)
        assert together.split() == body.replace("\u200b" * 3000, "\u200b" * 64).split()
        assert windows([line(0, NOON, together)]) == made, "what is read back from the index gives the same windows"


BODIES = st.one_of(
    st.text("ab .\n", min_size=1, max_size=30).map(lambda text: text + "x"),
    st.integers(1, 700).map(lambda length: "wörd " * (length // 5) + "x"),
    st.integers(0, 60).map(
        lambda count: "A longer sentence of words. \n" * count + "\U0001f469\u200d\U0001f4bb" * count + "x"
    ),
)
TIMES = st.one_of(st.integers(NOON, NOON + 3 * DAY), st.integers(0, 200).map(lambda minutes: NOON + minutes * MINUTE))
ROOMS = st.lists(st.tuples(TIMES, BODIES), max_size=25).map(
    lambda drawn: [line(number, time, body) for number, (time, body) in enumerate(drawn)]
)


@given(ROOMS)
def test_every_message_is_in_one_window_or_one_run_of_parts_and_no_window_is_too_large(lines: list[Line]) -> None:
    made = windows(lines)
    assert all(size(window) <= SIZE for window in made)
    seen: dict[str, list[Window]] = {}
    for window in made:
        assert len({one.time // DAY for one in window.lines}) == 1
        for one in window.lines:
            seen.setdefault(one.event_id, []).append(window)
    assert set(seen) == {one.event_id for one in lines}
    for one in lines:
        held = seen[one.event_id]
        if len(held) > 1:
            assert [window.part for window in held] == list(range(len(held)))
            assert all(len(window.lines) == 1 for window in held)
        bodies = [part.body for window in held for part in window.lines if part.event_id == one.event_id]
        assert "".join(bodies) == one.body
    assert [(window.lines[0].time, window.lines[0].event_id) for window in made] == sorted(
        (window.lines[0].time, window.lines[0].event_id) for window in made
    )
    assert len({(window.lines[0].event_id, window.part) for window in made}) == len(made)


@given(ROOMS, st.randoms(use_true_random=False))
def test_the_order_of_what_comes_in_does_not_matter(lines: list[Line], random: Random) -> None:
    shuffled = random.sample(lines, len(lines))
    assert windows(shuffled) == windows(lines)


def stretch(lines: list[Line], middle: Line) -> set[str]:
    """The ids of the messages around one, as far as no gap of over 30 minutes and no midnight lies between."""
    ordered = sorted([*lines, middle], key=lambda one: (one.time, one.event_id))
    at = ordered.index(middle)
    found = {middle.event_id}
    for step in (1, -1):
        here = at
        while 0 <= here + step < len(ordered):
            one, other = ordered[here], ordered[here + step]
            if abs(other.time - one.time) > 30 * MINUTE or other.time // DAY != one.time // DAY:
                break
            found.add(other.event_id)
            here += step
    return found


@given(ROOMS, TIMES, BODIES, BODIES)
def test_a_message_that_comes_goes_or_changes_touches_one_stretch_of_one_day(
    lines: list[Line], time: int, body: str, other: str
) -> None:
    new = line(9999, time, body)
    touched = stretch(lines, new)
    states = [windows(lines), windows([*lines, new]), windows([*lines, replace(new, body=clean(other))])]
    elsewhere = [[window for window in made if not touched & {one.event_id for one in window.lines}] for made in states]
    assert elsewhere[0] == elsewhere[1] == elsewhere[2]
    assert all({one.event_id for one in window.lines} <= touched for window in states[1] if window not in elsewhere[1])
