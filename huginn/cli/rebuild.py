"""`huginn rebuild --all`: build the index anew beside the old one, where rules or model have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from huginn.cli.exits import ExitCode, manual
from huginn.cli.options import config_option, json_option, load_settings
from huginn.cli.refresh import run_corpus, tell_of
from huginn.errors import Refused

if TYPE_CHECKING:
    from huginn.report import Corpus, RunReport


@click.command(
    short_help="Build the index anew beside the old one.",
    epilog=manual(ExitCode.WELL, ExitCode.SOME_FAILED, ExitCode.REFUSED, ExitCode.AWAY, ExitCode.BUSY),
)
@click.option("--all", "everything", is_flag=True, help="All sources: the whole index.")
@json_option
@config_option
def rebuild(everything: bool, as_json: bool) -> ExitCode:
    """Build the index anew, if it was made by other rules or another model than those of now, or if the model gives
    other vectors than when it was made.

    The old index goes on answering while the new one is filled beside it. Vectors of equal texts are carried over where
    the model is the same. It may be stopped at any time; the next refresh goes on where it was, and the new index is
    put into use when everything that the old one holds is in it. With index.rebuild = "auto" a refresh does the same
    by itself.

    \b
    Example:
      huginn rebuild --all
    """
    if not everything:
        raise Refused("SOURCE", "nothing is named", next_step="give --all for the whole index")
    return tell_of(lambda: _rebuilt(quiet=as_json), "forge", dry_run=False, as_json=as_json)


def _rebuilt(*, quiet: bool) -> RunReport:
    """One run for each corpus that the settings have, told as one: the switch waits for all of them."""
    from huginn.report import run_outcome

    corpora: list[Corpus] = ["forge"] if load_settings().chat is None else ["forge", "chat"]
    reports = [run_corpus(corpus, quiet=quiet, rebuild=True) for corpus in corpora]
    sources = [source for report in reports for source in report.sources]
    return reports[-1].model_copy(
        update={
            "started": reports[0].started,
            "sources": sources,
            "outcome": run_outcome(sources),
            "unavailable": sorted({part for report in reports for part in report.unavailable}),
            "notes": list(dict.fromkeys(note for report in reports for note in report.notes)),
        }
    )
