"""What the checkpoint store keeps of rooms beside their cursors: the verdict on each, and the run token.

A verdict belongs to a reader on a homeserver, a token to an index as well. The *run token* is where all rooms stand
whose cursor says `LEVEL`; only a room that is behind has a token of its own.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import astuple, dataclass
from datetime import datetime

from huginn.chat.scope import Reason
from huginn.chat.settings import ChatSettings
from huginn.ids import digest
from huginn.store import Store

LEVEL = "level"
"""The position of a cursor that stands where the run token does."""


@dataclass(frozen=True)
class RoomNote:
    """The verdict on a room: accepted if there is no `reason`, else refused for it.

    `detail` and `event` say what showed it, `is_listed_direct` whether the reader's account data listed the room then,
    `rules` is the fingerprint of the rules of scope, `checked` when the room's state was read; None: read it again.
    """

    room: str
    reason: Reason | None
    detail: str | None
    event: str | None
    alias: str | None
    is_listed_direct: bool
    rules: str
    checked: datetime | None


def upstream_of(settings: ChatSettings) -> str:
    """The fingerprint of homeserver and reader, under which notes are kept."""
    return digest(f"{settings.homeserver} {settings.user}")[:16]


class RoomNotes:
    """The notes of one reader (`upstream`: see `upstream_of`) for one index."""

    def __init__(self, store: Store, upstream: str, index_id: str) -> None:
        self._store = store
        self._upstream = upstream
        self._index_id = index_id

    def all(self) -> tuple[dict[str, RoomNote], str | None]:
        """Every note, by room, and the run token."""
        with self._store.transaction() as db:
            rows = db.execute(
                "SELECT room, reason, detail, event, alias, is_listed_direct, rules, checked FROM rooms "
                "WHERE upstream = ?",
                [self._upstream],
            ).fetchall()
            token = db.execute(
                "SELECT token FROM run_tokens WHERE upstream = ? AND index_id = ?", [self._upstream, self._index_id]
            ).fetchone()
        return {row[0]: RoomNote(*row) for row in rows}, str(token[0]) if token else None

    def note(self, note: RoomNote) -> None:
        """Keep a verdict."""
        with self._store.transaction() as db:
            db.execute(
                "INSERT OR REPLACE INTO rooms VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", [self._upstream, *astuple(note)]
            )

    def look_again(self, room: str) -> None:
        """Have the room's state read again by the next run."""
        with self._store.transaction() as db:
            db.execute("UPDATE rooms SET checked = NULL WHERE upstream = ? AND room = ?", [self._upstream, room])

    def move_token(self, token: str, behind: Collection[str]) -> None:
        """Move the run token. Rooms in `behind` that were level with it stay where they were, with the old one."""
        with self._store.transaction() as db:
            db.execute(
                "UPDATE cursors SET position = (SELECT token FROM run_tokens WHERE upstream = ? AND index_id = ?), "
                "revision = revision + 1 WHERE index_id = ? AND corpus = 'chat' AND position = ? "
                "AND source IN (SELECT unnest(?::VARCHAR[]))",
                [self._upstream, self._index_id, self._index_id, LEVEL, list(behind)],
            )
            db.execute("INSERT OR REPLACE INTO run_tokens VALUES (?, ?, ?)", [self._index_id, self._upstream, token])
