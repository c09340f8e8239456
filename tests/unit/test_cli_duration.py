"""Durations are read and shown as people write them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from huginn.cli.duration import parsed, shown


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("15m", 900), ("2h", 7200), ("3d", 259_200), ("1h30m", 5400), (" 1D2H3M4S ", 93_784), ("0s", 0)],
)
def test_a_duration_is_read_in_days_hours_minutes_and_seconds(text: str, seconds: int) -> None:
    assert parsed(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", " ", "5", "h", "5x", "-5m", "1.5h", "30m1h", "2h2h", "٣h", "1 h", "9999999999s"])
def test_what_is_no_duration_is_none(text: str) -> None:
    assert parsed(text) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (-3, "0s"),
        (59.9, "59s"),
        (60, "1m"),
        (7_800, "2h10m"),
        (7_205, "2h"),
        (432_000, "5d"),
        (90_061, "1d1h"),
    ],
)
def test_an_age_is_shown_with_its_two_largest_units(seconds: float, text: str) -> None:
    assert shown(seconds) == text
