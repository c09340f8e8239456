"""The flow `purge-window`, as far as it goes without a server: its parameters, and what it checks first of all."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest

import huginn.settings
from flows.purge_window import purge_window

SPAN = {"room": "!garden:example.org", "start": "2026-01-01T00:00:00Z", "end": "2026-01-02T00:00:00+02:00"}
WORDS = {"reason": "as was asked", "steward": "ann"}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"end": "2026-01-01T00:00:00Z"}, "ends before it starts"),
        ({"reason": " "}, "reason"),
        ({"steward": ""}, "steward"),
        ({"dry_run": False}, "expect"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_opened(change: dict[str, Any], told: str) -> None:
    parameters = purge_window.validate_parameters({**SPAN, **WORDS, **change})
    with patch.object(huginn.settings, "load", side_effect=AssertionError("it is too late")):
        state = purge_window.fn(**parameters)
    assert state.is_failed()
    assert told in (state.message or "")


@pytest.mark.parametrize("name", ["start", "end"])
def test_a_moment_without_a_zone_is_no_parameter(name: str) -> None:
    with pytest.raises(Exception, match="timezone"):
        purge_window.validate_parameters({**SPAN, **WORDS, name: "2026-01-01T00:00:00"})


def test_every_parameter_is_described_and_a_dry_run_is_the_default() -> None:
    properties = purge_window.parameters.properties
    assert all(one.get("description") for one in properties.values())
    assert properties["dry_run"]["default"] is True
    assert properties["start"]["format"] == "date-time"
