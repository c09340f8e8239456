"""Which rooms are in scope."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ScopedRoom:
    """A room whose messages may be read. `alias` is the canonical one."""

    id: str
    alias: str | None
