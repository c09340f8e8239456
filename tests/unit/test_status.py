"""How old a source is, also when the clock has been put back; and how each room stands."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from huginn.chat.notes import RoomNote, RoomNotes, upstream_of
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


CHAT = '[chat]\nhomeserver = "https://matrix.example.org"\nuser = "@huginn:example.org"\n'


def test_each_room_that_was_judged_is_told_and_one_out_of_scope_is_never_stale(tmp_path: Path) -> None:
    (tmp_path / "huginn.toml").write_text(CHAT)
    settings = load(tmp_path / "huginn.toml", environment={})
    assert settings.chat is not None
    assert status(settings).sources == []
    checkpoints = Checkpoints(settings.state)
    notes = RoomNotes(checkpoints.store, upstream_of(settings.chat), "index")
    inside = RoomNote("!in", None, None, None, "#herons:example.org", False, "r", now())
    notes.note(inside)
    notes.note(replace(inside, room="!out", reason="bridged", detail="m.bridge", event="$bridge", alias=None))
    elsewhere = RoomNotes(checkpoints.store, "another reader", "index")
    elsewhere.note(replace(inside, room="!other", reason="direct", alias=None))
    outcomes = {"!in": SourceOutcome.OK, "!out": SourceOutcome.REFUSED, "!unread": SourceOutcome.UNREAD}
    sources = [SourceReport(source=room, corpus="chat", outcome=outcome) for room, outcome in outcomes.items()]
    old = now() - timedelta(hours=2)
    report = RunReport(run="r", flow="f", outcome=RunOutcome.PARTIAL, started=old, finished=old, sources=sources)
    checkpoints.record(report, ())
    told = {source.source: source for source in status(settings, max_age=timedelta(hours=1)).sources}
    assert list(told) == ["!unread", "!in", "!out"]
    assert {source.corpus for source in told.values()} == {"chat"}
    taken_in, out, unread = told["!in"], told["!out"], told["!unread"]
    assert (taken_in.name, taken_in.reason, taken_in.stale, taken_in.out_of_scope) == (
        "#herons:example.org",
        None,
        True,
        False,
    )
    assert (out.reason, out.stale, out.failing_since, out.out_of_scope) == ("bridged: m.bridge", False, None, True)
    assert (unread.stale, unread.out_of_scope) == (True, False)
    assert unread.failing_since is not None
