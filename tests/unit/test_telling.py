"""What Prefect shows of a run."""

from __future__ import annotations

import pytest

from flows.telling import final_state, run_name, summary, table
from huginn.report import CursorMove, RunReport, SourceOutcome, SourceReport, now, run_outcome


def report(*sources: SourceReport, dry_run: bool = False) -> RunReport:
    moment = now()
    return RunReport(
        run="r",
        flow="forge-refresh",
        outcome=run_outcome(list(sources)),
        dry_run=dry_run,
        started=moment,
        finished=moment,
        sources=list(sources),
    )


def source(name: str, outcome: SourceOutcome = SourceOutcome.OK, reason: str | None = None) -> SourceReport:
    return SourceReport(source=name, corpus="forge", outcome=outcome, reason=reason)


def test_the_name_of_a_run_is_what_it_refreshes() -> None:
    assert run_name("forge", None, dry_run=False) == "forge: all"
    assert run_name("forge", ["a", "b"], dry_run=True) == "forge: a, b (dry run)"
    assert run_name("forge", [*"abcde"], dry_run=False) == "forge: a, b, c and 2 more"
    assert len(run_name("forge", ["x" * 10_000] * 10, dry_run=False)) < 220


def test_the_table_begins_with_what_needs_a_look() -> None:
    rows = table(report(source("a"), source("b", SourceOutcome.FAILED, "gone\naway"), source("c")))

    assert [row["source"] for row in rows] == ["b", "a", "c"]
    assert rows[0]["reason"] == "gone away"


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (None, "0123456789", "0123456"),
        ("0123456789", "9876543210", "0123456 → 9876543"),
        ("0123456789", "0123456789", "0123456"),
        (None, None, ""),
    ],
)
def test_a_row_tells_how_the_commit_moved(before: str | None, after: str | None, shown: str) -> None:
    (row,) = table(report(source("a").model_copy(update={"cursor": CursorMove(before=before, after=after)})))

    assert row["commit"] == shown


def test_a_row_sums_up_what_is_skipped() -> None:
    (row,) = table(report(source("a").model_copy(update={"skipped": {"binary": 2, "size": 3}})))

    assert row["skipped"] == 5


def test_all_well_is_completed_with_counts() -> None:
    state = final_state(report(source("a"), source("b", SourceOutcome.UNCHANGED), source("c", SourceOutcome.FORGOTTEN)))

    assert state.is_completed()
    assert state.message == "3 sources: 1 forgotten, 1 ok, 1 unchanged"


def test_nothing_to_refresh_is_completed() -> None:
    state = final_state(report())

    assert (state.is_completed(), state.message) == (True, "no sources")


def test_a_source_that_failed_fails_the_run_with_name_and_reason() -> None:
    state = final_state(report(source("a"), source("b", SourceOutcome.REFUSED, "no such branch")))

    assert state.is_failed()
    assert state.message == "1 of 2 sources failed. b: no such branch"


def test_the_message_of_many_failures_stays_short() -> None:
    state = final_state(report(*(source(f"s{number}", SourceOutcome.FAILED, "x" * 5_000) for number in range(300))))

    message = state.message or ""
    assert message.startswith("300 of 300 sources failed. s0: xxx")
    assert message.endswith("and 297 more")
    assert len(message) < 600


def test_a_dry_run_says_so() -> None:
    assert summary(report(source("a"), dry_run=True)) == "1 source: 1 ok; dry run, nothing was written"
