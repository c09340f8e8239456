"""One writer at a time: a lock on a file in the state folder (`flock`).

The kernel frees it when the process ends, however it ends. The file's content (process id, what it does, since when)
is for people only; nothing is decided by it.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from huginn.errors import Busy
from huginn.report import now

_POLL_SECONDS = 0.05


@contextmanager
def writer_lock(state: Path, purpose: str, *, wait: float = 0.0) -> Iterator[None]:
    """Hold the writer's lock of the state folder `state`; give up after `wait` seconds with `Busy`."""
    state.mkdir(parents=True, exist_ok=True)
    path = state / "writer.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _acquire(descriptor, path, wait)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()}, {purpose}, since {now():%Y-%m-%dT%H:%M:%SZ}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def holder(state: Path) -> str | None:
    """Who holds the writer's lock, in words for a person; None if it is free."""
    path = state / "writer.lock"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return path.read_text(errors="replace").strip() or "a process that has just started"
    else:
        return None
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, path: Path, wait: float) -> None:
    deadline = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                who = path.read_text(errors="replace").strip() or "a process that has just started"
                raise Busy(f"another writer is at work ({who})", next_step="wait until it has ended") from None
            time.sleep(_POLL_SECONDS)
        else:
            return
