"""What Prefect shows of a run: its name, its table of outcomes, its last word.

In: parameters and reports. Out: texts and table rows of ids and counts, and a final state. The rule that lives here:
a run fails when a source failed, and says which and why in one line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from huginn.report import RunReport, SourceReport
from huginn.run import BACKFILL

_NAMES_SHOWN = 3
_REASON_LENGTH = 160


def run_name(corpus: str, sources: Sequence[str] | None, *, dry_run: bool) -> str:
    """The name of a flow run: what it refreshes."""
    what = "all" if sources is None else _names(sources)
    return f"{corpus}: {what}{' (dry run)' if dry_run else ''}"


def table(report: RunReport) -> list[dict[str, Any]]:
    """One row for each source, those that need a look first."""
    is_backfill = report.flow.startswith(BACKFILL)
    return [
        _row_of_drift(source) if is_backfill else _row(source)
        for source in sorted(report.sources, key=lambda one: (one.is_well, one.source))
    ]


def summary(report: RunReport) -> str:
    """The outcome in one line: how many sources, and what became of them."""
    if not report.sources:
        return "no sources"
    rebuild = f"; {report.rebuild.told()}" if report.rebuild else ""
    outcomes = Counter(str(source.outcome) for source in report.sources)
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    sources = "1 source" if len(report.sources) == 1 else f"{len(report.sources)} sources"
    return f"{sources}: {counts}{'; dry run, nothing was written' if report.dry_run else ''}{rebuild}"


def final_state(report: RunReport) -> State[Any]:
    """Completed when all is well; else Failed, with the names and reasons of the first few."""
    unwell = [source for source in report.sources if not source.is_well]
    if not unwell:
        return Completed(message=summary(report))
    reasons = "; ".join(f"{source.source}: {_reason(source) or source.outcome}" for source in unwell[:_NAMES_SHOWN])
    more = f"; and {len(unwell) - _NAMES_SHOWN} more" if len(unwell) > _NAMES_SHOWN else ""
    return Failed(message=f"{len(unwell)} of {len(report.sources)} sources failed. {reasons}{more}")


def _row(source: SourceReport) -> dict[str, Any]:
    # As many columns as the page shows without scrolling; the journal has the rest. The reason is last: it may be long.
    return _row_of_room(source) if source.corpus == "chat" else _row_of_repository(source)


def _row_of_drift(source: SourceReport) -> dict[str, Any]:
    return {
        "source": source.name or source.source,
        "outcome": str(source.outcome),
        **source.drift.model_dump(),
        "embedded": source.embedded,
        "seconds": round(source.seconds, 1),
        "reason": _reason(source),
    }


def _row_of_room(source: SourceReport) -> dict[str, Any]:
    skipped = ", ".join(f"{reason} {count}" for reason, count in source.skipped.items())
    return {
        "room": source.name or source.source,
        "outcome": str(source.outcome),
        "messages": source.messages,
        "edits": source.edits,
        "redactions": source.redactions,
        "skipped": _short(skipped),
        "written": source.written,
        "updated": source.updated,
        "removed": source.removed,
        "seconds": round(source.seconds, 1),
        "reason": _reason(source),
    }


def _row_of_repository(source: SourceReport) -> dict[str, Any]:
    return {
        "source": source.source,
        "outcome": str(source.outcome),
        "commit": " → ".join(dict.fromkeys(at[:7] for at in (source.cursor.before, source.cursor.after) if at)),
        "files": source.stored,
        "skipped": sum(source.skipped.values()),
        "failed": source.failed,
        "written": source.written,
        "updated": source.updated,
        "removed": source.removed,
        "seconds": round(source.seconds, 1),
        "reason": _reason(source),
    }


def _reason(source: SourceReport) -> str:
    return _short("; ".join([*source.notes, *([source.reason] if source.reason else [])]))


def _names(sources: Sequence[str]) -> str:
    more = f" and {len(sources) - _NAMES_SHOWN} more" if len(sources) > _NAMES_SHOWN else ""
    return ", ".join(name[:60] for name in sources[:_NAMES_SHOWN]) + more


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _REASON_LENGTH else f"{line[: _REASON_LENGTH - 1]}…"
