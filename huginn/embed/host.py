"""The port to one host of a fleet, and the words in which it fails: they tell the fleet what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from huginn.embed.port import Identity, Vector
from huginn.scrub import Clean


class HostAway(Exception):
    """The host cannot serve now: ask another. `for_long`: trying it again at once is no use."""

    def __init__(self, reason: str, *, for_long: bool = False) -> None:
        super().__init__(reason)
        self.for_long = for_long


class ModelMissing(HostAway):
    """The host answers, and has no model of that name."""


class HostBusy(Exception):
    """The host is there, and its queue is full: wait."""


@dataclass(frozen=True)
class Facts:
    """What a host says of itself. `context`: how many tokens its model takes at once; None: it does not say."""

    identity: Identity
    context: int | None
    version: str


class Host(Protocol):
    """One host with one model. May be called from several threads."""

    @property
    def name(self) -> str:
        """How it is called in messages: never with a password."""
        ...

    def look(self) -> Facts:
        """Who its model is. Raises `HostAway`, `ModelMissing`."""
        ...

    def digest(self) -> str:
        """The digest of the model behind the name, as it is now. Raises `HostAway`, `ModelMissing`."""
        ...

    def embed(self, texts: Sequence[Clean], *, is_query: bool = False) -> Sequence[Vector]:
        """One vector for each text, unchecked. Raises `HostBusy`, `HostAway`, `BatchFailed`."""
        ...
