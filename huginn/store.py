"""The DuckDB file under `checkpoints`: opened for one transaction at a time, with numbered migrations.

Only one process can have the file open, so each opening is short and is tried again for a while. A file that is
broken, or of a newer release, is refused with what to do; it is never silently begun anew.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from huginn import database
from huginn.errors import Refused, Unavailable

_WAIT_SECONDS = 15.0
_MENDABLE = ("No space", "Permission", "Read-only")  # what is in the way, in DuckDB's words, is no damage

MIGRATIONS = (
    """
    CREATE TABLE cursors (
        index_id VARCHAR, corpus VARCHAR, source VARCHAR,
        position VARCHAR, fingerprint VARCHAR, points BIGINT, seen BIGINT,
        is_open BOOLEAN NOT NULL, revision BIGINT NOT NULL,
        PRIMARY KEY (index_id, corpus, source)
    );
    CREATE TABLE items (
        index_id VARCHAR, corpus VARCHAR, source VARCHAR, item VARCHAR,
        kind VARCHAR NOT NULL, reason VARCHAR NOT NULL, since TIMESTAMPTZ NOT NULL,
        PRIMARY KEY (index_id, corpus, source, item)
    );
    CREATE TABLE sources (
        corpus VARCHAR, source VARCHAR,
        last_success TIMESTAMPTZ, failing_since TIMESTAMPTZ, reason VARCHAR,
        PRIMARY KEY (corpus, source)
    );
    CREATE TABLE runs (
        run VARCHAR PRIMARY KEY, flow VARCHAR NOT NULL, asked VARCHAR NOT NULL,
        started TIMESTAMPTZ NOT NULL, finished TIMESTAMPTZ NOT NULL, outcome VARCHAR NOT NULL, report VARCHAR NOT NULL
    );
    """,
    "CREATE TABLE stamp (value VARCHAR NOT NULL)",
    # Without keys: one writer looks up what is known before it adds, and an index over millions of ids is slow to open.
    """
    CREATE TABLE known_events (
        index_id VARCHAR NOT NULL, room VARCHAR NOT NULL, event VARCHAR NOT NULL,
        kind VARCHAR NOT NULL, target VARCHAR, sender VARCHAR NOT NULL, time BIGINT NOT NULL
    );
    CREATE TABLE rooms (
        upstream VARCHAR, room VARCHAR,
        reason VARCHAR, detail VARCHAR, event VARCHAR, alias VARCHAR,
        is_listed_direct BOOLEAN NOT NULL, rules VARCHAR NOT NULL, checked TIMESTAMPTZ,
        PRIMARY KEY (upstream, room)
    );
    CREATE TABLE run_tokens (
        index_id VARCHAR, upstream VARCHAR, token VARCHAR NOT NULL,
        PRIMARY KEY (index_id, upstream)
    );
    """,
    "CREATE TABLE purges (id VARCHAR PRIMARY KEY, entry VARCHAR NOT NULL)",
    """
    CREATE TABLE discovered (
        origin VARCHAR, id VARCHAR,
        name VARCHAR NOT NULL, url VARCHAR NOT NULL, is_archived BOOLEAN NOT NULL, is_fork BOOLEAN NOT NULL,
        PRIMARY KEY (origin, id)
    );
    """,
)


class Store:
    """One DuckDB file. Safe for threads; other processes take turns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._is_current = False
        self._stamp = path.with_suffix(".stamp")

    def exists(self) -> bool:
        """Whether there is a file yet."""
        return self.path.exists()

    def is_in_step(self, connection: duckdb.DuckDBPyConnection) -> bool:
        """Whether this is the store that wrote last in this folder, and not one that was put back from a backup.

        The last stamp lies in the store and in a file beside it. After a kill between the two they differ as well, and
        the next run compares more than it has to.
        """
        row = connection.execute("SELECT value FROM stamp").fetchone()
        try:
            beside = self._stamp.read_text()
        except FileNotFoundError:
            beside = None
        return (row[0] if row else None) == beside

    @contextmanager
    def transaction(self, *, stamped: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        """One transaction: committed when the block ends, rolled back when it raises. Makes the file if need be.

        `stamped`: it moves a cursor, and leaves a new stamp in the store and beside it.
        """
        with database.turn():
            if not self.path.exists():
                self._create()
            connection = self._attached(self.path)
            is_sound = False
            try:
                if not self._is_current:
                    self._migrate(connection)
                    self._is_current = True
                connection.begin()
                try:
                    yield connection
                    stamp = _new_stamp(connection) if stamped else None
                except BaseException:
                    connection.rollback()
                    raise
                connection.commit()
                if stamp:
                    draft = self._stamp.with_suffix(".stamp-draft")
                    draft.write_text(stamp)
                    draft.replace(self._stamp)
                database.detach()  # which may write, and so fail on a full disk
                is_sound = True
            except duckdb.Error as error:
                raise self._damaged(error) from None
            finally:
                if not is_sound:
                    database.stop()

    def _create(self) -> None:
        """Under another name first: a kill in the middle must not leave half a file under this one."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(".draft")
        for leftover in (draft, draft.with_name(draft.name + ".wal")):
            leftover.unlink(missing_ok=True)
        try:
            self._migrate(self._attached(draft))
        finally:
            database.stop()
        # What a store that was lost has left behind belongs to no other.
        self.path.with_name(self.path.name + ".wal").unlink(missing_ok=True)
        draft.replace(self.path)

    def _attached(self, path: Path) -> duckdb.DuckDBPyConnection:
        deadline = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                return database.attach(path)
            except duckdb.Error as error:
                if "Could not set lock on file" not in str(error):
                    raise self._damaged(error) from None
                if time.monotonic() >= deadline:
                    raise Unavailable(
                        "checkpoints",
                        f"another process holds {path}",
                        next_step="end it, then try again",
                    ) from None
            time.sleep(random.uniform(0.02, 0.08))

    def _migrate(self, connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute("CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY)")
        row = connection.execute("SELECT coalesce(max(number), 0) FROM migrations").fetchone()
        done = int(row[0]) if row else 0
        if done > len(MIGRATIONS):
            raise Refused(
                "checkpoints",
                f"{self.path} was written by a newer release of Huginn (schema {done}, known here: {len(MIGRATIONS)})",
                next_step="install that release again",
            )
        for number in range(done + 1, len(MIGRATIONS) + 1):
            connection.begin()
            connection.execute(MIGRATIONS[number - 1])
            connection.execute("INSERT INTO migrations VALUES (?)", [number])
            connection.commit()

    def _damaged(self, error: duckdb.Error) -> Refused | Unavailable:
        lines = str(error).splitlines() or [""]
        mendable = [line for line in lines if any(words in line for words in _MENDABLE)]
        reason = (mendable or lines)[0][-200:]
        if mendable:
            return Unavailable("checkpoints", f"{self.path} cannot be used ({reason})", next_step="mend that first")
        return Refused(
            "checkpoints",
            f"{self.path} is damaged or no checkpoint store ({reason})",
            next_step="put a backup in its place, or move it away with all files of its name: the next refresh then "
            "compares everything once and embeds nothing that is in the index already",
        )


def _new_stamp(connection: duckdb.DuckDBPyConnection) -> str:
    stamp = uuid.uuid4().hex
    connection.execute("DELETE FROM stamp")
    connection.execute("INSERT INTO stamp VALUES (?)", [stamp])
    return stamp
