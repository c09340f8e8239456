"""Calls of the embedded engine: whatever it raises becomes `Unavailable`.

It has no error classes of its own: most are bare `Exception`s, and on damaged files it panics with a `BaseException`.
Its words are not repeated, save for those of opening: they may hold a payload.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from huginn.errors import Unavailable

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


def engine(call: Callable[Arguments, Answer], *arguments: Arguments.args, **named: Arguments.kwargs) -> Answer:
    """Call the engine."""
    try:
        return call(*arguments, **named)
    except BaseException as error:
        if not is_the_engines(error):
            raise
        name = getattr(call, "__name__", "a call")
        raise Unavailable(
            "index",
            f"the embedded engine failed ({name}, {type(error).__name__})",
            next_step="look at 'huginn doctor'; if it stays, delete the folder 'index' of the state folder and refresh",
        ) from None


def is_the_engines(error: BaseException) -> bool:
    """Whether the engine raised this: a bare `Exception`, a `ValueError` of its own, or a panic."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def first_line(error: BaseException) -> str:
    """The first line of what it says, cut short."""
    return str(error).partition("\n")[0][:200]
