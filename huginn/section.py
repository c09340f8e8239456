"""What each section of the settings is made of: frozen, without unknown keys, its errors silent about values."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationInfo


class Section(BaseModel):
    """A table of the settings file."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


def folder_of(context: Mapping[str, Path] | None) -> Path:
    """Where relative paths start. The working directory is asked for only if need be: it may have been deleted."""
    return context["folder"] if context and "folder" in context else Path.cwd()


def _written_path(value: object) -> object:
    if isinstance(value, str) and not value.strip():
        raise ValueError("is empty; give a path")
    if isinstance(value, str) and "\0" in value:
        raise ValueError("no path can hold a NUL character")
    return value


def _from_folder(path: Path, info: ValidationInfo) -> Path:
    try:
        expanded = path.expanduser()
    except RuntimeError:
        raise ValueError("there is no such home folder; write the path without ~") from None
    absolute = expanded if expanded.is_absolute() else folder_of(info.context) / expanded
    if not is_text(str(absolute)):
        raise ValueError("is no valid text, with the folder it lies in; give a path in UTF-8")
    return Path(os.path.normpath(absolute))


def is_text(text: str) -> bool:
    """Whether it can be written as UTF-8: bytes of the environment that are none come as halves of surrogate pairs."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


LocalPath = Annotated[Path, BeforeValidator(_written_path), AfterValidator(_from_folder)]
"""A path that counts from the folder of the settings file."""


def http_parts(url: str) -> SplitResult | None:
    """The parts of an address that a client can be given: http or https, with a host; None if it is no such address."""
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if is_usable else None


def _checked_pattern(pattern: str) -> str:
    import pathspec  # noqa: PLC0415 - a search without patterns starts faster without it

    if not is_text(pattern):
        raise ValueError("is no valid text; give it in UTF-8")
    try:
        pathspec.GitIgnoreSpec.from_lines([pattern])
    except ValueError:
        raise ValueError('write it as in a .gitignore file, such as "docs/old/" or "*.svg"') from None
    return pattern


Pattern = Annotated[str, AfterValidator(_checked_pattern)]
"""A pattern as in a `.gitignore` file."""


def checked_username(name: str) -> str:
    """The name of a user as given, if all of it can be shown; else ValueError."""
    if not name.isprintable():  # which halves of surrogate pairs are not either
        raise ValueError("holds characters that cannot be shown")
    return name
