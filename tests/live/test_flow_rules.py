"""The rules of the flow, against a real Prefect server, with a run that is told how to behave."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.context import get_settings_context

import flows.refreshing
from deployments.setup import make_limit, make_pool
from flows.forge_refresh import forge_refresh
from flows.writer import WRITER_LIMIT
from huginn import report
from huginn.errors import HuginnError, Refused, Unavailable
from huginn.lock import writer_lock
from huginn.progress import TELL_EVERY_SECONDS, Progress
from huginn.report import RunReport, SourceOutcome, SourceReport
from huginn.run import Run
from huginn.settings import Settings
from tasks.forge import refresh_source
from tests.live.conftest import Host

pytestmark = pytest.mark.slow

CANARY = "the-words-of-a-file-in-an-error"


class ScriptedRun(Run):
    """A run whose sources behave as their names say."""

    def __init__(self, settings: Settings, only: Sequence[str], *, dry_run: bool) -> None:
        self.id = "run-1"
        self.sources = [one.name for one in settings.forge.repos if not only or one.name in only]
        self.dry_run = dry_run
        self.calls: Counter[str] = Counter()
        self.started = report.now()
        self.progress = Progress()

    def refresh(self, source: str) -> SourceReport:
        self.calls[source] += 1
        if source == "away":
            raise Unavailable("upstream", "away does not answer") from ValueError(CANARY)
        if source == "flaky" and self.calls[source] == 1:
            raise Unavailable("upstream", "flaky does not answer")
        if source == "refusing":
            raise Refused("refusing", "no such branch")
        if source == "defect":
            raise ValueError(CANARY)
        if source == "hanging":
            with self.progress.at_work_on(source):
                self.progress.follow(source, lambda: 1200, total=20000)
                for _ in range(100):
                    time.sleep(0.05)
        return SourceReport(source=source, corpus="forge", outcome=SourceOutcome.OK, stored=1, seen=1, written=1)

    def failed(self, source: str, error: HuginnError) -> SourceReport:
        return SourceReport(source=source, corpus="forge", outcome=SourceOutcome.FAILED, reason=error.reason)

    def finish(self, reports: Sequence[SourceReport]) -> RunReport:
        return RunReport(
            run=self.id,
            flow="forge-refresh",
            outcome=report.run_outcome(list(reports)),
            dry_run=self.dry_run,
            started=self.started,
            finished=report.now(),
            sources=list(reports),
        )


class Script:
    """What the flow did: the runs it opened."""

    def __init__(self) -> None:
        self.runs: list[ScriptedRun] = []

    @contextmanager
    def open_run(
        self,
        settings: Settings,
        *,
        corpus: str,
        flow: str,
        only: Sequence[str] = (),
        dry_run: bool = False,
        wait: float = 0.0,
    ) -> Iterator[Run]:
        with writer_lock(settings.state, flow, wait=wait):
            self.runs.append(ScriptedRun(settings, only, dry_run=dry_run))
            yield self.runs[-1]


@pytest.fixture
def script(host: Host, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Script:
    names = ("good", "flaky", "away", "refusing", "defect", "hanging")
    tables = "".join(f'[[forge.repos]]\nname = "{name}"\nurl = "/nowhere"\n' for name in names)
    (tmp_path / "huginn.toml").write_text(f'state = "state"\n[forge]\nname = "team"\n{tables}', encoding="utf-8")
    monkeypatch.setenv("HUGINN_CONFIG", str(tmp_path / "huginn.toml"))
    script = Script()
    monkeypatch.setattr(flows.refreshing, "open_run", script.open_run)
    monkeypatch.setattr(flows.refreshing, "work_done_since", lambda *_: None)
    monkeypatch.setattr(flows.refreshing, "LOCK_WAIT_SECONDS", 0.2)
    monkeypatch.setattr(refresh_source, "retry_delay_seconds", [0.1, 0.1, 0.1])
    return script


def refreshed(**parameters: Any) -> State[Any]:
    return forge_refresh(**parameters, return_state=True)


def test_only_what_is_away_is_tried_again_and_the_others_are_done(host: Host, script: Script) -> None:
    state = refreshed(sources=["good", "flaky", "away", "refusing", "defect"])

    assert state.is_failed()
    assert script.runs[0].calls == {"good": 1, "flaky": 2, "away": 4, "refusing": 1, "defect": 1}
    time.sleep(3)  # Prefect sends its logs in batches.
    leaked = CANARY.encode() in host.kept_by_prefect()
    assert not leaked
    message = state.message or ""
    assert message.startswith("3 of 5 sources failed. ")
    assert "away: upstream: away does not answer" in message
    assert "ValueError in test_flow_rules.py line" in message


def test_a_source_that_takes_too_long_fails_alone(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refresh_source, "timeout_seconds", 0.5)

    state = refreshed(sources=["hanging", "good"])

    assert state.message == "1 of 2 sources failed. hanging: its task ended as TimedOut"


def test_the_log_of_a_run_tells_how_far_each_source_is_that_takes_long(
    host: Host, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert TELL_EVERY_SECONDS <= 60
    monkeypatch.setattr(flows.refreshing, "TELL_EVERY_SECONDS", 0.5)

    assert refreshed(sources=["hanging", "good"]).is_completed()

    time.sleep(3)  # Prefect sends its logs in batches.
    assert b"hanging: 1200 of 20000 done, 18800 left" in host.kept_by_prefect()


def test_another_writer_that_does_not_end_fails_the_run_with_its_name(script: Script, tmp_path: Path) -> None:
    with writer_lock(tmp_path / "state", "the command line"):
        state = refreshed(sources=["good"])

    assert state.is_failed()
    assert "another writer is at work" in (state.message or "")
    assert "the command line" in (state.message or "")
    assert script.runs == []


def test_the_turn_of_another_flow_is_waited_for(script: Script) -> None:
    from_other_flow = threading.Event()
    context = get_settings_context()

    def other_flow() -> None:
        with context.model_copy(), flows.writer.writers_turn():
            from_other_flow.set()
            time.sleep(1.5)

    thread = threading.Thread(target=other_flow)
    thread.start()
    assert from_other_flow.wait(30)
    began = time.monotonic()

    state = refreshed(sources=["good"])

    thread.join()
    assert state.is_completed()
    assert time.monotonic() - began > 1


def test_without_the_limit_nothing_runs_and_the_message_tells_what_to_do(script: Script) -> None:
    with get_client(sync_client=True) as client:
        client.delete_global_concurrency_limit_by_name(WRITER_LIMIT)
        try:
            state = refreshed(sources=["good"])
        finally:
            assert make_limit(client) == f"limit {WRITER_LIMIT}: made"

    assert state.is_failed()
    assert "python -m deployments.setup" in (state.message or "")
    assert script.runs == []


def test_parameters_are_checked_before_anything_else(script: Script) -> None:
    unknown = refreshed(sources=["good", "unknown"])
    empty = refreshed(sources=[])

    assert "sources[1]: the settings have no repository named 'unknown'" in (unknown.message or "")
    assert "sources: the list is empty" in (empty.message or "")
    assert script.runs == []


def test_a_run_whose_work_is_done_opens_nothing_but_a_dry_run_looks(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flows.refreshing, "work_done_since", lambda *_: "run-7")

    late = refreshed(sources=["good"])
    assert late.is_completed()
    assert "run run-7 has done this work since" in (late.message or "")
    assert script.runs == []

    dry = refreshed(sources=["good"], dry_run=True)
    assert dry.message == "1 source: 1 ok; dry run, nothing was written"
    assert script.runs[0].dry_run


def test_setting_up_twice_changes_nothing(host: Host) -> None:
    with get_client(sync_client=True) as client:
        assert make_pool(client) == "work pool huginn: there"
        assert make_limit(client) == f"limit {WRITER_LIMIT}: there"
