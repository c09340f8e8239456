"""The status tells each source's state, counts reasons, and signals what is stale."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from huginn.cli.exits import ExitCode
from huginn.report import EmbedderStatus, IndexStatus, ItemStatus, SourceStatus, StatusReport
from tests.support import fake_search
from tests.support.command_line import CommandLine
from tests.support.fake_search import Prepared

SINCE = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> Prepared:
    return fake_search.install(monkeypatch)


def source(source: str, **values: Any) -> SourceStatus:
    usual = {
        "corpus": "forge",
        "cursor": "0123456789abcdef",
        "points": 40,
        "last_success": SINCE,
        "age_s": 7_800.0,
        "stale": False,
        "failing_since": None,
        "reason": None,
    }
    return SourceStatus.model_validate({"source": source, **usual, **values})


def report(*sources: SourceStatus) -> StatusReport:
    embedder = EmbedderStatus(model="wordllama", digest="abc", dimensions=256)
    return StatusReport(sources=list(sources), index=IndexStatus(label={}, points=40), embedder=embedder)


def skipped(item: str, reason: str) -> ItemStatus:
    return ItemStatus(item=item, reason=reason, since=SINCE)


def test_reasons_are_counted_and_the_last_line_tells_the_counts(huginn: CommandLine, prepared: Prepared) -> None:
    paths = [skipped("a.png", "binary"), skipped("b.png", "binary"), skipped("c", "link")]
    prepared.report = report(
        source("heron", skipped=paths, failed=[skipped("d", "too odd")]),
        source("osprey", failing_since=SINCE, reason="upstream: away"),
        source("wren", last_success=None, age_s=None, cursor=None, points=None),
    )
    ended = huginn("status")
    assert ended.code == ExitCode.WELL
    lines = ended.out.splitlines()
    assert lines[1].split() == ["heron", "forge", "well", "0123456", "40", "2h10m", "3", "1"]
    assert lines[2].split() == ["osprey", "forge", "failing", "0123456", "40", "2h10m", "0", "0"]
    assert lines[3].split() == ["wren", "forge", "new", "-", "-", "-", "0", "0"]
    assert "heron: skipped: binary 2, link 1" in lines
    assert "heron: failed: too odd 1" in lines
    assert "osprey: failing since 2026-03-04 05:06: upstream: away" in lines
    assert "a.png" not in ended.out
    assert lines[-1] == "3 sources: 1 well, 1 new, 1 failing; 40 points; 3 paths skipped, 1 failed"


def test_rooms_stand_beside_repositories_and_refused_ones_are_told_with_their_reason(
    huginn: CommandLine, prepared: Prepared
) -> None:
    prepared.report = report(
        source("heron"),
        source("!a", corpus="chat", name="#herons:example.org", cursor="level", points=7),
        source("!b", corpus="chat", reason="bridged: m.bridge", out_of_scope=True, last_success=None, age_s=None),
        source("!c", corpus="chat", reason="its state could not be read", failing_since=SINCE),
    )
    lines = huginn("status").out.splitlines()
    assert lines[2].split() == ["#herons:example.org", "!a", "chat", "well", "level", "7", "2h10m", "0", "0"]
    assert lines[3].split()[:3] == ["!b", "chat", "refused"]
    assert lines[5:7] == [
        "!b: bridged: m.bridge",
        "!c: failing since 2026-03-04 05:06: its state could not be read",
    ]
    assert lines[-1].startswith("4 sources: 2 well, 1 failing, 1 refused; ")


def test_with_v_every_path_is_named_and_since_when(huginn: CommandLine, prepared: Prepared) -> None:
    prepared.report = report(source("heron", skipped=[skipped("a.png", "binary")]))
    assert "\n  a.png: binary, since 2026-03-04 05:06\n" in huginn("status", "-v").out


def test_a_stale_source_ends_with_5_also_for_programs(huginn: CommandLine, prepared: Prepared) -> None:
    prepared.report = report(source("heron"), source("osprey", stale=True))
    ended = huginn("status", "--max-age", "1h30m")
    assert ended.code == ExitCode.STALE
    assert "osprey  forge   stale" in ended.out
    ended = huginn("status", "--max-age", "1h30m", "--json")
    assert (ended.code, ended.err) == (ExitCode.STALE, "")
    assert StatusReport.model_validate(ended.document) == prepared.report
    assert prepared.asked == [timedelta(minutes=90)] * 2


def test_without_a_maximal_age_nothing_is_asked_about_it(huginn: CommandLine, prepared: Prepared) -> None:
    assert huginn("status").out.splitlines()[-1] == "0 sources; no index yet; 0 paths skipped, 0 failed"
    assert prepared.asked == [None]


def test_a_source_that_is_refused_is_failing(huginn: CommandLine, prepared: Prepared) -> None:
    prepared.report = report(source("evil", reason="forge.repos[0].url: is no address"))
    out = huginn("status").out
    assert "evil: forge.repos[0].url: is no address\n" in out
    assert out.splitlines()[-1].startswith("1 source: 1 failing; ")


def test_a_last_success_that_lies_in_the_future_is_told(huginn: CommandLine, prepared: Prepared) -> None:
    prepared.report = report(source("heron", age_s=-7200.0, stale=True))
    lines = huginn("status").out.splitlines()
    assert lines[1].split() == ["heron", "forge", "stale", "0123456", "40", "-", "0", "0"]
    assert "heron: its last success lies in the future, at 2026-03-04 05:06; refresh it again" in lines


def test_names_paths_and_reasons_cannot_command_the_terminal(huginn: CommandLine, prepared: Prepared) -> None:
    evil = "\x1b[31m[red]\u202e\r\n1 source: 1 well"
    item = ItemStatus(item=evil, reason=evil, since=SINCE)
    prepared.report = report(source(evil, cursor=evil, reason=evil, failing_since=SINCE, skipped=[item], failed=[item]))
    out = huginn("status", "-v").out
    assert not set(out) & set("\x1b\u202e\r")
    assert not [line for line in out.splitlines()[:-1] if line.startswith("1 source: 1 well")]
