"""`huginn doctor`: is everything in its place, and if not, what is to be done.

In: nothing but the settings. Out: one line for each check with its next step, or one document, and an exit code that
tells the worst of it.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from huginn.cli import terminal
from huginn.cli.exits import ExitCode, manual
from huginn.cli.options import chosen_config, config_option, json_option, load_settings
from huginn.errors import Refused

if TYPE_CHECKING:
    from rich.text import Text

    from huginn.cli.checks import DoctorReport, Finding, Outcome
    from huginn.settings import Settings

_COLOURS: dict[Outcome, str] = {"well": "green", "note": "yellow", "wrong": "red", "away": "red"}


@click.command(
    short_help="Tell what is wrong, and what to do.",
    epilog=manual(
        ExitCode.WELL,
        ExitCode.SOME_FAILED,
        ExitCode.REFUSED,
        ExitCode.AWAY,
        some_failed="something is wrong, see its line",
        refused="the settings or the usage are refused",
    ),
)
@json_option
@config_option
def doctor(as_json: bool) -> ExitCode:
    """Look at everything that Huginn needs, and tell what is wrong and what to do.

    \b
    Looked at are:
      settings     the file in use, and every problem in it
      disk         free space where the state folder is
      lock         whether another writer is at work
      embedder     whether the model loads and embeds a probe; each of its hosts
      index        whether there is one, and whether it fits model and rules
      checkpoints  whether the store of cursors can be read
      repository   for each: address, branch, and whether the remote answers
      discover     whether each place that lists repositories can be read
      chat         the reader's token, the homeserver, and the rooms left out

    Remotes are asked, but nothing is fetched, and index and cursors are not touched.

    \b
    Examples:
      huginn doctor
      huginn doctor --json | jq -r '.checks[] | select(.outcome == "wrong") | .detail'
    """
    from huginn.cli.checks import DoctorReport, Finding, examine, from_error

    path = _settings_file()
    try:
        settings = load_settings()
    except Refused as error:
        report = DoctorReport(checks=[from_error("settings", path, error)])
        refused = True
    else:
        first = Finding(check="settings", subject=path, outcome="well", detail=_described(settings))
        report = DoctorReport(checks=[first, *examine(settings)])
        refused = False
    if as_json:
        terminal.write_document(report)
    else:
        show(report)
    return ExitCode.REFUSED if refused else _exit_code(report)


def show(report: DoctorReport) -> None:
    """Print the findings for a person; the last line tells the counts."""
    from rich.text import Text

    console = terminal.console(sys.stdout)
    for finding in report.checks:
        for line in _lines(finding):
            console.print(line, soft_wrap=True)
    counts = Counter(finding.outcome for finding in report.checks)
    told = ", ".join(f"{counts[outcome]} {outcome}" for outcome in _COLOURS if counts[outcome])
    console.print(Text(f"{terminal.counted(len(report.checks), 'check')}: {told}", "bold"), soft_wrap=True)


def _lines(finding: Finding) -> list[Text]:
    from rich.text import Text

    first, *more = finding.detail.split("\n")
    subject = terminal.harmless_line(f"{finding.check:<11}  {finding.subject}: {first}")
    lines = [Text.assemble((f"{finding.outcome:<5}  ", _COLOURS[finding.outcome]), subject)]
    lines += [Text(f"         {terminal.harmless_line(line.strip())}") for line in more]
    if finding.next_step:
        lines.append(Text(f"       next: {terminal.harmless_line(finding.next_step)}"))
    return lines


def _exit_code(report: DoctorReport) -> ExitCode:
    outcomes = {finding.outcome for finding in report.checks}
    if "away" in outcomes:
        return ExitCode.AWAY
    return ExitCode.SOME_FAILED if "wrong" in outcomes else ExitCode.WELL


def _settings_file() -> str:
    """Which file the settings come from, in words."""
    from huginn import settings

    named = chosen_config() or os.environ.get("HUGINN_CONFIG")
    if named:
        return str(Path(named).absolute())
    try:
        return str(settings.find(Path.cwd()))
    except Refused:
        return settings.FILE_NAME


def _described(settings: Settings) -> str:
    parts = [
        f"{number} {one if number == 1 else more}"
        for number, one, more in (
            (len(settings.forge.repos), "repository", "repositories"),
            (len(settings.forge.discover), "place that lists repositories", "places that list repositories"),
        )
        if number
    ]
    return ", ".join(parts) or "no repositories yet"
