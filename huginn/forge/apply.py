"""Carries out a look: reads the touched files, plans batch by batch, and has the plans carried out.

In: what was gathered. Out: a `FileTally` with the store's receipt. When the embedder is away or refused, its error is
raised at the end: the cursor stays open, so that the next run compares everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from huginn.apply import PIECE, Tally, carry_out
from huginn.apply import rehearse as rehearse_plans
from huginn.checkpoints import Item
from huginn.forge.gather import Look
from huginn.forge.listing import Source
from huginn.forge.mirror import Mirror
from huginn.forge.points import FilePoints, points_of
from huginn.forge.skip import SkipReason
from huginn.ids import digest
from huginn.index.port import Index, Place, Receipt, StoredPoint
from huginn.parts import Parts
from huginn.plan import Plan, WantedPoint, plan
from huginn.scrub import holds_secret, scrub

_BATCH_FILES = 256

ReadBlob = Callable[[str], bytes]


@dataclass
class FileTally(Tally):
    """What was done; `looked_at` and `items` by the path as it may be shown.

    `wanted_paths` are those of the touched paths from which points are wanted.
    """

    looked_at: list[str] = field(default_factory=list)
    wanted_paths: set[str] = field(default_factory=set)


def apply(source: Source, mirror: Mirror, look: Look, parts: Parts) -> tuple[FileTally, Receipt]:
    """Write what the look asks for; returns when the store has acknowledged all of it."""
    tally = FileTally()
    parts.progress.follow(source.name, lambda: tally.done, total=len(look.touched))
    writer = parts.index.writer("forge", source.name)
    away = carry_out(_plans(source, mirror, look, parts, tally), writer, parts, tally)
    for other in parts.others():
        _remove_elsewhere(other, source.name, look, tally)
    receipt = writer.acknowledge()
    if away is not None:
        raise away
    return tally, receipt


def rehearse(source: Source, mirror: Mirror, look: Look, parts: Parts) -> FileTally:
    """What `apply` would do, in numbers: nothing is embedded and nothing written."""
    tally = FileTally()
    parts.progress.follow(source.name, lambda: tally.done, total=len(look.touched))
    rehearse_plans(_plans(source, mirror, look, parts, tally), parts, tally)
    return tally


def _plans(source: Source, mirror: Mirror, look: Look, parts: Parts, tally: FileTally) -> Iterator[Plan]:
    """One plan for each batch of touched paths."""
    is_new = parts.index.count(Place(corpus="forge", sources=[source.name])) == 0
    with mirror.blobs() as read:
        for paths, wanted in _batches(source, look, read, tally):
            stored: list[StoredPoint] = []
            if not is_new:
                stored = list(parts.index.stored(Place(corpus="forge", sources=[source.name], paths=paths)))
            full = {point.place for point in wanted}
            vanished = frozenset(point.id for point in stored if point.payload["path"] not in full)
            difference = plan(wanted, stored, ask_again=parts.compare_all)
            yield replace(difference, vanished=vanished, covers=len(paths))


def _batches(
    source: Source, look: Look, read: ReadBlob, tally: FileTally
) -> Iterator[tuple[list[str], list[WantedPoint]]]:
    """Touched paths with the points of their files: together no more points than are written at once, if they can."""
    paths: list[str] = []
    wanted: list[WantedPoint] = []
    for path in look.touched:
        points = _points(source, look, path, read, tally)
        if (wanted and len(wanted) + len(points) > PIECE) or len(paths) == _BATCH_FILES:
            yield paths, wanted
            paths, wanted = [], []
        paths.append(path)
        wanted.extend(points)
    yield paths, wanted


def _points(source: Source, look: Look, path: str, read: ReadBlob, tally: FileTally) -> tuple[WantedPoint, ...]:
    shown, is_secret = _shown(path)
    tally.looked_at.append(shown)
    if path not in look.entries:
        return ()
    found = _file(source, look, path, read, is_secret=is_secret)
    if found.skip:
        tally.items[shown] = Item("skipped", found.skip.value)
    if found.points:
        tally.wanted_paths.add(path)
    tally.masked += found.masked
    tally.chunks += len(found.points)
    return found.points


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


def _remove_elsewhere(other: Index, source: str, look: Look, tally: FileTally) -> None:
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
