"""Which index was in use last: what `huginn status` tells without asking a server.

With the embedded engine the folders say it; with a server it is a note in the state folder, `index/server.json`,
written anew by each refresh and each switch. Nothing is ever read from or written to an index by it.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ValidationError

from huginn.index.disk import replace_file
from huginn.index.folder import Folders
from huginn.index.label import Label
from huginn.index.shelf import Collection
from huginn.settings import Settings


class _Note(BaseModel):
    url: str | None
    alias: str | None
    forge: str
    name: str
    id: str
    label: Label


def note(settings: Settings, collection: Collection) -> None:
    """Keep which collection on the server is in use."""
    index, forge = settings.index, settings.forge.name
    kept = _Note(
        url=index.url, alias=index.alias, forge=forge, name=collection.name, id=collection.id, label=collection.label
    )
    _path(settings).parent.mkdir(parents=True, exist_ok=True)
    replace_file(_path(settings), kept.model_dump_json(indent=1))


def noted(settings: Settings) -> Collection | None:
    """The collection in use, as far as this host knows: no server is asked."""
    if settings.index.url is None:
        return Folders(settings.state, settings.index.min_free_bytes).current()
    try:
        note = _Note.model_validate_json(_path(settings).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None  # the next refresh writes it anew
    if (note.url, note.alias, note.forge) != (settings.index.url, settings.index.alias, settings.forge.name):
        return None
    return Collection(note.name, note.id, note.label)


def _path(settings: Settings) -> Path:
    return settings.state / "index" / "server.json"
