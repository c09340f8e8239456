"""What a run did, told to a person: a table of sources, the reasons under it, the counts in the last line.

In: a run's report. Out: lines on standard output.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from huginn.cli import terminal

if TYPE_CHECKING:
    from huginn.report import Drift, RunReport, SourceOutcome, SourceReport


def show(report: RunReport) -> None:
    """Print the outcomes for a person: a table, the reasons under it, the counts in the last line."""
    from rich.table import Table
    from rich.text import Text

    console = terminal.console(sys.stdout)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("source", overflow="fold")
    table.add_column("outcome", no_wrap=True)
    counts = _counts_of_rooms if any(source.corpus == "chat" for source in report.sources) else _counts_of_repositories
    for number, source in enumerate(report.sources):
        told = counts(source)
        for heading in told if number == 0 else ():
            table.add_column(heading, justify="right", no_wrap=True)
        outcome = Text(source.outcome, "" if source.is_well else "red")
        table.add_row(Text(_name(source)), outcome, *told.values())
    if report.sources:
        console.print(table)
    for line in _remarks(report):
        console.print(Text(line), soft_wrap=True)
    console.print(Text(counts_of(report), "bold"), soft_wrap=True)


def _counts_of_repositories(source: SourceReport) -> dict[str, str]:
    counts = {
        "paths": source.seen,
        "skipped": sum(source.skipped.values()),
        "written": source.written,
        "removed": source.removed,
    }
    return {**{heading: str(count) for heading, count in counts.items()}, "seconds": f"{source.seconds:.1f}"}


def _counts_of_rooms(source: SourceReport) -> dict[str, str]:
    counts = {
        "messages": source.messages,
        "edits": source.edits,
        "redacted": source.redactions,
        "skipped": sum(source.skipped.values()),
        "written": source.written,
        "removed": source.removed,
    }
    return {heading: str(count) for heading, count in counts.items()}


def _name(source: SourceReport) -> str:
    return terminal.harmless_line(source.name or source.source)


def _remarks(report: RunReport) -> Iterator[str]:
    """What does not fit into a table: reasons, rewritten history, masked secrets, places that failed."""
    from huginn.report import Drift

    for source in report.sources:
        remarks = [source.reason] if source.reason else []
        if source.corpus == "chat" and source.skipped:
            reasons = sorted(source.skipped.items(), key=lambda reason: (-reason[1], reason[0]))
            remarks.append(f"skipped: {', '.join(f'{reason} {count}' for reason, count in reasons)}")
        if source.rewritten:
            remarks.append("its history was rewritten upstream")
        if source.failed:
            remarks.append(f"{terminal.counted(source.failed, _place(source))} failed, see 'huginn status -v'")
        if source.words_only:
            paths = terminal.counted(source.words_only, _place(source))
            remarks.append(f"{paths} found by words alone, see 'huginn status -v'")
        if source.shortened:
            paths = terminal.counted(source.shortened, _place(source))
            remarks.append(f"{paths} too long for the embedder and shortened for it, see 'huginn status -v'")
        if source.masked:
            kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(source.masked.items()))
            remarks.append(f"masked secrets: {kinds}")
        if report.flow == "backfill" and source.drift != Drift():
            remarks.append(f"drift: {_drift(source.drift)}")
        remarks += source.notes
        for remark in remarks:
            yield f"{_name(source)}: {terminal.harmless_line(remark)}"
    if (
        report.flow == "backfill"
        and report.outcome == "ok"
        and all(source.drift == Drift() for source in report.sources)
    ):
        yield "no drift"
    if report.rebuild:
        yield terminal.harmless_line(report.rebuild.told())
    for note in report.notes:
        yield terminal.harmless_line(note)
    if report.reason:
        yield terminal.harmless_line(report.reason)


def _drift(drift: Drift) -> str:
    return f"{drift.missing} missing, {drift.stale} stale, {drift.foreign} foreign"


def _place(source: SourceReport) -> str:
    return "message" if source.corpus == "chat" else "path"


def counts_of(report: RunReport) -> str:
    """The last line: how many sources came to which outcome, and what was written."""
    outcomes = Counter(source.outcome for source in report.sources)
    told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items(), key=_by_order))
    written = sum(source.written for source in report.sources)
    removed = sum(source.removed for source in report.sources)
    sources = terminal.counted(len(report.sources), "source") + (f": {told}" if told else "")
    is_chat = any(source.corpus == "chat" for source in report.sources)
    chunks = terminal.counted(written, "window" if is_chat else "chunk")
    if report.dry_run:
        return f"dry run: {sources}; {chunks} to write, {removed} to remove"
    return f"{sources}; {chunks} written, {removed} removed"


def _by_order(outcome: tuple[SourceOutcome, int]) -> int:
    return list(type(outcome[0])).index(outcome[0])
