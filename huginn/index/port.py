"""The port to the store of points.

Words: a *point* is an id, a payload, a vector of meaning (or none) and a vector of words. A *receipt* says that the
store has acknowledged all that was written for one source; only an index makes one, and only `checkpoints` takes it.
A *place* says which points are meant: the filter of every question and count.

An index never embeds and never decides; it stores what it is given, or raises. Text comes in as `Clean` only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from huginn.embed.port import Vector
from huginn.embed.probe import Witness
from huginn.index.label import Label
from huginn.report import Corpus
from huginn.scrub import Clean

Payload = Mapping[str, object]


@dataclass(frozen=True)
class Place:
    """Which points are meant: every field that is given must hold; of several values in one field, any.

    None means anything goes, an empty sequence that nothing does. `within` are paths of files, or of folders for
    everything under them; `events` and `senders` are those of messages, of which a window holds several; `commits` are
    the beginnings of commits' ids. `after` is inclusive, `before` exclusive; in the corpus `chat` every window that
    reaches into the span is meant.
    """

    corpus: Corpus | None = None
    sources: Sequence[str] | None = None
    paths: Sequence[str] | None = None
    within: Sequence[str] | None = None
    text_sha256: Sequence[str] | None = None
    embedded_sha256: Sequence[str] | None = None
    ids: Sequence[str] | None = None
    events: Sequence[str] | None = None
    senders: Sequence[str] | None = None
    aliases: Sequence[str] | None = None
    commits: Sequence[str] | None = None
    after: datetime | None = None
    before: datetime | None = None


@dataclass(frozen=True)
class NewPoint:
    """A point to write. `embedded` is what both vectors are of; `vector` None: the embedder refuses this text."""

    id: str
    payload: Payload
    embedded: Clean
    vector: Vector | None


@dataclass(frozen=True)
class StoredPoint:
    """A point as the index holds it. `has_vector`: whether it can be found by meaning."""

    id: str
    payload: Payload
    has_vector: bool


@dataclass(frozen=True)
class Receipt:
    """The store's acknowledgement of all that was written for a source; `points`: how many it holds of it now."""

    index_id: str
    corpus: Corpus
    source: str
    points: int
    _made_by_index: object = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        if self._made_by_index is not RECEIPT_KEY:
            raise TypeError("receipts come from an index alone")


RECEIPT_KEY = object()
"""What an adapter signs its receipts with: nobody else may touch it."""


@dataclass(frozen=True)
class Ask:
    """One ranked list that is asked for: by meaning or by words, the best `limit` points of `place`."""

    by: Vector | Clean
    place: Place
    limit: int


@dataclass(frozen=True)
class Found:
    """One entry of a ranked list: cosine for a list by meaning, BM25 for a list by words."""

    id: str
    score: float


class Reader(Protocol):
    """The side that searches and status use."""

    @property
    def id(self) -> str:
        """The random id of this collection: cursors are worth nothing in another."""
        ...

    @property
    def label(self) -> Label:
        """The label the collection was made with."""
        ...

    def count(self, place: Place) -> int:
        """How many points are in `place`."""
        ...

    def sources(self, corpus: Corpus) -> dict[str, int]:
        """Every source that has points in the index, with their number."""
        ...

    def stored(self, place: Place, fields: Sequence[str] | None = None) -> Iterator[StoredPoint]:
        """Every point of `place`, in order of id, with its payload or only some `fields` of it."""
        ...

    def query(self, asks: Sequence[Ask]) -> list[list[Found]]:
        """One ranked list for each ask, in one batch: best first, equal scores by id."""
        ...

    def fetch(self, ids: Sequence[str]) -> dict[str, Payload]:
        """The payloads of these points; an id that is not there is left out."""
        ...

    def close(self) -> None:
        """Let go of the collection."""
        ...


class PagedReader(Reader, Protocol):
    """A reader whose listing can go on after a point."""

    def stored(
        self, place: Place, fields: Sequence[str] | None = None, *, after: str | None = None
    ) -> Iterator[StoredPoint]:
        """Every point of `place` behind `after`, in order of id."""
        ...


class Writer(Protocol):
    """Writes the points of one source. Every call returns after the store has acknowledged it, or raises."""

    def upsert(self, points: Sequence[NewPoint]) -> Mapping[str, str]:
        """Write points whole, new or in place of those with the same ids.

        Gives the ids that the store cannot take, each with the reason; all others are stored. What it held under such
        an id before is still there.
        """
        ...

    def update(self, payloads: Mapping[str, Payload]) -> Mapping[str, str]:
        """Replace the payloads of points that are there; their vectors stay. Gives what it cannot take, as `upsert`."""
        ...

    def remove(self, ids: Collection[str]) -> None:
        """Remove points by id."""
        ...

    def acknowledge(self) -> Receipt:
        """Make all of it durable and give the receipt. Raises if a write before it has failed."""
        ...


class Index(Reader, Protocol):
    """The whole of it: what a refresh uses."""

    @property
    def witness(self) -> Witness:
        """What is kept beside the label of the model that fills the collection."""
        ...

    def keep_witness(self, witness: Witness) -> None:
        """Keep another one, durably, without a change of the label."""
        ...

    def vectors(self, embedded_sha256: Sequence[str]) -> dict[str, Vector]:
        """The vectors that the index holds already for these embedded texts."""
        ...

    def writer(self, corpus: Corpus, source: str) -> Writer:
        """Begin to write the points of one source."""
        ...

    def build_graph(self) -> str | None:
        """Have a large index searched by a graph, where the store does not see to it by itself; may take minutes.

        Only when nothing more is written before the index is closed. Gives what is worth telling, if anything.
        """
        ...

    def mark_for_rewriting(self) -> None:
        """Note durably that what is removed from it must be in no file of it any more.

        Raises `Refused` where the files are not Huginn's own.
        """
        ...

    def rewrite_if_marked(self) -> bool:
        """Write all files of the index anew, if that was noted; gives whether it was.

        Only when nothing more is written before the index is closed. Raises `Unavailable`; the note stays then.
        """
        ...
