"""The program: its commands, and what becomes of whatever they raise.

In: arguments. Out: an exit code. Each command is a file of its own and returns its `ExitCode`; errors travel up to
here and are told in one place. Heavy parts are imported by the command that needs them, so that help comes at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from huginn import __version__, logs
from huginn.cli import failures, terminal
from huginn.cli.backfill import backfill
from huginn.cli.chat import chat
from huginn.cli.doctor import doctor
from huginn.cli.exits import ExitCode, manual
from huginn.cli.init import init
from huginn.cli.mcp import mcp
from huginn.cli.options import config_option
from huginn.cli.purge import purge
from huginn.cli.rebuild import rebuild
from huginn.cli.refresh import refresh
from huginn.cli.roster import roster
from huginn.cli.search import search, sources
from huginn.cli.serve import serve
from huginn.cli.status import status
from huginn.cli.verify import verify
from huginn.errors import HuginnError


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    epilog=manual(*ExitCode),
)
@config_option
@click.version_option(__version__, prog_name="huginn")
@click.pass_context
def program(context: click.Context) -> ExitCode:
    """Keep one searchable index of git repositories and Matrix rooms, and ask it with citations.

    \b
    From nothing to the first answer:
      huginn init                          write huginn.toml, then edit it
      huginn doctor                        is everything in its place?
      huginn refresh                       take in what has changed
      huginn search "how are blobs read"   ask
      huginn chat search                   read what was said in the rooms

    Each command has a manual of its own: huginn COMMAND --help.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
    return ExitCode.WELL


_COMMANDS = (
    init, doctor, refresh, backfill, rebuild, search, sources, chat, mcp, purge, roster, serve, status, verify,
)  # fmt: skip
for command in _COMMANDS:
    program.add_command(command)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line with `argv` (else the process's own arguments) and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    terminal.prepare_streams()
    if not sys.stderr.isatty():
        logs.to_machines(sys.stderr)
    as_document = failures.wants_document(arguments)
    try:
        try:
            return _run(arguments, as_document=as_document)
        except terminal.OutputLost as error:
            return failures.tell(failures.output_lost(error), as_document=False)
    except KeyboardInterrupt:
        terminal.write("\nhuginn: stopped\n", sys.stderr)
        return ExitCode.INTERRUPTED


def _run(arguments: list[str], *, as_document: bool) -> int:
    """Run the command, and tell what it ends with; raises `OutputLost` when that cannot be told."""
    try:
        return int(program.main(arguments, prog_name="huginn", standalone_mode=False) or ExitCode.WELL)
    except HuginnError as error:
        return failures.tell(error, as_document=as_document)
    except click.Abort:  # what click makes of Ctrl-C, after it has ended the line
        terminal.write("huginn: stopped\n", sys.stderr)
        return ExitCode.INTERRUPTED
    except click.ClickException as error:
        return failures.tell(failures.from_usage(error), as_document=as_document)
    except terminal.OutputLost:
        raise
    except OSError as error:
        terminal.require_output()
        return failures.tell(failures.from_system(error), as_document=as_document)
    except SystemExit as end:  # click ends so when the reader of a help text has gone, or after shell completion
        return end.code if isinstance(end.code, int) else ExitCode.WELL
