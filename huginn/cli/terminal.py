"""What reaches the terminal: text from outside made harmless, consoles, documents, a reader that has gone.

In: texts, paths, names and reasons that somebody else wrote; documents. Out: characters on standard output or error.
The rules here: nothing that comes from outside can move the cursor, colour, hide, reorder or link anything, or pass for
a line of Huginn's own; rich markup is never read from data; a pipe gets no colour, no width and no link; a reader that
has gone away is no error.
"""

from __future__ import annotations

import io
import json
import os
import sys
from typing import TYPE_CHECKING, Any, TextIO

from huginn.harmless import harmless, harmless_line, is_safe_link

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.console import Console

__all__ = [
    "OutputLost",
    "console",
    "counted",
    "harmless",
    "harmless_line",
    "is_safe_link",
    "prepare_streams",
    "require_output",
    "takes_links",
    "write",
    "write_document",
]

# The width of a pipe: wide enough that no table is ever wrapped or cut.
_PIPE_WIDTH = 100_000
_TERMINALS_WITHOUT_LINKS = ("", "dumb", "linux", "unknown")


class OutputLost(OSError):
    """Standard output takes nothing more, and not because its reader has gone."""


def console(stream: TextIO) -> Console:
    """A console on `stream`: colour on a terminal only (not with NO_COLOR), no markup, no highlights guessed."""
    from rich.console import Console

    class QuietConsole(Console):
        def print(self, *objects: Any, **options: Any) -> None:
            try:
                super().print(*objects, **options)
            except OSError as error:
                self.quiet = True
                _cannot_write(stream, error)

        def on_broken_pipe(self) -> None:
            self.quiet = True
            _reader_has_gone(stream)

    is_terminal = stream.isatty()
    return QuietConsole(
        file=stream,
        force_terminal=is_terminal,
        width=None if is_terminal else _PIPE_WIDTH,
        markup=False,
        highlight=False,
        emoji=False,
    )


def takes_links(of: Console) -> bool:
    """Whether the terminal behind a console may be given links (OSC 8)."""
    return of.is_terminal and os.environ.get("TERM", "") not in _TERMINALS_WITHOUT_LINKS


def counted(number: int, word: str) -> str:
    """`1 hit`, `2 hits`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def write_document(document: BaseModel | dict[str, Any]) -> None:
    """Print one JSON document on standard output, in ASCII, so that it is harmless for a terminal too."""
    values = document if isinstance(document, dict) else document.model_dump(mode="json")
    write(json.dumps(values, indent=2) + "\n", sys.stdout)


def write(text: str, stream: TextIO) -> None:
    """Write plain text of Huginn's own, or text that was made harmless.

    Raises `OutputLost` when standard output cannot be written. What standard error does not take is lost: there is no
    other place to tell it, and the exit code stands.
    """
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        _reader_has_gone(stream)
    except OSError as error:
        _cannot_write(stream, error)


def require_output() -> None:
    """Raise `OutputLost` when standard output holds something, such as a help text by click, that it cannot write."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _cannot_write(sys.stdout, error)


def prepare_streams() -> None:
    """Have all three streams, and let a character that an encoding lacks be written as an escape, not end the command.

    A stream that whoever started the command has closed leads nowhere. Its descriptor is taken too, so that no file of
    Huginn's gets its number and whatever is printed.
    """
    if sys.stdin is None:
        sys.stdin = _nowhere("r")
    if sys.stdout is None:
        sys.stdout = _nowhere("w")
    if sys.stderr is None:
        sys.stderr = _nowhere("w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _nowhere(mode: str) -> TextIO:
    """The null device, at the lowest free descriptor: that of the stream, as they are opened in their order."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    os.set_inheritable(descriptor, True)
    return io.TextIOWrapper(io.FileIO(descriptor, mode), encoding="utf-8")


def _cannot_write(stream: TextIO, error: OSError) -> None:
    _reader_has_gone(stream)  # or the end of the process would try once more, and fail
    if stream is not sys.stderr:
        raise OutputLost(error.errno, error.strerror) from None


def _reader_has_gone(stream: TextIO) -> None:
    """Send what is still written nowhere: the work goes on, and its exit code stands."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
