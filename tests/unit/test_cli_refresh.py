"""A refresh tells each source's outcome, the counts last, and the exit code that fits."""

from __future__ import annotations

import io
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from huginn import progress
from huginn.cli.exits import ExitCode
from huginn.errors import Busy, HuginnError, Refused, Unavailable
from huginn.progress import Progress
from huginn.report import Rebuild, RunReport, SourceOutcome, SourceReport, now, run_outcome
from tests.support.command_line import CommandLine, Terminal


def source(name: str, outcome: str, **counts: Any) -> SourceReport:
    return SourceReport(source=name, corpus="forge", outcome=SourceOutcome(outcome), **counts)


def room(source: str, outcome: str, **values: Any) -> SourceReport:
    return SourceReport(corpus="chat", source=source, outcome=SourceOutcome(outcome), **values)


@dataclass
class FakeRun:
    """A run that gives what a test has prepared, or raises it."""

    prepared: dict[str, SourceReport | HuginnError] = field(default_factory=dict)
    opening: HuginnError | None = None
    asked: dict[str, Any] = field(default_factory=dict)
    finished_with: list[str] = field(default_factory=list)
    away: set[str] = field(default_factory=set)
    rebuild: Rebuild | None = None
    progress: Progress = field(default_factory=Progress)
    id: str = "run-1"
    flow: str = "forge-refresh"

    @property
    def sources(self) -> Sequence[str]:
        return list(self.prepared)

    def refresh(self, name: str) -> SourceReport:
        prepared = self.prepared[name]
        if isinstance(prepared, HuginnError):
            raise prepared
        return prepared

    def failed(self, name: str, error: HuginnError) -> SourceReport:
        if isinstance(error, Unavailable) and error.part != "upstream":
            self.away.add(error.part)
        return source(name, "failed", reason=str(error))

    def finish(self, reports: Sequence[SourceReport]) -> RunReport:
        self.finished_with = [report.source for report in reports]
        return RunReport(
            run="r1",
            flow="forge-refresh",
            outcome=run_outcome(list(reports)),
            dry_run=self.asked["dry_run"],
            started=now(),
            finished=now(),
            unavailable=sorted(self.away),
            sources=list(reports),
        )


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> FakeRun:
    fake = FakeRun()

    @contextmanager
    def open_run(settings: object, **asked: Any) -> Iterator[FakeRun]:
        fake.asked = asked
        if fake.opening is not None:
            raise fake.opening
        yield fake

    monkeypatch.setattr("huginn.run.open_run", open_run)
    return fake


def test_the_last_line_tells_the_counts(huginn: CommandLine, run: FakeRun) -> None:
    run.prepared = {
        "heron": source("heron", "ok", written=120, removed=4, seen=30, skipped={"binary": 2}),
        "osprey": source("osprey", "unchanged"),
        "wren": source("wren", "failed", reason="upstream: the host is away"),
    }
    ended = huginn("refresh")
    assert ended.code == ExitCode.SOME_FAILED
    assert ended.err == ""
    *_, remark, last = ended.out.splitlines()
    assert remark == "wren: upstream: the host is away"
    assert last == "3 sources: 1 ok, 1 unchanged, 1 failed; 120 chunks written, 4 removed"


def test_rooms_are_told_with_their_messages_and_what_was_skipped(huginn: CommandLine, run: FakeRun) -> None:
    counts = {"messages": 30, "edits": 2, "redactions": 1, "written": 6, "removed": 1}
    run.prepared = {
        "!a": room("!a", "ok", name="#herons:example.org", skipped={"reaction": 5, "encrypted": 9}, **counts),
        "!b": room("!b", "refused", reason="bridged: m.bridge"),
        "!c": room("!c", "unread", reason="its state could not be read", words_only=2),
    }
    ended = huginn("refresh", "chat", "--only", "!a")
    assert ended.code == ExitCode.SOME_FAILED
    assert run.asked == {"corpus": "chat", "flow": None, "only": ("!a",), "dry_run": False}
    heading, *lines = ended.out.splitlines()
    assert heading.split() == ["source", "outcome", "messages", "edits", "redacted", "skipped", "written", "removed"]
    assert lines[0].split() == ["#herons:example.org", "ok", "30", "2", "1", "14", "6", "1"]
    assert lines[3:] == [
        "#herons:example.org: skipped: encrypted 9, reaction 5",
        "!b: bridged: m.bridge",
        "!c: its state could not be read",
        "!c: 2 messages found by words alone, see 'huginn status -v'",
        "3 sources: 1 ok, 1 refused, 1 unread; 6 windows written, 1 removed",
    ]


