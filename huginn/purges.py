"""The purge record: which spans of time of which rooms must not be held, whatever upstream says. Append-only.

Words: an *entry* is a purge or the lift of one; a lift names the purge it lifts, and is final. The record is kept
twice, in the checkpoint store and as lines of JSON in `purges.jsonl` in the state folder, and the union of both stands:
what one of them has lost or never had (a backup that was put back) the next run writes into it again.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from huginn.errors import Refused, Unavailable
from huginn.ids import digest
from huginn.report import now
from huginn.store import Store

_EPOCH = datetime.fromtimestamp(0, UTC)


class Entry(BaseModel):
    """One act of a steward, who is named as they said. `start` belongs to the span, `end` does not.

    `lifts` is None for a purge; a lift has there the id of the purge, and repeats its room and span.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    id: str = Field(default_factory=lambda: str(uuid.uuid4()))
    room: str
    start: AwareDatetime = Field(alias="from")
    end: AwareDatetime = Field(alias="to")
    reason: str
    steward: str
    recorded: AwareDatetime = Field(default_factory=now)
    lifts: str | None = None


@dataclass(frozen=True)
class Purged:
    """What the record says now: the spans that are purged, by room, and the entries that speak of each room."""

    spans: Mapping[str, tuple[tuple[datetime, datetime], ...]] = field(default_factory=dict)
    entries: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def covers(self, room: str, time: int) -> bool:
        """Whether a message of this room must not be held; `time`: its original's, in milliseconds since 1970."""
        return any(_milliseconds(start) <= time < _milliseconds(end) for start, end in self.spans.get(room, ()))

    def fingerprint(self, room: str) -> str:
        """Of all that the record says of a room, and ever said; empty if that is nothing."""
        return digest(" ".join(sorted(self.entries[room])))[:16] if room in self.entries else ""


def standing(entries: Iterable[Entry]) -> Purged:
    """What these entries come to, in whatever order they come."""
    by_room: dict[str, list[Entry]] = {}
    for entry in entries:
        by_room.setdefault(entry.room, []).append(entry)
    spans = {room: tuple((purge.start, purge.end) for purge in in_force(told)) for room, told in by_room.items()}
    return Purged(spans, {room: frozenset(entry.id for entry in told) for room, told in by_room.items()})


def in_force(entries: Iterable[Entry]) -> list[Entry]:
    """The purges among these entries that nobody has lifted."""
    told = list(entries)
    lifted = {entry.lifts for entry in told}
    return [entry for entry in told if entry.lifts is None and entry.id not in lifted]


class PurgeRecord:
    """The record of a state folder. Only a holder of the writer's lock adds to it or reconciles its two copies."""

    def __init__(self, state: Path, store: Store) -> None:
        self._path = state / "purges.jsonl"
        self._store = store

    def entries(self) -> list[Entry]:
        """All entries of both copies, oldest first. Raises `Refused` where a line of the file is none."""
        found = {**(self._stored() if self._store.exists() else {}), **self._written()}
        return sorted(found.values(), key=lambda entry: (entry.recorded, entry.id))

    def reconcile(self) -> list[Entry]:
        """All entries, after writing into each copy what only the other has."""
        stored, written = self._stored(), self._written()
        self._write([stored[one] for one in sorted(stored.keys() - written.keys())])
        self._store_too([written[one] for one in sorted(written.keys() - stored.keys())])
        return self.entries()

    def add(self, entry: Entry) -> None:
        """Record an entry: it is durable, in both copies, when this returns."""
        self._write([entry])
        self._store_too([entry])

    def _stored(self) -> dict[str, Entry]:
        with self._store.transaction() as db:
            rows = db.execute("SELECT entry FROM purges").fetchall()
        found = [Entry.model_validate_json(row[0]) for row in rows]
        return {entry.id: entry for entry in found}

    def _store_too(self, entries: Iterable[Entry]) -> None:
        rows = [[entry.id, _line(entry)] for entry in entries]
        if rows:
            with self._store.transaction() as db:
                db.executemany("INSERT OR IGNORE INTO purges VALUES (?, ?)", rows)

    def _written(self) -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        lines = self._bytes().splitlines(keepends=True)
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                entry = Entry.model_validate_json(line)
            except ValidationError:
                if not line.endswith(b"\n"):
                    continue  # the last one, cut off by a kill: nothing was done on its word yet
                raise Refused(
                    "purges.jsonl",
                    f"line {number} of {self._path} is no entry of the purge record",
                    next_step="put that line right; without it a message that was purged could come back",
                ) from None
            found[entry.id] = entry
        return found

    def _write(self, entries: Iterable[Entry]) -> None:
        """Add lines to the file, durably, behind the last whole one."""
        lines = "".join(f"{_line(entry)}\n" for entry in entries).encode()
        if not lines:
            return
        written = self._bytes()
        try:
            self._append(lines, written)
        except OSError as error:
            with suppress(OSError):  # what was not durable in time must not be carried out later, unasked
                os.truncate(self._path, _end_of_whole_lines(written))
            raise Unavailable(
                "disk",
                f"{self._path} cannot be written ({error.strerror or type(error).__name__}); nothing was recorded",
                next_step="mend that, then try again",
            ) from None

    def _append(self, lines: bytes, written: bytes) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.seek(_end_of_whole_lines(written))
            file.truncate()
            file.write(b"\n" + lines if file.tell() and not written[: file.tell()].endswith(b"\n") else lines)
            file.flush()
            os.fsync(file.fileno())
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _bytes(self) -> bytes:
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return b""


def _end_of_whole_lines(written: bytes) -> int:
    """Where the next line begins: behind all that is there, save a last line that was cut off."""
    tail = written.rpartition(b"\n")[2]
    try:
        Entry.model_validate_json(tail)
    except ValidationError:
        return len(written) - len(tail)
    return len(written)


def _line(entry: Entry) -> str:
    return entry.model_dump_json(by_alias=True)


def _milliseconds(moment: datetime) -> int:
    """The first whole millisecond since 1970 that is not before `moment`."""
    return -((_EPOCH - moment) // timedelta(milliseconds=1))
