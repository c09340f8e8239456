"""A long history for a room of a Synapse, written into its database: sending it would take minutes.

A message that was sent is the pattern. Each of its copies has a text and a time of its own, and the id that follows
from these; they stand in the order of the room between the pattern and what comes later, as events do that were fetched
from another server afterwards.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from typing import Any

from synapse.api.room_versions import KNOWN_ROOM_VERSIONS
from synapse.events import make_event_from_dict

from tests.support.synapse import Synapse

VERSION = "12"


def write_history(homeserver: Synapse, pattern: str, messages: Iterable[tuple[int, str]]) -> None:
    """Put messages (ms since 1970, text) behind the message `pattern`, in a room of the newest version."""
    with closing(sqlite3.connect(homeserver.database, timeout=60)) as db, db:
        db.row_factory = sqlite3.Row
        rows = {table: _row(db, table, pattern) for table in ("events", "event_json", "event_to_state_groups")}
        event = json.loads(rows["event_json"]["json"])
        (lowest,) = db.execute("SELECT min(0, min(stream_ordering)) FROM events").fetchone()
        for number, (time, body) in enumerate(messages, start=1):
            content = {"msgtype": "m.text", "body": body}
            copy = {**event, "content": content, "origin_server_ts": time, "depth": event["depth"] + number}
            event_id = make_event_from_dict(copy, KNOWN_ROOM_VERSIONS[VERSION]).event_id
            place = {"topological_ordering": copy["depth"], "depth": copy["depth"], "stream_ordering": lowest - number}
            _insert(db, "events", {**rows["events"], **place, "event_id": event_id, "origin_server_ts": time})
            _insert(db, "event_json", {**rows["event_json"], "event_id": event_id, "json": json.dumps(copy)})
            _insert(db, "event_to_state_groups", {**rows["event_to_state_groups"], "event_id": event_id})


def _row(db: sqlite3.Connection, table: str, event_id: str) -> dict[str, Any]:
    return dict(db.execute(f"SELECT * FROM {table} WHERE event_id = ?", [event_id]).fetchone())


def _insert(db: sqlite3.Connection, table: str, row: dict[str, Any]) -> None:
    values = ", ".join("?" * len(row))
    db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({values})", list(row.values()))
