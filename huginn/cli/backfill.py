"""`huginn backfill`: compare with the whole of what upstream says, write the difference, and tell the drift.

In: sources, or all. Out: the report of the run, with what was missing, stale and foreign.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from huginn.cli.exits import ExitCode, manual
from huginn.cli.options import config_option, json_option
from huginn.cli.refresh import run_all, tell_of
from huginn.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from huginn.report import RunReport


@click.command(
    short_help="Compare everything with upstream, and mend what has drifted.",
    epilog=manual(ExitCode.WELL, ExitCode.SOME_FAILED, ExitCode.REFUSED, ExitCode.AWAY, ExitCode.BUSY),
)
@click.argument("sources", metavar="[SOURCE]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All repositories and rooms.")
@click.option("--dry-run", is_flag=True, help="Tell the drift; write nothing to the index.")
@json_option
@config_option
def backfill(sources: tuple[str, ...], everything: bool, dry_run: bool, as_json: bool) -> ExitCode:
    """Read the whole of what upstream says of each SOURCE, as if it had never been taken in, and write the difference.

    It finds what no refresh is told: history that was purged and rooms that were deleted on the homeserver, history
    that has become visible, a store that was put back from a backup. Told is the drift of each source: points that were
    missing, stale (there with another text or payload) or foreign (wanted by nobody). What has come upstream since the
    last refresh counts too. Nothing is embedded whose vector is there; texts that the embedder has refused are tried
    again.

    \b
    Examples:
      huginn backfill --all
      huginn backfill Huginn '#birds:example.org'
      huginn backfill --all --dry-run --json | jq '.sources[] | {source, drift}'
    """
    if everything == bool(sources):
        raise Refused("SOURCE", "name sources, or give --all", next_step="see 'huginn backfill --help'")

    return tell_of(lambda: _backfilled(sources, dry_run=dry_run, quiet=as_json), "backfill", dry_run, as_json)


def _backfilled(sources: Sequence[str], *, dry_run: bool, quiet: bool) -> RunReport:
    from huginn.run import BACKFILL

    return run_all(sources, BACKFILL, dry_run=dry_run, quiet=quiet, compare_all=True)