@pytest.mark.parametrize(
    "where", ["huginn.cli.refresh.run_corpus", "huginn.cli.refresh.show", "huginn.cli.failures.tell"]
)
def test_ctrl_c_anywhere_ends_with_130_and_no_traceback(
    huginn: CommandLine, run: FakeRun, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def interrupted(*_arguments: object, **_options: object) -> None:
        raise KeyboardInterrupt

    run.opening = Busy("another writer is at work") if where.endswith("tell") else None
    monkeypatch.setattr(where, interrupted)
    ended = huginn("refresh")
    assert (ended.code, ended.out, ended.err) == (ExitCode.INTERRUPTED, "", "\nhuginn: stopped\n")


def test_a_dry_run_says_that_nothing_was_written(huginn: CommandLine, run: FakeRun) -> None:
    run.prepared = {"heron": source("heron", "ok", written=7)}
    ended = huginn("refresh", "forge", "--dry-run", "--only", "heron", "--only", "wren")
    assert ended.code == ExitCode.WELL
    assert run.asked == {"corpus": "forge", "flow": None, "only": ("heron", "wren"), "dry_run": True}
    assert ended.out.splitlines()[-1] == "dry run: 1 source: 1 ok; 7 chunks to write, 0 to remove"


def test_rewritten_history_masks_and_failed_paths_are_told(huginn: CommandLine, run: FakeRun) -> None:
    run.prepared = {"heron": source("heron", "ok", rewritten=True, failed=2, words_only=1, masked={"github token": 3})}
    out = huginn("refresh").out
    assert "heron: its history was rewritten upstream\n" in out
    assert "heron: 2 paths failed, see 'huginn status -v'\n" in out
    assert "heron: 1 path found by words alone" in out
    assert "heron: masked secrets: github token 3\n" in out


def test_an_unavailable_source_is_given_up_and_the_others_are_done(huginn: CommandLine, run: FakeRun) -> None:
    run.prepared = {"heron": Unavailable("upstream", "away"), "osprey": source("osprey", "ok")}
    ended = huginn("refresh", "--json")
    assert ended.code == ExitCode.SOME_FAILED
    assert run.finished_with == ["heron", "osprey"]
    assert [entry["outcome"] for entry in ended.document["sources"]] == ["failed", "ok"]
    assert ended.document["outcome"] == "partial"


@pytest.mark.parametrize(
    ("part", "code"), [("upstream", 1), ("embedder", 3), ("index", 3), ("disk", 3), ("checkpoints", 3)]
)
def test_when_all_sources_failed_it_counts_whether_a_part_of_huginn_did(
    huginn: CommandLine, run: FakeRun, part: str, code: int
) -> None:
    run.prepared = {"heron": Unavailable(part, "away"), "osprey": Unavailable("upstream", "away")}
    assert huginn("refresh").code == code


def test_the_sources_stay_in_their_order_and_are_done_side_by_side(huginn: CommandLine, run: FakeRun) -> None:
    both = threading.Barrier(2, timeout=10)
    run.prepared = {"a": source("a", "ok"), "b": source("b", "ok")}
    prepared_refresh = run.refresh

    def refresh(name: str) -> SourceReport:
        both.wait()
        return prepared_refresh(name)

    run.refresh = refresh  # type: ignore[method-assign]
    assert huginn("refresh").code == ExitCode.WELL
    assert run.finished_with == ["a", "b"]


@pytest.mark.parametrize(
    ("error", "outcome", "code"),
    [
        (Refused("only", "the settings have no source 'x'", next_step="they have: heron"), "refused", 2),
        (Busy("another writer is at work"), "busy", 4),
        (Unavailable("index", "cannot be opened"), "failed", 3),
    ],
)
def test_a_run_that_cannot_begin_is_a_refresh_document_too(
    huginn: CommandLine, run: FakeRun, error: HuginnError, outcome: str, code: int
) -> None:
    run.opening = error
    ended = huginn("refresh", "--json")
    assert (ended.code, ended.err) == (code, "")
    document = RunReport.model_validate(ended.document)
    assert (document.outcome, document.reason, document.sources) == (outcome, str(error), [])
    ended = huginn("refresh")
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.startswith(f"huginn: {error.reason}")


def test_refused_settings_and_an_unknown_corpus_are_refresh_documents_too(huginn: CommandLine) -> None:
    assert huginn("refresh", "mail", "--json").document["outcome"] == "refused"
    huginn.settings("[forge]\nrepo = []\n")
    ended = huginn("refresh", "--json")
    assert ended.code == ExitCode.REFUSED
    assert ended.document["outcome"] == "refused"
    assert "forge.repo: no such key" in ended.document["reason"]


def test_names_and_reasons_cannot_command_the_terminal(huginn: CommandLine, run: FakeRun) -> None:
    name = "\x1b[31m[red]heron\u202e\n3 sources: 3 ok"
    run.prepared = {name: source(name, "failed", reason="\x1b]0;x\x07\rhuginn: all well\n1 source: 1 ok")}
    for out in (huginn("refresh").out, huginn.on_terminal("refresh")):
        assert "\x1b[31m[red]" not in out
        assert "\x1b]" not in out
        assert "\u202e" not in out
        assert not [line for line in out.splitlines() if line.startswith(("3 sources: 3 ok", "huginn: all well"))]
        assert out.splitlines()[-1].removeprefix("\x1b[1m").startswith("1 source: 1 failed;")


def slow_heron(run: FakeRun, until: Callable[[], bool]) -> None:
    """A source that works until `until` is so."""
    run.prepared = {"heron\x1b[31m": source("heron", "ok")}
    refresh = run.refresh

    def slow(name: str) -> SourceReport:
        with run.progress.at_work_on(name):
            run.progress.follow(name, lambda: 1200, total=20000)
            deadline = time.monotonic() + 10
            while not until() and time.monotonic() < deadline:
                time.sleep(0.01)
        return refresh(name)

    run.refresh = slow  # type: ignore[method-assign] # a run that takes its time


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_refresh_that_nobody_looks_at_tells_from_time_to_time_where_it_is(
    huginn: CommandLine, run: FakeRun, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    assert progress.TELL_EVERY_SECONDS <= 60
    monkeypatch.setattr(progress, "TELL_EVERY_SECONDS", 0.02)
    told = io.StringIO()
    monkeypatch.setattr(sys, "stderr", told)
    slow_heron(run, lambda: told.getvalue().count("\n") >= 2)
    ended = huginn("refresh", *options)
    assert ended.code == ExitCode.WELL
    assert not options or ended.document["outcome"] == "ok"
    first, second, *_ = told.getvalue().splitlines()
    for line in map(json.loads, (first, second)):
        assert line["message"].startswith("heron\x1b[31m: 1200 of 20000 done, 18800 left, ")
        assert (line["source"], line["done"], line["total"]) == ("heron\x1b[31m", 1200, 20000)
        assert (line["sources_done"], line["sources"], line["level"]) == (0, 1, "info")


def test_on_a_terminal_each_source_at_work_has_a_bar(
    huginn: CommandLine, run: FakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    slow_heron(run, lambda: "1200/20000" in shown.getvalue())
    assert huginn("refresh").code == ExitCode.WELL
    assert "1200/20000" in shown.getvalue()
    assert "heron\\x1b[31m" in shown.getvalue()
    assert "\x1b[31mheron" not in shown.getvalue()


def test_the_table_fits_into_80_columns(huginn: CommandLine, run: FakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    name = "birds/" + "long-" * 30
    run.prepared = {name: source(name, "unchanged", seen=123_456, written=98_765, embedded=98_765, seconds=1234.5)}
    shown = huginn.on_terminal("refresh")
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert "".join(line[:26].split()[0] for line in shown.splitlines()[1:-1]).startswith("birds/long-long-")
    assert "…" not in shown
