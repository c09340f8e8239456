"""The settings as they are now: a file that has changed is read again, so that what it refuses is refused at once."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

from huginn.errors import HuginnError, Unavailable
from huginn.settings import FILE_NAME, Settings, find, load

CurrentSettings = Callable[[], Settings]
"""Gives the settings as they are now."""


def file_of(config: Path | None) -> Path:
    """The settings file that `huginn.settings.load` would take."""
    return (config or Path(os.environ.get("HUGINN_CONFIG") or find(Path.cwd()))).absolute()


class LiveSettings:
    """The settings in `path`, read again when the file has changed. Safe for threads.

    A file that cannot be used any more is told, and nothing is answered until it is mended: it may have been changed
    to refuse a room.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._seen = _state_of(path)
        self._settings = load(path)

    def __call__(self) -> Settings:
        """The settings now. Raises `Unavailable` (part `settings`)."""
        with self._lock:
            seen = _state_of(self._path)
            if seen != self._seen:
                try:
                    self._settings = load(self._path)
                except HuginnError:  # what is wrong in it is for whoever may read it
                    step = f"see 'huginn doctor', and mend {FILE_NAME}"
                    raise Unavailable("settings", "their file cannot be used any more", next_step=step) from None
                self._seen = seen
            return self._settings


def _state_of(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
