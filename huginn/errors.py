"""The words in which Huginn refuses or gives up.

Three kinds, because they ask three different things of a person: `Refused` (change what you asked for),
`Unavailable` (a part is away: mend it or try again) and `Busy` (another writer is at work: wait). Every error tells
the next step and carries ids only: no message text, no token, no address with a password in it.
The command line turns them into sentences and exit codes (`huginn.cli`).
"""

from __future__ import annotations

import traceback
from typing import Any


class HuginnError(Exception):
    """Base of all errors that a person is meant to read.

    `reason` says what is wrong, `next_step` what to do about it; `str()` gives both.
    """

    def __init__(self, reason: str, *, next_step: str = "") -> None:
        self.reason = reason
        self.next_step = next_step
        super().__init__(f"{reason}; {next_step}" if next_step else reason)


class Refused(HuginnError):
    """What was asked must not or cannot be done as asked. `field` names the setting, parameter or argument."""

    def __init__(self, field: str, reason: str, *, next_step: str = "") -> None:
        self.field = field
        super().__init__(f"{field}: {reason}", next_step=next_step)


class Unavailable(HuginnError):
    """A part that is needed is away.

    `part` is one of `embedder`, `index`, `disk`, `checkpoints`, `upstream`, `homeserver`, `output`,
    `settings`, `serve`.
    """

    def __init__(self, part: str, reason: str, *, next_step: str = "") -> None:
        self.part = part
        super().__init__(f"{part}: {reason}", next_step=next_step)


class Busy(HuginnError):
    """Another process holds the writer's lock or the embedded index, and did not let go in time."""


def document(error: HuginnError) -> dict[str, Any]:
    """The document for `error`: its kind, the field or part it is about, the reason, the next step."""
    about: dict[str, str] = {}
    if isinstance(error, Refused):
        about = {"field": error.field}
    elif isinstance(error, Unavailable):
        about = {"part": error.part}
    reason = error.reason
    for name in about.values():
        reason = reason.removeprefix(f"{name}: ")
    return {"error": {"kind": _kind(error), **about, "reason": reason, "next_step": error.next_step}}


def _kind(error: HuginnError) -> str:
    if isinstance(error, Busy):
        return "busy"
    return "unavailable" if isinstance(error, Unavailable) else "refused"


class Unforeseen(HuginnError):
    """A defect of Huginn: it names the kind of the error and the line, never its text, which may repeat a file's."""


def unforeseen(error: Exception, *, next_step: str) -> Unforeseen:
    """What may be told of an `error` that was caught and that nobody foresaw."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    name = frame.filename.rpartition("/")[2]
    return Unforeseen(f"{type(error).__name__} in {name} line {frame.lineno}", next_step=next_step)
