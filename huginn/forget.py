"""Forgetting a source: all its points in every index on disk, and all that is noted of it."""

from __future__ import annotations

from collections.abc import Collection

from huginn.index.port import Place
from huginn.parts import Parts
from huginn.report import Corpus


def forget(parts: Parts, corpus: Corpus, source: str) -> int:
    """Forget a source, in each index with an intent before and the receipt after; returns how many points are gone.

    The count is that of the index that is written to.
    """
    removed = []
    for index in (parts.index, *parts.others()):
        parts.checkpoints.begin(index.id, corpus, source)
        ids = [point.id for point in index.stored(Place(corpus=corpus, sources=[source]), ["source"])]
        writer = index.writer(corpus, source)
        writer.remove(ids)
        parts.checkpoints.forget(writer.acknowledge())
        removed.append(len(ids))
    return removed[0]


def empty(parts: Parts, corpus: Corpus, sources: Collection[str]) -> None:
    """Before these sources are taken in from the beginning: forget what is held of them.

    How much of each is gone is in `parts.emptied`. A second try in the same run finds them without a cursor.
    """
    for source in known_sources(parts, corpus).intersection(sources):
        parts.opened.add(source)
        parts.emptied[source] = forget(parts, corpus, source)


def known_sources(parts: Parts, corpus: Corpus) -> set[str]:
    """Every source of which an index on disk holds points, or the checkpoint store a cursor."""
    known = set(parts.points) | set(parts.ledger.cursors)
    for other in parts.others():
        known |= other.sources(corpus).keys()
    return known
