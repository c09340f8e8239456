"""A place to try the chat corpus in: settings, a homeserver in memory, refreshes, and all that the index holds."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import huginn.chat.intake
from huginn.errors import HuginnError
from huginn.index.port import Place
from huginn.purging import PurgeReport, Request, purge
from huginn.report import RunReport, SourceReport
from huginn.run import Run, open_run
from huginn.settings import Settings
from tests.support.model_homeserver import READER, ModelHomeserver
from tests.support.workspace import Workspace


@dataclass
class ChatWorkspace(Workspace):
    """A state folder, and settings that name a homeserver; `homeserver` stands for it in every refresh."""

    homeserver: ModelHomeserver = field(default_factory=ModelHomeserver)
    exclude_rooms: tuple[str, ...] = ()
    puppets: tuple[str, ...] = ()

    @classmethod
    def at(cls, root: Path) -> ChatWorkspace:
        return cls(root, {})

    @property
    def settings(self) -> Settings:
        chat = {
            "homeserver": "http://127.0.0.1:9",
            "user": READER,
            "exclude": self.exclude_rooms,
            "puppets": self.puppets,
        }
        values: dict[str, Any] = {
            "state": self.root / "state",
            "forge": {"name": "Test"},
            "chat": chat,
            "embedder": dict(self.embedder),
            "index": {"min_free_bytes": 0, **self.index_settings},
        }
        return Settings.model_validate(values, context={"folder": self.root})

    def refresh(self, *only: str, **options: bool) -> RunReport:
        with (
            patch.object(huginn.chat.intake, "open_homeserver", lambda _: self.homeserver),
            open_run(self.settings, corpus="chat", only=only, **options) as run,  # type: ignore[arg-type] # flags of a run
        ):
            return run.finish([_one(run, name) for name in run.sources])

    def purge(
        self, room: str, start: datetime, end: datetime, *, expect: int | None = None, **options: bool
    ) -> PurgeReport:
        """Purge a span; without `expect` however many messages that are."""
        request = Request(room, start, end, "as was asked", "ann")
        options = {"dry_run": False, **options}
        return purge(self.settings, request, expect=10_000 if expect is None else expect, wait=5, **options)

    def texts(self) -> str:
        """All that the index holds of rooms, as one text to look for words in."""
        with self.index() as index:
            return "\n".join(repr(dict(point.payload)) for point in index.stored(Place()))

    def filled(self) -> ChatWorkspace:
        """This workspace after a refresh."""
        self.refresh()
        return self

    def fresh(self, name: str = "fresh") -> ChatWorkspace:
        """Another place with nothing built yet: the same homeserver, the same purge record."""
        fresh = self._another(name)
        record = self.settings.state / "purges.jsonl"
        if record.exists():  # which is no part of what can be built anew
            fresh.settings.state.mkdir()
            shutil.copy(record, fresh.settings.state)
        return fresh

    def copy(self, name: str) -> ChatWorkspace:
        """Another place with a copy of the state folder as it is now."""
        copied = self._another(name)
        # Not by Python: most of an index's files are holes.
        subprocess.run(["cp", "-a", "--sparse=always", self.settings.state, copied.settings.state], check=True)
        return copied

    def _another(self, name: str) -> ChatWorkspace:
        root = self.root / name
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        return replace(self, root=root)


def _one(run: Run, name: str) -> SourceReport:
    try:
        return run.refresh(name)
    except HuginnError as error:
        return run.failed(name, error)
