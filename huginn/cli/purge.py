"""`huginn purge`: take a span of a room out of the index for good, list what was taken out, or lift it.

In: a room and a span, with a reason. Out: what goes, the question whether it shall, the report.
"""

from __future__ import annotations

import getpass
import os
import sys
from datetime import datetime
from typing import TYPE_CHECKING

import click

from huginn.cli import moment, terminal
from huginn.cli.exits import ExitCode, manual
from huginn.cli.options import config_option, json_option, load_settings
from huginn.errors import Refused

if TYPE_CHECKING:
    from huginn.purges import Entry
    from huginn.purging import PurgeReport, Request
    from huginn.settings import Settings


@click.command(
    short_help="Take a span of a room out of the index for good.",
    epilog=manual(ExitCode.WELL, ExitCode.REFUSED, ExitCode.AWAY, ExitCode.BUSY, ExitCode.INTERRUPTED),
)
@click.argument("room", required=False, metavar="[ROOM]")
@click.option("--from", "start", metavar="TIME", callback=moment.read_with_zone, help="The first moment that goes.")
@click.option("--to", "end", metavar="TIME", callback=moment.read_with_zone, help="The first moment that stays.")
@click.option("--reason", metavar="TEXT", help="Why; it is kept in the record. Name no content.")
@click.option("--dry-run", is_flag=True, help="Count what would go; change nothing.")
@click.option("--expect", type=click.IntRange(0), metavar="N", help="Stop if more than N messages would go.")
@click.option("--hard", is_flag=True, help="Also write every file of the embedded index anew, without the words.")
@click.option("--yes", is_flag=True, help="Do not ask. Without a terminal it is needed, and --expect too.")
@click.option("--list", "listing", is_flag=True, help="List the purge record, oldest first.")
@click.option("--lift", metavar="ID", help="Lift the purge of this id: the next refresh takes the messages in again.")
@json_option
@config_option
def purge(
    room: str | None,
    start: datetime | None,
    end: datetime | None,
    reason: str | None,
    dry_run: bool,
    expect: int | None,
    hard: bool,
    yes: bool,
    listing: bool,
    lift: str | None,
    as_json: bool,
) -> ExitCode:
    """Remove the messages of ROOM (alias or id) of a span of time, and keep them out whatever the homeserver says.

    The span begins with --from and ends before --to; both are RFC 3339 with a zone. A message goes by the time of its
    original, with all its edits. What was said around it stays. The purge is recorded with the reason and the name of
    the user of this process, and holds for every refresh and rebuild to come, until it is lifted.

    The store keeps removed words in its files until it tidies up; --hard writes the files of every embedded index anew
    at once, which takes as long as copying them, and as much room.

    \b
    Examples:
      huginn purge '#birds:example.org' --from 2026-03-01T00:00:00Z --to 2026-03-02T00:00:00Z --dry-run
      huginn purge '#birds:example.org' --from 2026-03-01T00:00:00Z --to 2026-03-02T00:00:00Z --reason "asked by Ann"
      huginn purge --list
      huginn purge --lift 0f3c… --reason "wrong day"
    """
    settings = load_settings()
    if listing:
        return _list(settings, as_json=as_json)
    if lift is not None:
        return _lift(settings, lift, reason, as_json=as_json)
    from huginn.purging import Request

    for name, value in (("room", room), ("from", start), ("to", end)):
        if value is None:
            raise Refused(name, "it is not given", next_step="see 'huginn purge --help'")
    if reason is None and not dry_run:
        raise Refused("reason", "it is not given", next_step="say with --reason why; it is kept in the record")
    assert room is not None
    assert start is not None
    assert end is not None
    request = Request(room, start, end, reason or "none: a dry run", _steward())
    report = _purged(settings, request, dry_run=dry_run, expect=expect, hard=hard, yes=yes, quiet=as_json)
    if as_json:
        terminal.write_document(report)
    else:
        terminal.write(_told(report), sys.stdout)
    return ExitCode.WELL


def _purged(
    settings: Settings, request: Request, *, dry_run: bool, expect: int | None, hard: bool, yes: bool, quiet: bool
) -> PurgeReport:
    from huginn import purging

    if dry_run:
        return purging.purge(settings, request, dry_run=True)
    if not (sys.stdin.isatty() and sys.stderr.isatty()) and not (yes and expect is not None):
        request.check()
        raise Refused(
            "yes",
            "there is no terminal on which to ask",
            next_step="give --yes, and with --expect the number of messages that --dry-run tells",
        )
    if expect is None or not yes:
        counted = purging.purge(settings, request, dry_run=True)
        expect = counted.messages if expect is None else expect
        if not quiet:
            terminal.write(_told(counted), sys.stderr)
    if not yes:
        click.confirm("Purge them?", abort=True, err=True)
    return purging.purge(settings, request, dry_run=False, expect=expect, hard=hard)


def _told(report: PurgeReport) -> str:
    """A report as lines for a person."""
    span = (
        f"{terminal.harmless_line(report.room)} from {moment.shown(report.start)} to before {moment.shown(report.end)}"
    )
    counts = (
        f"{terminal.counted(report.messages, 'message')} in {terminal.counted(report.windows, 'window')} "
        f"({terminal.counted(report.points, 'point')})"
    )
    if report.dry_run:
        return f"{span}\n{counts} would go\n"
    lines = [span, f"{counts} removed, {terminal.counted(report.written, 'window')} written again"]
    if report.rewritten:
        lines.append(f"all files written anew, of {report.rewritten} index(es)")
    if report.pending:
        lines.append(f"what was said around them is not all back yet: {terminal.harmless_line(report.pending)}")
    return "\n".join([*lines, f"purge {report.purge}", ""])


def _list(settings: Settings, *, as_json: bool) -> ExitCode:
    from huginn.purging import entries

    told = entries(settings)
    if as_json:
        terminal.write_document({"entries": [_document(entry) for entry in told]})
        return ExitCode.WELL
    for entry in told:
        terminal.write(terminal.harmless_line(_line(entry)) + "\n", sys.stdout)
    if not told:
        terminal.write("nothing has been purged\n", sys.stdout)
    return ExitCode.WELL


def _lift(settings: Settings, purge_id: str, reason: str | None, *, as_json: bool) -> ExitCode:
    from huginn.purging import lift

    entry = lift(settings, purge_id, reason or "", _steward())
    if as_json:
        terminal.write_document(_document(entry))
    else:
        terminal.write(terminal.harmless_line(_line(entry)) + "\n", sys.stdout)
    return ExitCode.WELL


def _document(entry: Entry) -> dict[str, object]:
    return entry.model_dump(mode="json", by_alias=True)


def _line(entry: Entry) -> str:
    act = "purge" if entry.lifts is None else f"lift of {entry.lifts}"
    span = f"{moment.shown(entry.start)} to before {moment.shown(entry.end)}"
    return f"{entry.id}  {moment.shown(entry.recorded)}  {act}  {entry.room}  {span}  {entry.steward}: {entry.reason}"


def _steward() -> str:
    """Who asks, by the word of the operating system."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in a container
        return f"user {os.getuid()}"
