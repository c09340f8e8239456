"""The exit codes of the command line, and what they mean: the one place where they are decided on.

In: nothing. Out: the codes, their words for help texts and the reference, and the code of an error.
"""

from __future__ import annotations

from enum import IntEnum

from huginn.errors import Busy, HuginnError, Unavailable


class ExitCode(IntEnum):
    """What the end of a command tells the shell."""

    WELL = 0
    SOME_FAILED = 1
    REFUSED = 2
    AWAY = 3
    BUSY = 4
    STALE = 5
    INTERRUPTED = 130


MEANING = {
    ExitCode.WELL: "all well",
    ExitCode.SOME_FAILED: "some sources failed or were refused; the others are done",
    ExitCode.REFUSED: "refused: the usage, the settings or the query",
    ExitCode.AWAY: "a part that is needed is away: embedder, index, checkpoints, disk",
    ExitCode.BUSY: "another writer is at work",
    ExitCode.STALE: "a source is stale",
    ExitCode.INTERRUPTED: "interrupted with Ctrl-C",
}


def code_of(error: HuginnError) -> ExitCode:
    """The exit code of a command that ends with `error`."""
    if isinstance(error, Busy):
        return ExitCode.BUSY
    return ExitCode.AWAY if isinstance(error, Unavailable) else ExitCode.REFUSED


def manual(*codes: ExitCode, **other_words: str) -> str:
    """The paragraph on exit codes of a help text; `other_words` replace a meaning, by the code's name in lower case."""
    lines = [f"  {code.value:<4} {other_words.get(code.name.lower(), MEANING[code])}" for code in codes]
    return "\b\nExit codes:\n" + "\n".join(lines)
