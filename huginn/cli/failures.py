"""Errors, told: a sentence with the next step on standard error, or a document on standard output.

In: a `HuginnError`, a usage error of click, or an error of the operating system. Out: the words and the exit code.
There is never a traceback for what a person can mend.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from huginn.cli import terminal
from huginn.cli.exits import ExitCode, code_of
from huginn.errors import HuginnError, Refused, Unavailable, document


def wants_document(arguments: Sequence[str]) -> bool:
    """Whether these arguments ask for JSON. Looked up by hand, since it must be known when parsing them fails too."""
    options = arguments[: list(arguments).index("--")] if "--" in arguments else arguments
    return "--json" in options


def tell(error: HuginnError, *, as_document: bool) -> ExitCode:
    """Tell `error` to whoever reads, and give the exit code for it."""
    if as_document:
        terminal.write_document(document(error))
    else:
        terminal.write(sentence(error), sys.stderr)
    return code_of(error)


def sentence(error: HuginnError) -> str:
    """What is wrong, then what to do. Only the lines of a reason's own list may follow it, and they stand indented."""
    reason = "\n  ".join(terminal.harmless_line(line.strip()) for line in error.reason.split("\n"))
    step = f"\n  next: {terminal.harmless_line(error.next_step)}" if error.next_step else ""
    return f"huginn: {reason}{step}\n"


def from_usage(error: click.ClickException) -> Refused:
    """A mistake in the arguments, as a refusal that names the argument."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "huginn"
    if isinstance(error, click.BadParameter) and error.param is not None and error.param.name is not None:
        field = error.param.name
    else:
        field = getattr(error, "option_name", "arguments")
    reason = error.message if isinstance(error, click.BadParameter) and error.message else error.format_message()
    reason = reason[:1].lower() + reason[1:].rstrip(".")
    return Refused(field, reason, next_step=f"see '{command} --help'")


def from_system(error: OSError) -> Unavailable:
    """An error of the operating system that no part has given a better name to."""
    where = f" {error.filename}" if error.filename else ""
    return Unavailable(
        "disk", f"cannot use{where}: {error.strerror or error}", next_step="check the path and its rights"
    )


def output_lost(error: terminal.OutputLost) -> Unavailable:
    """Standard output cannot be written: what was asked for may be done, but the answer is lost."""
    reason = f"cannot be written: {error.strerror or error}"
    return Unavailable("output", reason, next_step="make room, or send it elsewhere")
