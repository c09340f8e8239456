"""Carries out a look: reads the touched files, plans batch by batch, embeds what is missing, and writes.

In: what was gathered. Out: a `Tally` with the store's receipt. In each batch new points come before stale ones go. When
the embedder is away or refused, what upstream no longer holds is removed all the same, what is only to be replaced
stays, and the error is raised at the end: the cursor stays open, so that the next run compares everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace

from huginn.checkpoints import Item
from huginn.embed import Culprit, Embedder, Shortened, Vector, embed_all
from huginn.errors import HuginnError, Refused, Unavailable
from huginn.forge.gather import Look
from huginn.forge.listing import Source
from huginn.forge.mirror import Mirror
from huginn.forge.parts import Parts
from huginn.forge.plan import Plan, WantedPoint, plan
from huginn.forge.points import FilePoints, points_of
from huginn.forge.skip import SkipReason
from huginn.ids import digest
from huginn.index.port import Index, NewPoint, Place, Receipt, StoredPoint, Writer
from huginn.scrub import Clean, holds_secret, scrub

_BATCH_POINTS = 256
_BATCH_FILES = 256
_SHORTENED = Item("shortened", "longer than the embedder takes: only the beginning is found by meaning")

ReadBlob = Callable[[str], bytes]


@dataclass
class Tally:
    """What was done, in numbers; `looked_at` and `items` by the path as it may be shown.

    `wanted_paths` are those of the touched paths from which points are wanted.
    """

    looked_at: list[str] = field(default_factory=list)
    wanted_paths: set[str] = field(default_factory=set)
    items: dict[str, Item] = field(default_factory=dict)
    masked: Counter[str] = field(default_factory=Counter)
    chunks: int = 0
    embedded: int = 0
    reused: int = 0
    written: int = 0
    updated: int = 0
    removed: int = 0


def apply(source: Source, mirror: Mirror, look: Look, parts: Parts) -> tuple[Tally, Receipt]:
    """Write what the look asks for; returns when the store has acknowledged all of it."""
    tally = Tally()
    writer = parts.index.writer("forge", source.name)
    away: HuginnError | None = None
    for wanted, difference in _plans(source, mirror, look, parts.index, tally):
        if away is None:
            try:
                points = _new_points(difference, parts, tally)
                _tell_shortened(wanted, parts.embedder, tally)
            except (Unavailable, Refused) as error:  # refused: the model behind the name is another one now
                away = error
            else:
                _write(writer, points, difference, tally)
                continue
        _remove_vanished(writer, wanted, difference, tally)
    for other in parts.others():
        _remove_elsewhere(other, source.name, look, tally)
    receipt = writer.acknowledge()
    if away is not None:
        raise away
    return tally, receipt


def rehearse(source: Source, mirror: Mirror, look: Look, parts: Parts) -> Tally:
    """What `apply` would do, in numbers: nothing is embedded and nothing written."""
    tally = Tally()
    for _, difference in _plans(source, mirror, look, parts.index, tally):
        missing = {point.payload.embedded_sha256 for point in difference.write}
        known = _known_vectors(missing, parts)
        tally.embedded += len(missing - known.keys())
        tally.reused += sum(point.payload.embedded_sha256 in known for point in difference.write)
        tally.written += len(difference.write)
        tally.updated += len(difference.update)
        tally.removed += len(difference.remove)
    return tally


def _plans(
    source: Source, mirror: Mirror, look: Look, index: Index, tally: Tally
) -> Iterator[tuple[list[WantedPoint], Plan]]:
    """One plan for each batch of touched paths, with the points it wants."""
    is_new = index.count(Place(corpus="forge", sources=[source.name])) == 0
    with mirror.blobs() as read:
        for paths, wanted in _batches(source, look, read, tally):
            stored: list[StoredPoint] = []
            if not is_new:
                stored = list(index.stored(Place(corpus="forge", sources=[source.name], paths=paths)))
            difference = plan(wanted, stored)
            for path in difference.words_only:
                tally.items[path] = Item("words_only", "refused by the embedder in an earlier run")
            yield wanted, difference


def _batches(source: Source, look: Look, read: ReadBlob, tally: Tally) -> Iterator[tuple[list[str], list[WantedPoint]]]:
    paths: list[str] = []
    wanted: list[WantedPoint] = []
    for path in look.touched:
        shown, is_secret = _shown(path)
        tally.looked_at.append(shown)
        paths.append(path)
        if path in look.entries:
            found = _file(source, look, path, read, is_secret=is_secret)
            if found.skip:
                tally.items[shown] = Item("skipped", found.skip.value)
            tally.masked += found.masked
            if found.points:
                tally.wanted_paths.add(path)
            wanted.extend(found.points)
        if len(wanted) >= _BATCH_POINTS or len(paths) >= _BATCH_FILES:
            tally.chunks += len(wanted)
            yield paths, wanted
            paths, wanted = [], []
    tally.chunks += len(wanted)
    yield paths, wanted


def _file(source: Source, look: Look, path: str, read: ReadBlob, *, is_secret: bool) -> FilePoints:
    entry = look.entries[path]
    skip = source.rules.reason(entry.path, entry.mode, entry.size)
    if skip is None and is_secret:
        skip = SkipReason.SECRET_IN_PATH
    if skip is not None:
        return FilePoints(skip=skip)
    return points_of(source.name, path, entry.blob, look.changes[path], read(entry.blob))


def _shown(path: str) -> tuple[str, bool]:
    """The path as it may be listed, and whether it holds a secret. Two masked paths stay two by a bit of their hash."""
    if holds_secret(path):
        return f"{scrub(path).clean} ({digest(path)[:8]})", True
    return path, False


def _new_points(difference: Plan, parts: Parts, tally: Tally) -> list[NewPoint]:
    """The points to write whole, with the vectors that the index holds already or the embedder makes now."""
    texts = {point.payload.embedded_sha256: point.embedded for point in difference.write}
    known = _known_vectors(texts.keys(), parts)
    missing: dict[str, Clean] = {sha: text for sha, text in texts.items() if sha not in known}
    answers = dict(zip(missing, embed_all(parts.embedder, list(missing.values())), strict=True))
    tally.embedded += len(answers)
    points = []
    for point in difference.write:
        sha = point.payload.embedded_sha256
        answer: Vector | Shortened | Culprit = known[sha] if sha in known else answers[sha]
        tally.reused += sha in known
        if isinstance(answer, Culprit):
            tally.items[point.payload.path] = Item("words_only", answer.reason)
        elif isinstance(answer, Shortened):
            tally.items.setdefault(point.payload.path, _SHORTENED)
            answer = answer.vector
        vector = None if isinstance(answer, Culprit) else answer
        points.append(NewPoint(point.id, point.payload.model_dump(mode="json"), point.embedded, vector))
    return points


def _tell_shortened(wanted: list[WantedPoint], embedder: Embedder, tally: Tally) -> None:
    """List the files of which a text is too long for the embedder, also where its vector was there already."""
    for point in wanted:
        if len(embedder.fitted(point.embedded)) < len(point.embedded):
            tally.items.setdefault(point.payload.path, _SHORTENED)


def _known_vectors(embedded_sha256: Collection[str], parts: Parts) -> dict[str, Vector]:
    """Vectors of the same embedded texts under the same model: here, or in the index that this one replaces."""
    known = parts.index.vectors(sorted(embedded_sha256)) if embedded_sha256 else {}
    left = sorted(set(embedded_sha256) - known.keys())
    return {**known, **parts.carry.vectors(left)} if parts.carry and left else known


def _write(writer: Writer, points: list[NewPoint], difference: Plan, tally: Tally) -> None:
    unstored = writer.upsert(points)
    for point in points:
        if point.id in unstored:
            tally.items[str(point.payload["path"])] = Item("failed", unstored[point.id])
    writer.update(difference.update)
    writer.remove([*difference.remove, *unstored])  # what an id stood for before is no longer so
    tally.written += len(points) - len(unstored)
    tally.updated += len(difference.update)
    tally.removed += len(difference.remove)


def _remove_vanished(writer: Writer, wanted: list[WantedPoint], difference: Plan, tally: Tally) -> None:
    """Without an embedder: only the points of paths from which nothing is wanted any more go."""
    kept = {point.payload.path for point in wanted}
    vanished = [point_id for point_id, path in difference.remove.items() if path not in kept]
    writer.remove(vanished)
    tally.removed += len(vanished)


def _remove_elsewhere(other: Index, source: str, look: Look, tally: Tally) -> None:
    """In an index that is not written to, what is gone from the repository goes all the same."""
    place = Place(corpus="forge", sources=[source])
    if look.whole:
        ids = [point.id for point in other.stored(place, ["path"]) if point.payload["path"] not in tally.wanted_paths]
    else:
        gone = sorted(set(look.touched) - tally.wanted_paths)
        ids = [point.id for point in other.stored(replace(place, paths=gone), ["path"])] if gone else []
    if ids:
        writer = other.writer("forge", source)
        writer.remove(ids)
        writer.acknowledge()
