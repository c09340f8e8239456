"""`huginn roster`: the rooms that the reader is in, by a file of the stewards.

In: settings with `[chat.roster]`. Out: the difference, the question whether to go on, what became of it.
"""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING

import click

from huginn.cli import terminal
from huginn.cli.exits import ExitCode, manual
from huginn.cli.options import config_option, json_option, load_settings
from huginn.errors import Refused

if TYPE_CHECKING:
    from huginn.chat.membership import Membership
    from huginn.chat.roster import RosterReport

_WOULD = {"join": "to join", "leave": "to leave"}


@click.command(
    short_help="Have the reader join and leave rooms, by a file.",
    epilog=manual(
        ExitCode.WELL,
        ExitCode.SOME_FAILED,
        ExitCode.REFUSED,
        ExitCode.AWAY,
        ExitCode.INTERRUPTED,
        some_failed="some rooms failed or were refused; the others are done",
        away="the homeserver is away",
    ),
)
@click.option("--dry-run", is_flag=True, help="Tell the difference; change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask. Needed where there is no terminal.")
@json_option
@config_option
def roster(dry_run: bool, yes: bool, as_json: bool) -> ExitCode:
    """Bring the rooms that the account of [chat] is in to what the roster says: join what is missing, leave the rest.

    The roster is the file that chat.roster.file names, with a room, asked_by and why for each [[rooms]]. The credential
    is one of its own, best an admin's of a Synapse: the account is then suspended, but for the time of joining, so that
    the token of a refresh can read and neither join nor send. Rooms that would not be read are not joined. No flow runs
    this, and nothing is read into the index.

    \b
    Examples:
      huginn roster --dry-run
      huginn roster
      huginn roster --yes --json
    """
    from huginn.chat.membership import Membership

    chat = load_settings().chat
    if chat is None or chat.roster is None:
        raise Refused("chat.roster", "is not set", next_step='write [chat.roster] with file = "roster.toml"')
    with closing(Membership(chat, chat.roster)) as membership:
        report = _brought(membership, dry_run=dry_run, yes=yes)
    if as_json:
        terminal.write_document(report)
    else:
        terminal.write(_told(report), sys.stdout)
    failed = any(room.outcome in ("refused", "failed") for room in report.rooms)
    return ExitCode.SOME_FAILED if failed else ExitCode.WELL


def _brought(membership: Membership, *, dry_run: bool, yes: bool) -> RosterReport:
    plan = membership.plan()
    if dry_run:
        return plan
    if plan.changes and not yes:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            next_step = "look with --dry-run, then give --yes"
            raise Refused("yes", "there is no terminal on which to ask", next_step=next_step)
        terminal.write(_told(plan), sys.stderr)
        click.confirm("Do that?", abort=True, err=True)
    return membership.carry_out(plan)


def _told(report: RosterReport) -> str:
    """A report as lines for a person."""
    lines = []
    for room in report.rooms:
        why = f"  ({room.reason})" if room.reason else ""
        lines.append(terminal.harmless_line(f"{_WOULD.get(room.outcome, room.outcome):<9} {room.name}{why}"))
    if report.suspended is None:
        state = "is not known to be suspended: its token may be able to join and send"
    elif report.suspended:
        state = "is suspended"
    else:
        state = "is to be suspended" if report.dry_run else "is not suspended: its token can join and send"
    return "\n".join([*lines, f"{terminal.harmless_line(report.user)} {state}", ""])
