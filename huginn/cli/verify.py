"""`huginn verify`: do index, checkpoint store and settings agree? Nothing is written, nothing upstream is asked.

In: nothing but the settings. Out: a table of faults or one document, and exit code 1 where anything is wrong.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from huginn.cli import terminal
from huginn.cli.exits import ExitCode, manual
from huginn.cli.options import config_option, json_option, load_settings

if TYPE_CHECKING:
    from huginn.verify import VerifyReport


@click.command(
    short_help="Tell whether index, cursors and settings agree.",
    epilog=manual(
        ExitCode.WELL,
        ExitCode.SOME_FAILED,
        ExitCode.REFUSED,
        ExitCode.AWAY,
        ExitCode.BUSY,
        some_failed="something is wrong, see its line",
        busy="the index could not be had in time",
    ),
)
@json_option
@config_option
def verify(as_json: bool) -> ExitCode:
    """Look at every point of the index: is it what it says, does a cursor vouch for it, may it be there at all?

    Nothing is written, embedded or asked of a host. It may run beside a refresh; sources that are written meanwhile
    are told as unsettled. 'huginn backfill' mends what is found here, and finds what differs from upstream.

    \b
    Faults:
      points_differ    the cursor of a source says another number of points
      no_cursor        a source has points and no cursor
      open_cursor      the last run of a source was cut off or failed
      not_in_settings  points of a repository, or a corpus, that the settings do not have
      no_source        points that belong to no source
      invalid_payload  a payload of another shape, or with texts that are not those of its digests
      foreign_id       a point under an id that what it holds does not have
      duplicate        a message that stands in two windows
      refused_room     points of a room that must not be read, in any index on disk
      redacted         points with a message that is known to be redacted, in any index on disk
      purged           points with a message that is purged, in any index on disk

    \b
    Examples:
      huginn verify
      huginn verify --json | jq '.faults[] | {kind, source, count}'
    """
    settings = load_settings()
    from huginn.verify import verify as look

    report = look(settings)
    if as_json:
        terminal.write_document(report)
    else:
        show(report)
    return ExitCode.SOME_FAILED if report.faults else ExitCode.WELL


def show(report: VerifyReport) -> None:
    """Print the faults for a person; the last line tells the counts."""
    from rich.table import Table
    from rich.text import Text

    console = terminal.console(sys.stdout)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("fault", no_wrap=True)
    table.add_column("source", overflow="fold")
    table.add_column("points", justify="right", no_wrap=True)
    table.add_column("what", overflow="fold")
    for fault in report.faults:
        elsewhere = [] if fault.index == report.index else ["in an index that is not in use"]
        words = [*([fault.detail] if fault.detail else []), *elsewhere, *fault.ids[:3]]
        told = (fault.kind, fault.source or "-", str(fault.count), ", ".join(words))
        table.add_row(*(Text(terminal.harmless_line(cell)) for cell in told))
    if report.faults:
        console.print(table)
    lines = [*report.notes, *([f"meanwhile at work: {report.refreshing}"] if report.refreshing else [])]
    lines += [f"{source}: written meanwhile, not judged" for source in report.unsettled]
    for line in lines:
        console.print(Text(terminal.harmless_line(line)), soft_wrap=True)
    found = terminal.counted(len(report.faults), "fault") if report.faults else "nothing wrong"
    seen = f"{terminal.counted(report.points, 'point')} of {terminal.counted(report.sources, 'source')}"
    console.print(Text(f"{seen}: {found}", "bold"), soft_wrap=True)
