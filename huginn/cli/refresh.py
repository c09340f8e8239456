"""`huginn refresh`: one run over the repositories or the rooms, the same code as the flow, without Prefect.

In: which corpus, which sources, whether dry. Out: the run's report, as a table with the counts in the last line or as
one document, and an exit code.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from huginn.cli import failures, terminal
from huginn.cli.exits import ExitCode, code_of, manual
from huginn.cli.options import config_option, json_option, load_settings, require_corpus
from huginn.cli.outcomes import show
from huginn.cli.progress import shown
from huginn.cli.side_by_side import side_by_side
from huginn.errors import Busy, HuginnError, Refused

if TYPE_CHECKING:
    from huginn.report import Corpus, RunReport, SourceReport
    from huginn.run import Run


@click.command(
    short_help="Bring the index up to the repositories, or to the rooms.",
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
@click.argument("corpus", default="forge", metavar="[forge|chat]")
@click.option(
    "--only",
    metavar="NAME",
    multiple=True,
    help="Only this source: a repository by its name in the settings, a room by its alias or id. Repeatable.",
)
@click.option("--dry-run", is_flag=True, help="Tell what would be done; write nothing to the index.")
@json_option
@config_option
def refresh(corpus: str, only: tuple[str, ...], dry_run: bool, as_json: bool) -> ExitCode:
    """Bring the index up to what the repositories say now; with chat, what the rooms of the homeserver say.

    Each repository is asked for its branch, compared with what the index holds, and the difference is written. A
    repository that cannot be read holds up no other. One that has left the settings is forgotten. Running it again,
    after a crash too, ends in the same index.

    Of the rooms that the reader has joined, each is read from where it was left. One that is excluded, direct or
    bridged is refused, and told with the reason; what was held of it, and of a room that was left, is forgotten.

    \b
    Examples:
      huginn refresh
      huginn refresh --only Huginn --only Heron
      huginn refresh --dry-run
      huginn refresh chat --only '#birds:example.org'
      huginn refresh --json | jq '.sources[] | select(.outcome == "failed")'
    """
    return tell_of(
        lambda: run_corpus(require_corpus(corpus), only, dry_run=dry_run, quiet=as_json), corpus, dry_run, as_json
    )


def tell_of(run: Callable[[], RunReport], corpus: str, dry_run: bool, as_json: bool) -> ExitCode:
    """Run, and print the report; a run that cannot begin is a report too where a document is wanted.

    `corpus`: of what it is a refresh; or the name of another kind of run.
    """
    try:
        report = run()
    except (HuginnError, OSError) as raised:
        if not as_json:
            raise
        error = failures.from_system(raised) if isinstance(raised, OSError) else raised
        terminal.write_document(_report_of_none(error, corpus, dry_run=dry_run))
        return code_of(error)
    if as_json:
        terminal.write_document(report)
    else:
        show(report)
    return _exit_code(report)


def run_all(names: Sequence[str], flow: str | None, *, quiet: bool, **options: bool) -> RunReport:
    """One run for each corpus that the names lie in, none meaning all, told as one.

    `flow` names them in the journal, each with its corpus; None: as refreshes. `options`: see `huginn.run.open_run`.
    """
    from huginn.report import as_one
    from huginn.sources import by_corpus

    chosen = by_corpus(load_settings(), names)
    reports = [
        run_corpus(corpus, only, quiet=quiet, flow=f"{flow}-{corpus}" if flow else None, **options)
        for corpus, only in chosen.items()
    ]
    return as_one(flow or reports[-1].flow, reports)


def run_corpus(
    corpus: Corpus, only: Sequence[str] = (), *, quiet: bool, flow: str | None = None, **options: bool
) -> RunReport:
    """Refresh sources of a corpus, telling how far it is unless it shall be `quiet`.

    `flow`: its name in the journal; `options`: see `huginn.run.open_run`.
    """
    settings = load_settings()
    from huginn.run import open_run

    with (
        open_run(settings, corpus=corpus, flow=flow, only=only, **options) as run,
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


def _report_of_none(error: HuginnError, corpus: str, *, dry_run: bool) -> RunReport:
    """The document of a run that could not begin, or not be finished."""
    from huginn.report import RunOutcome, RunReport, now
    from huginn.run import BACKFILL, FLOWS, REBUILD

    outcome = RunOutcome.FAILED
    if isinstance(error, Busy):
        outcome = RunOutcome.BUSY
    elif isinstance(error, Refused):
        outcome = RunOutcome.REFUSED
    moment = now()
    return RunReport(
        run="",
        flow=corpus if corpus in (BACKFILL, REBUILD) else next((FLOWS[one] for one in FLOWS if one == corpus), ""),
        outcome=outcome,
        reason=str(error),
        dry_run=dry_run,
        started=moment,
        finished=moment,
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
