"""`huginn status`: how every source stands, from what Huginn has noted; nothing is fetched for it.

In: how old a last success may be. Out: the status document, or a table with the reasons under it, and exit code 5 when
a source is stale.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from huginn.cli import duration, terminal
from huginn.cli.exits import ExitCode, manual
from huginn.cli.options import config_option, json_option, load_settings

if TYPE_CHECKING:
    from huginn.report import ItemStatus, SourceStatus, StatusReport

_STATES = ("well", "new", "stale", "failing", "refused")
_COLOURS = {"well": "", "refused": "dim"}


@click.command(
    short_help="Tell how each source stands, and since when.",
    epilog=manual(ExitCode.WELL, ExitCode.REFUSED, ExitCode.AWAY, ExitCode.STALE),
)
@click.option(
    "--max-age",
    callback=duration.read,
    metavar="AGE",
    help="How old the last success of a source may be (90s, 15m, 2h, 3d, 1h30m); an older one is stale.",
)
@click.option("-v", "--verbose", is_flag=True, help="Name each path that was skipped or failed, and since when.")
@click.option(
    "--metrics",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also write the figures for Prometheus into this file, such as /var/lib/node_exporter/huginn.prom.",
)
@json_option
@config_option
def status(max_age: timedelta | None, verbose: bool, metrics: Path | None, as_json: bool) -> ExitCode:
    """Tell how each source stands: its cursor, its points, its last success, what was skipped or failed and why.

    Sources are the repositories of the settings and the rooms of the reader; a room that must not be read is told as
    refused, with the reason.

    Nothing is fetched, and nothing is written but the file of --metrics. With --max-age the command ends with code 5
    when a source has not been refreshed for longer, or never: fit for a monitor. A source that fails but is young
    enough is told, not signalled.

    \b
    Examples:
      huginn status
      huginn status -v
      huginn status --max-age 2h > /dev/null || echo "look at Huginn"
      huginn status --json | jq '.sources[] | {source, age_s, reason}'
      huginn status --metrics /var/lib/node_exporter/huginn.prom > /dev/null
    """
    settings = load_settings()
    if metrics is not None:
        from huginn.index.disk import replace_file
        from huginn.metrics import metrics as figures

        replace_file(metrics, figures(settings))
    from huginn.status import status as look

    report = look(settings, max_age=max_age)
    if as_json:
        terminal.write_document(report)
    else:
        show(report, verbose=verbose)
    return ExitCode.STALE if any(source.stale for source in report.sources) else ExitCode.WELL


def show(report: StatusReport, *, verbose: bool) -> None:
    """Print the status for a person; the last line tells the counts."""
    from rich.table import Table
    from rich.text import Text

    console = terminal.console(sys.stdout)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("source", overflow="fold")
    table.add_column("corpus", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("cursor", no_wrap=True)
    for heading in ("points", "age", "skipped", "failed"):
        table.add_column(heading, justify="right", no_wrap=True)
    for source in report.sources:
        state = state_of(source)
        table.add_row(
            Text(terminal.harmless_line(f"{source.name} {source.source}" if source.name else source.source)),
            source.corpus,
            Text(state, _COLOURS.get(state, "red")),
            Text(terminal.harmless_line((source.cursor or "-")[:7])),
            "-" if source.points is None else str(source.points),
            "-" if source.age_s is None or source.age_s < 0 else duration.shown(source.age_s),
            str(len(source.skipped)),
            str(len(source.failed)),
        )
    if report.sources:
        console.print(table)
    for line in _remarks(report, verbose=verbose):
        console.print(Text(line), soft_wrap=True)
    console.print(Text(counts_of(report), "bold"), soft_wrap=True)


def state_of(source: SourceStatus) -> str:
    """One word for a source: `failing` before `stale`, since it says why; `refused` is a room that is out of scope."""
    if source.out_of_scope:
        return "refused"
    if source.failing_since is not None or source.reason is not None:
        return "failing"
    if source.stale:
        return "stale"
    return "well" if source.last_success is not None else "new"


def counts_of(report: StatusReport) -> str:
    """The last line: how many sources are in which state, and what the index holds."""
    states = Counter(state_of(source) for source in report.sources)
    told = ", ".join(f"{states[state]} {state}" for state in _STATES if states[state])
    skipped = sum(len(source.skipped) for source in report.sources)
    failed = sum(len(source.failed) for source in report.sources)
    points = "no index yet" if report.index.points is None else terminal.counted(report.index.points, "point")
    sources = terminal.counted(len(report.sources), "source") + (f": {told}" if told else "")
    return f"{sources}; {points}; {terminal.counted(skipped, 'path')} skipped, {failed} failed"


def _remarks(report: StatusReport, *, verbose: bool) -> Iterator[str]:
    for source in report.sources:
        name = terminal.harmless_line(source.name or source.source)
        if source.reason:
            since = f"failing since {_moment(source.failing_since)}: " if source.failing_since else ""
            yield f"{name}: {since}{terminal.harmless_line(source.reason)}"
        elif source.failing_since is not None:
            yield f"{name}: failing since {_moment(source.failing_since)}"
        if source.last_success is not None and source.age_s is not None and source.age_s < 0:
            yield f"{name}: its last success lies in the future, at {_moment(source.last_success)}; refresh it again"
        kinds = (
            ("skipped", source.skipped),
            ("failed", source.failed),
            ("words only", source.words_only),
            ("shortened", source.shortened),
        )
        for kind, items in kinds:
            if items:
                yield f"{name}: {kind}: {_by_reason(items)}"
            for item in items if verbose else ():
                words = f"{item.item}: {item.reason}, since {_moment(item.since)}"
                yield f"  {terminal.harmless_line(words)}"
    if report.embedder is not None:
        yield f"embedder: {terminal.harmless_line(report.embedder.model)}, {report.embedder.dimensions} dimensions"


def _by_reason(items: list[ItemStatus]) -> str:
    counts = Counter(item.reason for item in items).most_common()
    return ", ".join(f"{terminal.harmless_line(reason)} {count}" for reason, count in counts)


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"
