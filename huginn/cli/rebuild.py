"""`huginn rebuild`: the whole index anew beside the old one, or single sources from the beginning.

In: sources, or all. Out: the report of what was taken in, as of a refresh.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from huginn.cli import terminal
from huginn.cli.exits import ExitCode, manual
from huginn.cli.options import config_option, json_option, load_settings
from huginn.cli.refresh import run_all, tell_of
from huginn.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from huginn.report import RunReport


@click.command(
    short_help="Take in sources from the beginning, or build the whole index anew.",
    epilog=manual(ExitCode.WELL, ExitCode.SOME_FAILED, ExitCode.REFUSED, ExitCode.AWAY, ExitCode.BUSY),
)
@click.argument("sources", metavar="[SOURCE]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All sources: the whole index, if rules or model have changed.")
@click.option("--yes", is_flag=True, help="Do not ask before the points of the sources go.")
@json_option
@config_option
def rebuild(sources: tuple[str, ...], everything: bool, yes: bool, as_json: bool) -> ExitCode:
    """Take in a SOURCE from the beginning: a repository by its name in the settings, a room by its alias or id.

    Its cursor and its points go first, from every index on disk, vectors too; then it is read and embedded anew. If its
    host or the embedder is away meanwhile, the points are gone, and the next refresh takes it in. Where something is
    only missing or too much, 'huginn backfill' costs less.

    With --all, build the index anew if it was made by other rules or another model than those of now, or if the model
    gives other vectors than when it was made. The old index goes on answering while the new one is filled beside it.
    Vectors of equal texts are carried over where the model is the same. It may be stopped at any time; the next refresh
    goes on where it was, and the new index is put into use when everything that the old one holds is in it. With
    index.rebuild = "auto" a refresh does the same by itself.

    \b
    Examples:
      huginn rebuild Huginn
      huginn rebuild --yes '#birds:example.org'
      huginn rebuild --all
    """
    if everything == bool(sources):
        raise Refused("SOURCE", "name sources, or give --all", next_step="--all is for the whole index")
    if everything:
        return tell_of(lambda: _rebuilt(quiet=as_json), "forge", dry_run=False, as_json=as_json)
    return tell_of(lambda: _started_over(sources, yes=yes, quiet=as_json), "rebuild", dry_run=False, as_json=as_json)


def _rebuilt(*, quiet: bool) -> RunReport:
    """The switch waits for all corpora."""
    return run_all((), None, quiet=quiet, rebuild=True)


def _started_over(sources: Sequence[str], *, yes: bool, quiet: bool) -> RunReport:
    from huginn.run import REBUILD
    from huginn.sources import by_corpus

    by_corpus(load_settings(), sources)  # nobody is asked about what is refused
    if not yes:
        _confirm(sources)
    return run_all(sources, REBUILD, quiet=quiet, start_over=True)


def _confirm(sources: Sequence[str]) -> None:
    """Ask on a terminal; where nobody can answer, `--yes` is needed."""
    if not sys.stdin.isatty():
        raise Refused(
            "--yes", "all points of the sources named would go, and nobody can be asked", next_step="give --yes"
        )
    names = terminal.harmless_line(", ".join(sources))
    click.confirm(f"All points of {names} go, then it is taken in anew. Go on?", abort=True, err=True)
