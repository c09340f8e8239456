"""All collections of one place, and which of them is to be written: the rules of building anew beside.

Words: the *current* collection answers searches. One that is *building* has another label and is filled beside it, run
by run. A *retired* one was current before the last switch, and is kept for a while in case somebody goes back.

A `Shelf` knows where collections lie (folders, or a server); `choose` decides, and is pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from huginn.embed.probe import Witness
from huginn.index.label import Label
from huginn.index.port import Index, Reader


@dataclass(frozen=True)
class Collection:
    """A collection that is described: `name` is the shelf's own, `retired` since when it has not been current.

    `witness` is what it keeps of the model that fills it, as it was when this was read.
    """

    name: str
    id: str
    label: Label
    retired: datetime | None = None
    witness: Witness = field(default_factory=Witness, compare=False)


class Shelf(Protocol):
    """Where the collections are. Only a holder of the writer's lock changes anything."""

    def current(self) -> Collection | None:
        """The collection in use."""
        ...

    def others(self) -> list[Collection]:
        """Those that are building, and those that are retired."""
        ...

    def create(self, label: Label) -> Collection:
        """Make a new, empty collection, with its indexes and its label; it is not in use."""
        ...

    def open(self, collection: Collection, *, wait: float) -> Index:
        """Open a collection to write. Raises `Busy` when somebody else holds it for longer than `wait` seconds."""
        ...

    def read(self, collection: Collection, *, wait: float) -> Reader:
        """Open a collection to read, through its holder if it has one. Raises `Busy` as `open` does."""
        ...

    def switch(self, collection: Collection) -> None:
        """Put a collection into use, in one step; the one before it is retired."""
        ...

    def drop(self, collection: Collection) -> None:
        """Delete a collection that is not current."""
        ...


@dataclass(frozen=True)
class Choice:
    """What a refresh is to write to.

    `target` None: a new collection is to be made. `is_building`: it is not the current one, and is to be put into use
    when it is full. `drop`: unfinished collections of labels that nobody wants any more.
    """

    target: Collection | None
    is_building: bool
    drop: tuple[Collection, ...] = ()


def choose(current: Collection | None, others: Sequence[Collection], label: Label) -> Choice:
    """Go on with the collection that has the wanted label; else a new one is needed.

    One that is building under the label of the current one was asked for, and goes on.
    Going back to the label of the current one ends the building, and costs nothing; a retired one is filled up again.
    """
    unwanted = tuple(other for other in others if other.retired is None and other.label != label)
    asked = [other for other in others if other.retired is None and other.label == label]
    if current is not None and current.label == label and not asked:
        unfinished = tuple(other for other in others if other.retired is None)
        return Choice(current, is_building=False, drop=unfinished)
    ready = asked or [other for other in others if other.label == label]
    if ready:
        return Choice(ready[0], is_building=current is not None, drop=unwanted)
    return Choice(None, is_building=current is not None, drop=unwanted)


def outlived(
    current: Collection | None, others: Sequence[Collection], label: Label, oldest: datetime
) -> list[Collection]:
    """The retired collections that need not be kept: since before `oldest`, or holding what is masked by now.

    `label` is the one wanted now: the current collection goes on answering under its own until the new one is complete.
    """
    scrubs = {label.scrub} | ({current.label.scrub} if current is not None else set())
    return [
        other
        for other in others
        if other.retired is not None and (other.retired < oldest or scrubs != {other.label.scrub})
    ]
