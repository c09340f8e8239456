"""The ids of events that are known in a room, never their content.

They tell which event has been taken in, what an edit or a redaction aims at, and so what a later one does to it. Those
of one reading are kept in memory up to a bound, and with it in the checkpoint store.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from huginn.store import Store

KnownKind = Literal["message", "edit", "redaction", "pruned", "other"]

_MOST_IN_MEMORY = 10_000


@dataclass(frozen=True)
class Known:
    """An event that has been taken note of. `time` is its `origin_server_ts` in milliseconds, 0 if it has none."""

    id: str
    kind: KnownKind
    target: str | None
    sender: str
    time: int


class KnownEvents:
    """The known events of one room in one index, as one reading finds them and adds to them.

    `is_whole`: the room is read from the beginning, so that what was known before counts for nothing and is dropped by
    `begin`. A reading that only rehearses never calls `begin` or `keep`.
    """

    def __init__(self, store: Store, index_id: str, room: str, *, is_whole: bool) -> None:
        self._store = store
        self._key = [index_id, room]
        self._is_whole = is_whole
        self._has_stored = not is_whole
        self._new: dict[str, Known] = {}
        self._aimed: dict[str, list[Known]] = {}

    def begin(self) -> None:
        """Drop what is noted of the room if it is read anew."""
        if self._is_whole:
            with self._store.transaction(stamped=True) as db:
                db.execute("DELETE FROM known_events WHERE index_id = ? AND room = ?", self._key)

    def are_there(self) -> bool:
        """Whether anything is noted of the room in the checkpoint store."""
        with self._store.transaction() as db:
            row = db.execute("SELECT 1 FROM known_events WHERE index_id = ? AND room = ? LIMIT 1", self._key).fetchone()
        return row is not None

    def look_up(self, ids: Collection[str]) -> tuple[Mapping[str, Known], Mapping[str, Sequence[Known]]]:
        """The known events with these ids, and those that aim at one of them, by what they aim at.

        Of two records with one id, the one that says it is pruned came later, and counts.
        """
        known = {event.id: event for event in self._stored(ids)}
        known |= {event_id: self._new[event_id] for event_id in ids if event_id in self._new}
        about = {event_id: list(self._aimed[event_id]) for event_id in ids if event_id in self._aimed}
        for event in self._stored(ids, column="target"):
            if event.target is not None:
                about.setdefault(event.target, []).append(event)
        return known, about

    def learn(self, events: Iterable[Known]) -> None:
        """Take note of events that were not known before, or are pruned now."""
        for event in events:
            self._new[event.id] = event
            if event.target is not None:
                self._aimed.setdefault(event.target, []).append(event)

    def keep(self, *, at_least: int = _MOST_IN_MEMORY) -> None:
        """Move what is noted into the checkpoint store, if there is enough of it."""
        if len(self._new) < max(1, at_least):
            return
        rows = ((event.id, event.kind, event.target, event.sender, event.time) for event in self._new.values())
        columns = list(zip(*rows, strict=True))  # dataclasses.astuple takes as long as all the rest
        kinds = ("VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR", "BIGINT")
        values = ", ".join(f"unnest(?::{kind}[])" for kind in kinds)
        with self._store.transaction() as db:
            db.execute(
                f"INSERT INTO known_events SELECT ?, ?, {values}", [*self._key, *(list(column) for column in columns)]
            )
        self._new, self._aimed, self._has_stored = {}, {}, True

    @staticmethod
    def struck(store: Store, room: str, *, after: str = "", limit: int) -> list[str]:
        """The ids of events of a room that are known to be redacted, in any index: those behind `after`, in order."""
        with store.transaction() as db:
            rows = db.execute(
                "SELECT DISTINCT id FROM (SELECT event AS id FROM known_events WHERE room = $room AND kind = 'pruned' "
                "UNION ALL SELECT target FROM known_events WHERE room = $room AND kind = 'redaction') "
                "WHERE id > $after ORDER BY id LIMIT $limit",
                {"room": room, "after": after, "limit": limit},
            ).fetchall()
        return [str(row[0]) for row in rows]

    def _stored(self, ids: Collection[str], column: Literal["event", "target"] = "event") -> list[Known]:
        if not self._has_stored or not ids:
            return []
        with self._store.transaction() as db:
            rows = db.execute(
                "SELECT event, kind, target, sender, time FROM known_events "
                f"WHERE index_id = ? AND room = ? AND {column} IN (SELECT unnest(?::VARCHAR[]))",
                [*self._key, list(ids)],
            ).fetchall()
        return sorted((Known(*row) for row in rows), key=lambda event: event.kind == "pruned")
