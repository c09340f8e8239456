"""Opening the index: for a refresh (made if there is none, or anew beside the old one) and for a search.

It is on the server that the settings name, else in the embedded engine. A server that is away is an error: nothing
local ever takes its place.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from huginn.embed.port import Identity
from huginn.embed.probe import Witness
from huginn.errors import Refused, Unavailable
from huginn.index.folder import Folders
from huginn.index.label import Label
from huginn.index.port import Index, Reader
from huginn.index.shelf import Choice, Collection, Shelf, choose, outlived
from huginn.report import now
from huginn.settings import Settings

if TYPE_CHECKING:
    from huginn.index.server_shelf import ServerShelf


class NoIndex(Unavailable):
    """Nothing has been indexed yet."""

    def __init__(self) -> None:
        super().__init__("index", "there is none yet", next_step="run 'huginn refresh'")


def open_shelf(settings: Settings, *, is_searching: bool = False) -> Shelf:
    """Where the collections of these settings are. `is_searching`: somebody waits, so a server is given less time."""
    if settings.index.url is not None:
        return _shelf_on_server(settings, is_searching=is_searching)
    return Folders(settings.state, settings.index.min_free_bytes)


def server_version(settings: Settings) -> str | None:
    """The version of the Qdrant server, by its own word; None for the embedded engine. Raises `Unavailable`."""
    return _shelf_on_server(settings, is_searching=True).version() if settings.index.url is not None else None


def _shelf_on_server(settings: Settings, *, is_searching: bool) -> ServerShelf:
    if importlib.util.find_spec("qdrant_client") is None:
        raise Refused(
            "index.url", "the client for a Qdrant server is not installed", next_step="pip install 'huginn[server]'"
        )
    # Loaded only when the settings name a server: the client takes a second or two to load.
    from huginn.index.server_retry import REFRESHING, SEARCHING  # noqa: PLC0415 - the client takes a second to load
    from huginn.index.server_shelf import ServerShelf  # noqa: PLC0415 - as above

    return ServerShelf(settings, SEARCHING if is_searching else REFRESHING)


@dataclass
class Opened:
    """What a refresh works on: the collection it writes, and the others, from which text must go as well.

    `replaces`: the current collection, if `target` is building beside it. Others are opened when they are first needed.
    """

    shelf: Shelf
    collection: Collection
    target: Index
    replaces: Collection | None
    others: list[Collection]
    _stack: ExitStack
    _wait: float
    _open: dict[str, Index] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def other(self, collection: Collection) -> Index:
        """One of the others, opened and kept open until the end."""
        with self._lock:
            if collection.name not in self._open:
                self._open[collection.name] = _closing(self._stack, self.shelf.open(collection, wait=self._wait))
            return self._open[collection.name]

    def all_others(self) -> list[Index]:
        """All of the others."""
        return [self.other(collection) for collection in self.others]

    def with_vectors_of(self, identity: Identity) -> Index | None:
        """The index that is replaced, if its vectors are of this model: they can be carried over."""
        if self.replaces is None or self.replaces.label.identity != identity or self._has_other_vectors(self.replaces):
            return None
        return self.other(self.replaces)

    def open_ones(self) -> list[Index]:
        """The target, and those of the others that have been opened."""
        return [self.target, *self._open.values()]

    def build_graph(self) -> str | None:
        """Have the target searched by a graph if it is large, once it is complete. Gives what is worth telling."""
        return self.target.build_graph() if self.replaces is None else None

    def switch(self) -> None:
        """Put the target into use. What was current is retired, or goes at once if it holds what is masked now, or
        vectors that nobody can ask any more.
        """
        self.shelf.switch(self.collection)
        replaced = self.replaces
        self.replaces = None
        if replaced is None:
            return
        if replaced.label.scrub != self.collection.label.scrub or self._has_other_vectors(replaced):
            if replaced.name in self._open:
                self._open.pop(replaced.name).close()
            self.shelf.drop(replaced)
            self.others.remove(replaced)

    def _has_other_vectors(self, replaced: Collection) -> bool:
        """Whether it was filled by the same model when that gave other vectors."""
        same_model = replaced.label.identity == self.collection.label.identity
        return same_model and not replaced.witness.fits(self.target.witness)


@contextmanager
def open_for_refresh(
    settings: Settings, label: Label, *, wait: float, rebuild: Witness | None = None
) -> Iterator[Opened]:
    """Open what a refresh has to write to. Only under the writer's lock.

    A current collection with another label goes on answering, and a new one is built beside it; unless the settings say
    `rebuild = "ask"` and nobody has asked: then `Refused`. `rebuild`: somebody has asked, and the embedder is as this
    witness says; where the index does not fit it, a new one is built even under the same label.
    """
    shelf = open_shelf(settings)
    current = shelf.current()
    for unneeded in outlived(current, shelf.others(), label, now() - timedelta(hours=settings.index.keep_hours)):
        shelf.drop(unneeded)
    if rebuild is not None:
        _drop_unfit(shelf, label, rebuild)
    choice = choose(current, shelf.others(), label)
    if rebuild is not None and current is not None and choice.target == current and not current.witness.fits(rebuild):
        choice = Choice(None, is_building=True)
    if choice.is_building and settings.index.rebuild == "ask" and rebuild is None:
        assert current is not None
        raise Refused(
            "index",
            f"it was made by other rules or another model: {'; '.join(current.label.differences(label))}",
            next_step="'huginn rebuild --all' builds it anew beside the old one, which goes on answering",
        )
    for unwanted in choice.drop:
        shelf.drop(unwanted)
    target = choice.target or shelf.create(label)
    if not choice.is_building and target != current:
        shelf.switch(target)
    with ExitStack() as stack:
        index = _closing(stack, shelf.open(target, wait=wait))
        if rebuild is not None and index.witness.probe is None:
            index.keep_witness(rebuild)
        others = [other for other in (current, *shelf.others()) if other and other.name != target.name]
        others = list({other.name: other for other in others}.values())
        replaces = current if choice.is_building else None
        yield Opened(shelf, target, index, replaces, others, stack, wait)


@contextmanager
def open_all(settings: Settings, *, wait: float) -> Iterator[list[Index]]:
    """Every collection that there is, whatever its label, the current one first. Only under the writer's lock.

    For what must disappear whatever a refresh would do: nothing is made, dropped or switched.
    """
    shelf = open_shelf(settings)
    collections = {collection.name: collection for collection in (shelf.current(), *shelf.others()) if collection}
    with ExitStack() as stack:
        yield [_closing(stack, shelf.open(collection, wait=wait)) for collection in collections.values()]


def open_for_search(settings: Settings, *, wait: float) -> Reader:
    """The index in use, for reading, whatever its label. Raises `NoIndex` when there is none."""
    shelf = open_shelf(settings, is_searching=True)
    return shelf.read(_in_use(shelf), wait=wait)


def label_in_use(settings: Settings) -> Label:
    """The label of the index in use, without opening it. Raises `NoIndex` when there is none."""
    return _in_use(open_shelf(settings, is_searching=True)).label


def labels(settings: Settings) -> list[Label]:
    """The labels of all collections that there are, the one in use first; nothing is opened."""
    shelf = open_shelf(settings)
    current = shelf.current()
    return [collection.label for collection in (current, *shelf.others()) if collection]


def _drop_unfit(shelf: Shelf, label: Label, witness: Witness) -> None:
    """Drop what is not in use and holds vectors of this model that cannot stand beside those of now."""
    for other in shelf.others():
        if other.label.identity == label.identity and not other.witness.fits(witness):
            shelf.drop(other)


def _in_use(shelf: Shelf) -> Collection:
    collection = shelf.current()
    if collection is None:
        raise NoIndex
    return collection


def _closing(stack: ExitStack, index: Index) -> Index:
    stack.callback(index.close)
    return index
