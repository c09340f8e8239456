"""The disk: free space, looked at before the engine is opened and before each batch, and files replaced atomically."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from huginn.errors import Unavailable

LEAST_FREE_BYTES = 64 << 20
"""What the engine may take at once, whatever the settings say: a log of 32 MiB, and segments of a batch."""


def require_space(folder: Path, min_free_bytes: int) -> None:
    """Raise `Unavailable` if the disk is nearly full: the engine would be killed by the kernel, not fail."""
    needed = max(min_free_bytes, LEAST_FREE_BYTES)
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free < needed:
        raise Unavailable(
            "disk",
            f"{free >> 20} MiB are free where the index is kept, and {needed >> 20} MiB are needed",
            next_step="make room" if needed == LEAST_FREE_BYTES else "make room, or lower index.min_free_bytes",
        )


def replace_file(path: Path, text: str) -> None:
    """Put `text` in the place of a file, whole or not at all."""
    draft = path.with_suffix(".draft")
    with draft.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
