"""One room, from what the homeserver says to what the index holds. Reads like a table of contents.

Cursor -> intent -> reading (see `huginn.chat.reading`) -> receipt -> cursor. A run that is cut off in between leaves
the cursor open: the next one reads the room from its beginning and writes the difference.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass

from huginn.chat.homeserver import Homeserver, TokenUnknown
from huginn.chat.notes import LEVEL
from huginn.chat.reading import Reading, RoomTally, UnknownRedaction
from huginn.chat.scope import Rules, ScopedRoom
from huginn.checkpoints import Advance, Cursor, Item
from huginn.ids import digest
from huginn.index.port import Place, Writer
from huginn.parts import Parts
from huginn.purges import Purged
from huginn.report import CursorMove, SourceOutcome, SourceReport


@dataclass(frozen=True)
class Upstream:
    """What the rooms of a run are read with. `level` is the token that level cursors mean, `next` where a room that has
    been read to its end will stand: level, or a token of its own.
    """

    homeserver: Homeserver
    rules: Rules
    fingerprint: str
    level: str | None
    next: str


def refresh(room: ScopedRoom, upstream: Upstream, parts: Parts, *, dry_run: bool = False) -> SourceReport:
    """Bring the index level with the room. Raises `SignSeen`, `Unavailable`, and what the homeserver raises."""
    began = time.monotonic()
    cursor = parts.ledger.cursor(room.id)
    since = since_of(cursor, room, upstream, parts)
    writer = parts.index.writer("chat", room.id)
    if dry_run:
        reading = Reading(room, upstream.homeserver, parts, upstream.rules, is_whole=since is None, dry_run=True)
        with suppress(UnknownRedaction, TokenUnknown):  # the room will be read anew: told is what was counted so far
            reading.read(since, writer)
        return _report(room, cursor, cursor, reading.tally, began)
    parts.opened.add(room.id)
    intent = parts.checkpoints.begin(parts.index.id, "chat", room.id)
    try:
        tally = _read(room, upstream, parts, writer, since)
    except (UnknownRedaction, TokenUnknown) as anew:
        if isinstance(anew, UnknownRedaction):
            _empty(room, parts)
        since, tally = None, _read(room, upstream, parts, writer, None)
    if since is not None and not _is_of(cursor, room, upstream, parts):
        _set_alias(room, parts, writer, tally)
    advance = Advance(
        position=upstream.next,
        fingerprint=fingerprint(upstream.fingerprint, parts.purged, room),
        seen=0,
        items=tally.items,
        looked_at=None if since is None else tally.places,
    )
    ledger = parts.checkpoints.advance(intent, advance, writer.acknowledge())
    return _report(room, cursor, ledger.cursor(room.id), tally, began)


def since_of(cursor: Cursor, room: ScopedRoom, upstream: Upstream, parts: Parts) -> str | None:
    """Where to read on; None where nothing of the cursor can be relied on, so that the whole room is read."""
    is_trusted = (
        not cursor.is_open
        and not parts.compare_all
        and room.id not in parts.opened
        and (cursor.fingerprint or "").startswith(fingerprint_of_texts(upstream.fingerprint, parts.purged, room.id))
        and cursor.points == parts.points.get(room.id, 0)
    )
    if not is_trusted:
        return None
    return upstream.level if cursor.position == LEVEL else cursor.position


def is_level(cursor: Cursor, room: ScopedRoom, upstream: Upstream, parts: Parts) -> bool:
    """Whether nothing has to be done for a room in which nothing has happened."""
    is_there = since_of(cursor, room, upstream, parts) is not None
    return is_there and cursor.position == LEVEL and _is_of(cursor, room, upstream, parts)


def fingerprint(upstream: str, purged: Purged, room: ScopedRoom) -> str:
    """Of all that decides what is stored, beside the events: who reads where, what is purged, and the alias."""
    return f"{fingerprint_of_texts(upstream, purged, room.id)}{digest(room.alias or '')[:16]}"


def fingerprint_of_texts(upstream: str, purged: Purged, room: str) -> str:
    """The first part of a `fingerprint`, without the alias: a cursor with another one is worth nothing."""
    return f"{upstream}{purged.fingerprint(room)}:"


def _is_of(cursor: Cursor, room: ScopedRoom, upstream: Upstream, parts: Parts) -> bool:
    return cursor.fingerprint == fingerprint(upstream.fingerprint, parts.purged, room)


def _read(room: ScopedRoom, upstream: Upstream, parts: Parts, writer: Writer, since: str | None) -> RoomTally:
    reading = Reading(room, upstream.homeserver, parts, upstream.rules, is_whole=since is None, dry_run=False)
    reading.known.begin()
    away = reading.read(since, writer)
    if away is not None:
        writer.acknowledge()
        raise away
    reading.known.keep(at_least=1)
    return reading.tally


def _empty(room: ScopedRoom, parts: Parts) -> None:
    """Remove all points of the room from every index: one of them holds what was redacted, nobody knows which."""
    for index in (parts.index, *parts.others()):
        writer = index.writer("chat", room.id)
        writer.remove([point.id for point in index.stored(Place(corpus="chat", sources=[room.id]), ["source"])])
        writer.acknowledge()


def _set_alias(room: ScopedRoom, parts: Parts, writer: Writer, tally: RoomTally) -> None:
    """Set the alias anew in all points of the room that have another."""
    stored = parts.index.stored(Place(corpus="chat", sources=[room.id]))
    updates = {
        point.id: {**point.payload, "alias": room.alias} for point in stored if point.payload["alias"] != room.alias
    }
    unstored = writer.update(updates)
    writer.remove(unstored)  # what they say is no longer so
    for point_id, reason in unstored.items():
        tally.items[str(updates[point_id]["event_id"])] = Item("failed", reason)
    tally.updated += len(updates) - len(unstored)


def _report(room: ScopedRoom, before: Cursor, after: Cursor, tally: RoomTally, began: float) -> SourceReport:
    return SourceReport(
        source=room.id,
        corpus="chat",
        outcome=SourceOutcome.OK,
        name=room.alias,
        cursor=CursorMove(before=before.position, after=after.position),
        messages=tally.messages,
        edits=tally.edits,
        redactions=tally.redactions,
        skipped=dict(sorted(tally.skipped.items())),
        seconds=time.monotonic() - began,
        **tally.told,
    )
