"""`huginn rebuild --all`: build the index anew beside the old one, where rules or model have changed."""

from __future__ import annotations

import click

from huginn.cli.exits import ExitCode, manual
from huginn.cli.options import config_option, json_option
from huginn.cli.refresh import run_and_tell
from huginn.errors import Refused


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
    return run_and_tell((), dry_run=False, as_json=as_json, rebuild=True)
