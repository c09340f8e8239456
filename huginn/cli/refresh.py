"""`huginn refresh`: one run over the repositories, the same code as the flow, without Prefect.

In: which sources, whether dry. Out: the run's report, as a table with the counts in the last line or as one document,
and an exit code.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from huginn.cli import failures, terminal
from huginn.cli.exits import ExitCode, code_of, manual
from huginn.cli.options import config_option, json_option, load_settings, require_corpus
from huginn.cli.progress import shown
from huginn.cli.side_by_side import side_by_side
from huginn.errors import Busy, HuginnError, Refused

if TYPE_CHECKING:
    from huginn.report import RunReport, SourceOutcome, SourceReport
    from huginn.run import Run


@click.command(
    short_help="Bring the index up to the repositories.",
    epilog=manual(
        ExitCode.WELL,
        ExitCode.SOME_FAILED,
        ExitCode.REFUSED,
        ExitCode.AWAY,
        ExitCode.BUSY,
        ExitCode.INTERRUPTED,
        interrupted="interrupted with Ctrl-C; the next refresh takes up what was begun",
    ),
)
@click.argument("corpus", default="forge", metavar="[forge]")
@click.option(
    "--only", metavar="NAME", multiple=True, help="Only this source, by its name in the settings. Repeatable."
)
@click.option("--dry-run", is_flag=True, help="Tell what would be done; write nothing to the index.")
@json_option
@config_option
def refresh(corpus: str, only: tuple[str, ...], dry_run: bool, as_json: bool) -> ExitCode:
    """Bring the index up to what the repositories say now.

    Each repository is asked for its branch, compared with what the index holds, and the difference is written. A
    repository that cannot be read holds up no other. One that has left the settings is forgotten. Running it again,
    after a crash too, ends in the same index.

    \b
    Examples:
      huginn refresh
      huginn refresh --only Huginn --only Heron
      huginn refresh --dry-run
      huginn refresh --json | jq '.sources[] | select(.outcome == "failed")'
    """
    return run_and_tell(only, dry_run=dry_run, as_json=as_json, corpus=corpus)


def run_and_tell(
    only: Sequence[str], *, dry_run: bool, as_json: bool, corpus: str = "forge", rebuild: bool = False
) -> ExitCode:
    """Run over the sources and print the report; a run that cannot begin is a report too where a document is wanted."""
    try:
        require_corpus(corpus)
        report = _run(only, dry_run=dry_run, quiet=as_json, rebuild=rebuild)
    except (HuginnError, OSError) as raised:
        if not as_json:
            raise
        error = failures.from_system(raised) if isinstance(raised, OSError) else raised
        terminal.write_document(_report_of_none(error, dry_run=dry_run))
        return code_of(error)
    if as_json:
        terminal.write_document(report)
    else:
        show(report)
    return _exit_code(report)


def _run(only: Sequence[str], *, dry_run: bool, quiet: bool, rebuild: bool) -> RunReport:
    settings = load_settings()
    from huginn.run import open_run

    with (
        open_run(settings, only=only, dry_run=dry_run, rebuild=rebuild) as run,
        shown(run, quiet=quiet) as done,
    ):
        if run.rebuild is not None and not quiet:
            terminal.write(terminal.harmless_line(run.rebuild.told()) + "\n", sys.stderr)
        reports = side_by_side(lambda source: _refresh_one(run, source), run.sources, done)
        return run.finish(reports)


def _refresh_one(run: Run, source: str) -> SourceReport:
    try:
        return run.refresh(source)
    except HuginnError as error:
        return run.failed(source, error)


def show(report: RunReport) -> None:
    """Print the outcomes for a person: a table, the reasons under it, the counts in the last line."""
    from rich.table import Table
    from rich.text import Text

    console = terminal.console(sys.stdout)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("source", overflow="fold")
    table.add_column("outcome", no_wrap=True)
    for heading in ("paths", "skipped", "written", "removed", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    for source in report.sources:
        counts = (source.seen, sum(source.skipped.values()), source.written, source.removed)
        table.add_row(
            Text(terminal.harmless_line(source.source)),
            Text(source.outcome, "" if source.is_well else "red"),
            *(str(count) for count in counts),
            f"{source.seconds:.1f}",
        )
    if report.sources:
        console.print(table)
    for line in _remarks(report):
        console.print(Text(line), soft_wrap=True)
    console.print(Text(counts_of(report), "bold"), soft_wrap=True)


def _remarks(report: RunReport) -> Iterator[str]:
    """What does not fit into a table: reasons, rewritten history, masked secrets, places that failed."""
    for source in report.sources:
        remarks = [source.reason] if source.reason else []
        if source.rewritten:
            remarks.append("its history was rewritten upstream")
        if source.failed:
            remarks.append(f"{terminal.counted(source.failed, 'path')} failed, see 'huginn status -v'")
        if source.words_only:
            paths = terminal.counted(source.words_only, "path")
            remarks.append(f"{paths} found by words alone, see 'huginn status -v'")
        if source.shortened:
            paths = terminal.counted(source.shortened, "path")
            remarks.append(f"{paths} too long for the embedder and shortened for it, see 'huginn status -v'")
        if source.masked:
            kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(source.masked.items()))
            remarks.append(f"masked secrets: {kinds}")
        for remark in remarks:
            yield terminal.harmless_line(f"{source.source}: {remark}")
    if report.rebuild:
        yield terminal.harmless_line(report.rebuild.told())
    for note in report.notes:
        yield terminal.harmless_line(note)
    if report.reason:
        yield terminal.harmless_line(report.reason)


def counts_of(report: RunReport) -> str:
    """The last line: how many sources came to which outcome, and what was written."""
    outcomes = Counter(source.outcome for source in report.sources)
    told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items(), key=_by_order))
    written = sum(source.written for source in report.sources)
    removed = sum(source.removed for source in report.sources)
    sources = terminal.counted(len(report.sources), "source") + (f": {told}" if told else "")
    chunks = terminal.counted(written, "chunk")
    if report.dry_run:
        return f"dry run: {sources}; {chunks} to write, {removed} to remove"
    return f"{sources}; {chunks} written, {removed} removed"


def _by_order(outcome: tuple[SourceOutcome, int]) -> int:
    return list(type(outcome[0])).index(outcome[0])


def _report_of_none(error: HuginnError, *, dry_run: bool) -> RunReport:
    """The document of a run that could not begin, or not be finished."""
    from huginn.report import RunOutcome, RunReport, now
    from huginn.run import FLOW

    outcome = RunOutcome.FAILED
    if isinstance(error, Busy):
        outcome = RunOutcome.BUSY
    elif isinstance(error, Refused):
        outcome = RunOutcome.REFUSED
    moment = now()
    return RunReport(
        run="", flow=FLOW, outcome=outcome, reason=str(error), dry_run=dry_run, started=moment, finished=moment
    )


def _exit_code(report: RunReport) -> ExitCode:
    codes = {
        "ok": ExitCode.WELL,
        "partial": ExitCode.SOME_FAILED,
        "failed": ExitCode.AWAY if report.unavailable else ExitCode.SOME_FAILED,
        "refused": ExitCode.REFUSED,
        "busy": ExitCode.BUSY,
    }
    return codes[report.outcome]
