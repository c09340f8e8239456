"""A run whose embedder is away from the beginning: what needs no embedding is done all the same.

In: an embedder, and the labels of the indexes that there are. Out: the embedder, or a stand-in for it that has the
identity which the index was made with, and raises the same `Unavailable` for every text. Without an index of that
model there is nothing to be done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol

from huginn.embed.port import Embedder, Identity, Vector
from huginn.errors import Unavailable
from huginn.scrub import Clean


class _Labelled(Protocol):
    @property
    def identity(self) -> Identity: ...


def reachable(embedder: Embedder, labels: Sequence[_Labelled]) -> Embedder:
    """The embedder if it tells who it is. Raises `Refused`; `Unavailable` only if there is nothing to be done."""
    try:
        _ = embedder.identity
    except Unavailable as error:
        known = [label.identity for label in labels if label.identity.model == embedder.model]
        if not known:
            raise
        return Away(known[0], error)
    return embedder


@dataclass(frozen=True)
class Away:
    """See `huginn.embed.port.Embedder`: one that is away for the whole of a run."""

    identity: Identity
    _error: Unavailable
    software: Sequence[str] = ()
    batch_size: int = 64
    batch_characters: int = 1 << 30
    width: int = 1
    many: int = 1 << 30

    @property
    def model(self) -> str:
        """The name of the model."""
        return self.identity.model

    def fitted(self, text: Clean, *, surely: bool = False) -> Clean:
        """The whole text: nobody can be asked."""
        return text

    def embed(self, texts: Sequence[Clean]) -> Sequence[Vector]:
        """Never."""
        self._raise()

    def embed_query(self, texts: Sequence[Clean]) -> Sequence[Vector]:
        """Never."""
        self._raise()

    def probe(self) -> Vector:
        """Never."""
        self._raise()

    def ahead(self) -> NoReturn:
        """Never."""
        self._raise()

    def _raise(self) -> NoReturn:
        raise Unavailable("embedder", self._error.reason.removeprefix("embedder: "), next_step=self._error.next_step)
