"""Carries out plans: embeds what is missing, and writes. The same for every corpus.

In: plans, one after the other, and the writer of one source. Out: a `Tally` of what was done. What must disappear goes
first; then new points come before stale ones go. When the embedder is away or refused, what must disappear and what
nothing takes the place of is removed all the same, and what is only to be replaced stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from huginn.checkpoints import Item
from huginn.embed import Culprit, Embedder, Shortened, Vector, embed_all
from huginn.errors import HuginnError, Refused, Unavailable
from huginn.index.port import NewPoint, Writer
from huginn.parts import Parts
from huginn.plan import Plan, WantedPoint
from huginn.scrub import Clean

PIECE = 256
"""How many points a plan writes at least, if there are so many: its last place is taken in whole."""

AHEAD = 1
"""How many such pieces are on their way: so many times `PIECE` texts, and the rest of one place, are embedded again
by the run after one that was killed."""

_SHORTENED = Item("shortened", "longer than the embedder takes: only the beginning is found by meaning")
_WORDS_ONLY = Item("words_only", "refused by the embedder in an earlier run")


@dataclass
class Tally:
    """What was done with one source, in numbers; `items` are the places about which something is to be told.

    `done` tells how far it is: the places whose plans are carried out, or the events that were read.
    """

    items: dict[str, Item] = field(default_factory=dict)
    masked: Counter[str] = field(default_factory=Counter)
    chunks: int = 0
    embedded: int = 0
    reused: int = 0
    written: int = 0
    updated: int = 0
    removed: int = 0
    done: int = 0

    @property
    def told(self) -> dict[str, Any]:
        """The counts of this run, under their names in `huginn.report.SourceReport`."""
        return {
            "chunks": self.chunks,
            "embedded": self.embedded,
            "reused": self.reused,
            "written": self.written,
            "updated": self.updated,
            "removed": self.removed,
            "masked": dict(sorted(self.masked.items())),
        }


def carry_out(plans: Iterable[Plan], writer: Writer, parts: Parts, tally: Tally) -> HuginnError | None:
    """Carry out the plans of one source, and add what was done to `tally`.

    Gives the embedder's error if it was away or refused: then not all is written, and whoever asked raises it when all
    else is done. Raises `Unavailable` when the index fails.
    """
    away: HuginnError | None = None
    for each in plans:
        _remove(writer, each.remove_first, tally)
        if away is None:
            try:
                points = _new_points(each, parts, tally)
            except (Unavailable, Refused) as error:  # refused: the model behind the name is another one now
                away = error
            else:
                _write(writer, points, each, tally)
                continue
        _remove(writer, each.vanished, tally)
    return away


def rehearse(plans: Iterable[Plan], parts: Parts, tally: Tally) -> None:
    """Add to `tally` what `carry_out` would do: nothing is embedded and nothing written."""
    for each in plans:
        known, missing = _texts(each, parts)
        _tell(each, tally)
        _count(each, known.keys(), len(missing), tally)
        tally.removed += len(each.remove_first)


def _texts(each: Plan, parts: Parts) -> tuple[dict[str, Vector], dict[str, Clean]]:
    """Of the texts to write, by digest: the vectors that are there already, and the texts that are to be embedded."""
    texts = {point.payload.embedded_sha256: point.embedded for point in each.write}
    known = _known_vectors(texts.keys(), parts)
    return known, {sha: text for sha, text in texts.items() if sha not in known}


def _known_vectors(embedded_sha256: Collection[str], parts: Parts) -> dict[str, Vector]:
    """Vectors of the same embedded texts under the same model: here, or in the index that this one replaces."""
    known = parts.index.vectors(sorted(embedded_sha256)) if embedded_sha256 else {}
    left = sorted(set(embedded_sha256) - known.keys())
    return {**known, **parts.carry.vectors(left)} if parts.carry and left else known


def _new_points(each: Plan, parts: Parts, tally: Tally) -> list[NewPoint]:
    """The points to write whole, with the vectors that the index holds already or the embedder makes now."""
    _tell(each, tally)
    known, missing = _texts(each, parts)
    answers: Mapping[str, Vector | Shortened | Culprit] = {
        **known,
        **dict(zip(missing, embed_all(parts.embedder, list(missing.values())), strict=True)),
    }
    points = [_new_point(point, answers[point.payload.embedded_sha256], tally) for point in each.write]
    _tell_shortened([*each.write, *each.keep], parts.embedder, tally)
    _count(each, known.keys(), len(missing), tally)
    return points


def _new_point(point: WantedPoint, answer: Vector | Shortened | Culprit, tally: Tally) -> NewPoint:
    vector: Vector | None
    if isinstance(answer, Culprit):
        tally.items[point.place] = Item("words_only", answer.reason)
        vector = None
    elif isinstance(answer, Shortened):
        tally.items.setdefault(point.place, _SHORTENED)
        vector = answer.vector
    else:
        vector = answer
    return NewPoint(point.id, point.payload.model_dump(mode="json"), point.embedded, vector)


def _write(writer: Writer, points: list[NewPoint], each: Plan, tally: Tally) -> None:
    unwritten = writer.upsert(points)
    unchanged = writer.update(each.update)
    unstored = {**unwritten, **unchanged}
    for point in (*each.write, *each.keep):
        if point.id in unstored:
            tally.items[point.place] = Item("failed", unstored[point.id])
    writer.remove([*each.remove, *unstored])  # what an id stood for before is no longer so
    tally.written -= len(unwritten)
    tally.updated -= len(unchanged)


def _remove(writer: Writer, ids: Collection[str], tally: Tally) -> None:
    if ids:
        writer.remove(ids)
        tally.removed += len(ids)


def _count(each: Plan, known: Collection[str], embedded: int, tally: Tally) -> None:
    tally.embedded += embedded
    tally.reused += sum(point.payload.embedded_sha256 in known for point in each.write)
    tally.written += len(each.write)
    tally.updated += len(each.update)
    tally.removed += len(each.remove)
    tally.done += each.covers


def _tell(each: Plan, tally: Tally) -> None:
    """List the places that stay without a vector."""
    for place in each.words_only:
        tally.items[place] = _WORDS_ONLY


def _tell_shortened(points: Iterable[WantedPoint], embedder: Embedder, tally: Tally) -> None:
    """List the places of which a text is too long for the embedder, also where its vector was there already."""
    for point in points:
        if len(embedder.fitted(point.embedded)) < len(point.embedded):
            tally.items.setdefault(point.place, _SHORTENED)
