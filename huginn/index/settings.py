"""The `[index]` section of the settings: where the points are kept.

Without `url` that is the embedded engine, in the state folder; with one it is that Qdrant server and nothing else. The
key comes from a file alone. An address that could hold a secret is refused.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from huginn.section import LocalPath, Section, http_parts


def _checked_url(url: str) -> str:
    """The address as given. What is wrong is told without repeating it: it could hold a password."""
    parts = http_parts(url)
    if parts is None or any(character.isspace() or not character.isprintable() for character in url):
        raise ValueError('give the address of a Qdrant server, such as "http://127.0.0.1:6333"')
    if "@" in parts.netloc:
        raise ValueError("take user and password out of the address; give the key in a file as api_key_file")
    if parts.query or parts.fragment:
        raise ValueError("take out what follows the ? or #; give the key in a file as api_key_file")
    return url.rstrip("/")


def _checked_alias(alias: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", alias):
        raise ValueError("give a name of letters, digits, _ and -, at most 100 long")
    return alias


class IndexSettings(Section):
    """Where the points are kept."""

    min_free_bytes: int = Field(256 << 20, ge=0, lt=1 << 63)
    rebuild: Literal["auto", "ask"] = "auto"
    keep_hours: float = Field(24, ge=0, le=876_000, allow_inf_nan=False)
    url: Annotated[str, AfterValidator(_checked_url)] | None = None
    api_key_file: LocalPath | None = None
    alias: Annotated[str, AfterValidator(_checked_alias)] | None = None
    timeout_seconds: int = Field(30, ge=1, le=3600)
    deletion_timeout_seconds: int = Field(300, ge=1, le=3600)
    shard_number: int | None = Field(None, ge=1)
    replication_factor: int | None = Field(None, ge=1)
    write_consistency_factor: int | None = Field(None, ge=1)
