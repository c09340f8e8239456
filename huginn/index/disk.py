"""Free space, looked at before the engine is opened and before each batch."""

from __future__ import annotations

import shutil
from pathlib import Path

from huginn.errors import Unavailable


def require_space(folder: Path, min_free_bytes: int) -> None:
    """Raise `Unavailable` if the disk is nearly full: the engine would be killed by the kernel, not fail."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free < min_free_bytes:
        raise Unavailable(
            "disk",
            f"{free >> 20} MiB are free where the index is kept, and {min_free_bytes >> 20} MiB are asked for",
            next_step="make room, or lower index.min_free_bytes",
        )
