"""The process's one DuckDB, to which a file is attached while it is needed.

To start a DuckDB takes 12 ms, to attach a file to one that runs 1 ms, and a run that finds nothing to do opens its
store several times. A file is locked against other processes from `attach` to `detach`, and no longer.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

_turns = threading.Lock()
_running: list[duckdb.DuckDBPyConnection] = []


@contextmanager
def turn() -> Iterator[None]:
    """Let one thread of this process have the database; the others wait."""
    with _turns:
        try:
            yield
        except RuntimeError as error:
            if str(error) != "Query interrupted":
                raise
            raise KeyboardInterrupt from None  # which DuckDB has taken for itself


def attach(path: Path) -> duckdb.DuckDBPyConnection:
    """Open a file, made if it is not there. Call it, and `detach`, within one `turn`. Raises `duckdb.Error`."""
    if not _running:
        _running.append(_start(path))
    (connection,) = _running
    quoted = str(path).replace("'", "''")
    try:
        connection.execute(f"ATTACH '{quoted}' AS store (TYPE duckdb)")
        connection.execute("USE store")
    except BaseException:
        stop()
        raise
    return connection


def detach() -> None:
    """Close the file. After an error, or where this fails, the whole database is closed: it might be beyond use."""
    try:
        for connection in _running:
            connection.execute("USE memory")
            connection.execute("DETACH store")
    except BaseException:
        stop()
        raise


def stop() -> None:
    """Close the database, and whatever file is attached."""
    while _running:
        _running.pop().close()


def _start(path: Path) -> duckdb.DuckDBPyConnection:
    # What does not fit into memory is put beside the file, as where the file itself is opened.
    connection = duckdb.connect(":memory:", config={"temp_directory": f"{path}.tmp"})
    connection.execute("SET TimeZone = 'UTC'")
    return connection


# A forked process has the database's memory, but none of its threads.
os.register_at_fork(after_in_child=_running.clear)
