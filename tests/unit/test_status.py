"""How old a source is, also when the clock has been put back."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from huginn.checkpoints import Checkpoints
from huginn.report import RunOutcome, RunReport, SourceOutcome, SourceReport, SourceStatus, now
from huginn.settings import load
from huginn.status import status


def stands(folder: Path, age: timedelta) -> SourceStatus:
    """How a source stands at a maximal age of an hour, whose last success is `age` ago."""
    (folder / "huginn.toml").write_text('[[forge.repos]]\nname = "birds"\nurl = "birds.git"\n')
    settings = load(folder / "huginn.toml", environment={})
    moment = now() - age
    birds = SourceReport(source="birds", corpus="forge", outcome=SourceOutcome.OK)
    report = RunReport(run="r", flow="f", outcome=RunOutcome.OK, started=moment, finished=moment, sources=[birds])
    Checkpoints(settings.state).record(report, ())
    [told] = status(settings, max_age=timedelta(hours=1)).sources
    return told


@pytest.mark.parametrize(("minutes", "stale"), [(61, True), (59, False), (0, False), (-4, False), (-6, True)])
def test_a_success_is_stale_when_it_is_too_old_or_lies_ahead(tmp_path: Path, minutes: int, stale: bool) -> None:
    assert stands(tmp_path, timedelta(minutes=minutes)).stale is stale


def test_clocks_that_differ_a_little_give_no_negative_age(tmp_path: Path) -> None:
    assert stands(tmp_path, timedelta(minutes=-4)).age_s == 0


def test_a_clock_that_was_far_ahead_is_told_by_a_negative_age(tmp_path: Path) -> None:
    age = stands(tmp_path, timedelta(hours=-2)).age_s
    assert age is not None
    assert age < -7000
