"""Which index was in use last: what `huginn status` tells without asking a server.

With the embedded engine the folder says it; with a server it is a note in the state folder, `index/server.json`,
written anew by each refresh. Nothing is ever read from or written to an index by it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from huginn.index import folder
from huginn.index.label import Label
from huginn.settings import Settings


@dataclass(frozen=True)
class Noted:
    """The random id and the label of an index."""

    id: str
    label: Label


def noted(settings: Settings) -> Noted | None:
    """The index in use, as far as this host knows."""
    if settings.index.url is None:
        collection = folder.current(settings.state)
        return Noted(collection.id, collection.label) if collection else None
    try:
        content = json.loads(_path(settings).read_bytes())
        if content["server"] != _server(settings):
            return None
        return Noted(str(content["id"]), Label.model_validate(content["label"]))
    except (FileNotFoundError, ValueError, KeyError, TypeError, ValidationError):
        return None  # the next refresh writes it anew


def note(settings: Settings, index_id: str, label: Label) -> None:
    """Keep which index a refresh works with."""
    path = _path(settings)
    path.parent.mkdir(parents=True, exist_ok=True)
    folder.write(path, {"server": _server(settings), "id": index_id, "label": label.model_dump()})


def _path(settings: Settings) -> Path:
    return folder.root(settings.state) / "server.json"


def _server(settings: Settings) -> list[str | None]:
    return [settings.index.url, settings.index.alias, settings.forge.name]
