"""Kills between any two steps: every effect of a refresh goes through here and can be the last one.

A `Fuse` burns down by one before and after each effect, and raises `Killed` when it is spent. `Killed` is no
`Exception`, so that nothing in the product can catch it and tidy up.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import huginn.chat.intake
import huginn.chat.reading
import huginn.forge.intake
import huginn.index.opening
import huginn.purging
import huginn.run

EFFECTS = {
    "begin", "advance", "forget", "record", "fetch",  # checkpoints and mirror
    "upsert", "update", "remove", "acknowledge",  # the index's writer
    "embed", "probe", "keep_witness", "create", "switch", "drop",
    "note", "look_again", "move_token", "keep",  # what is kept of rooms
    "add", "reconcile",  # the purge record
    "mark_for_rewriting", "rewrite_if_marked",
}  # fmt: skip


class Killed(BaseException):
    """The process is no more."""


class Fuse:
    """Burns down with each effect. `burnt` counts, so that a run without a kill tells how many there are."""

    def __init__(self, length: int | None = None) -> None:
        self.length = length
        self.burnt = 0

    def burn(self) -> None:
        if self.length is not None and self.burnt >= self.length:
            raise Killed
        self.burnt += 1


class Fused:
    """Stands in front of a part, and burns the fuse before and after each of its effects."""

    def __init__(self, part: Any, fuse: Fuse) -> None:
        self._part, self._fuse = part, fuse

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._part, name)
        if name in ("writer", "open"):
            return lambda *arguments, **named: Fused(attribute(*arguments, **named), self._fuse)
        if name not in EFFECTS:
            return attribute

        def effect(*arguments: Any, **named: Any) -> Any:
            self._fuse.burn()
            result = attribute(*arguments, **named)
            self._fuse.burn()
            return result

        return effect


@contextmanager
def fused(fuse: Fuse) -> Iterator[Fuse]:
    """Lay the fuse through everything that a run works with."""

    def around(make: Any) -> Any:
        return lambda *arguments, **named: Fused(make(*arguments, **named), fuse)

    homes = (
        ("Checkpoints", huginn.run),
        ("open_embedder", huginn.run),
        ("open_shelf", huginn.index.opening),
        ("Mirror", huginn.forge.intake),
        ("RoomNotes", huginn.chat.intake),
        ("KnownEvents", huginn.chat.reading),
        ("Checkpoints", huginn.purging),
        ("open_embedder", huginn.purging),
        ("PurgeRecord", huginn.purging),
        ("PurgeRecord", huginn.run),
    )
    with ExitStack() as stack:
        for name, home in homes:
            stack.enter_context(patch.object(home, name, around(getattr(home, name))))
        yield fuse
