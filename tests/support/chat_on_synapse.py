"""A place to try the chat corpus in on a real Synapse: settings, refreshes, and what the index holds then."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from huginn.index.port import Place
from huginn.report import RunReport, SourceReport
from huginn.run import open_run
from huginn.settings import Settings
from tests.support.synapse import Answered, Synapse, User
from tests.support.workspace import Workspace


@dataclass(kw_only=True)
class SynapseWorkspace(Workspace):
    """A state folder, and settings with which a reader reads the homeserver at `url` through the real client."""

    url: str
    reader: User
    exclude_rooms: tuple[str, ...] = ()
    puppets: tuple[str, ...] = ()

    @classmethod
    def at(cls, root: Path, homeserver: Synapse, *, url: str | None = None) -> SynapseWorkspace:
        """With a reader who has a new account."""
        return cls(root, {}, url=url or homeserver.url, reader=homeserver.user("reader"))

    @property
    def chat(self) -> dict[str, Any]:
        """The section `[chat]` of the settings."""
        token = self.root / "token"
        token.write_text(self.reader.token, encoding="utf-8")
        token.chmod(0o600)
        return {
            "homeserver": self.url,
            "user": self.reader.id,
            "token_file": str(token),
            "exclude": self.exclude_rooms,
            "puppets": self.puppets,
        }

    @property
    def settings(self) -> Settings:
        values = {
            "state": self.root / "state",
            "forge": {"name": "Test"},
            "chat": self.chat,
            "index": {"min_free_bytes": 0},
        }
        return Settings.model_validate(values, context={"folder": self.root})

    def refresh(self, *only: str, **options: bool) -> RunReport:
        with open_run(self.settings, corpus="chat", only=only, **options) as run:  # type: ignore[arg-type] # flags of a run
            return run.finish([self._one(run, name) for name in run.sources])

    def report_of(self, room: str) -> SourceReport:
        """Refresh, and what became of one room."""
        (report,) = [source for source in self.refresh().sources if source.source == room]
        return report

    def texts(self) -> str:
        """All that the index holds, as one text to look for words in; with what the points are called."""
        with self.index() as index:
            return "\n".join(f"{point.id} {dict(point.payload)!r}" for point in index.stored(Place()))

    def bodies(self) -> dict[str, str]:
        """What each message says, by its id; the parts of a long one are joined."""
        with self.index() as index:
            found: list[Any] = [point.payload for point in index.stored(Place(corpus="chat"))]
        bodies: dict[str, str] = {}
        for payload in sorted(found, key=lambda payload: payload["part"]):
            for message in payload["messages"]:
                bodies[message["event_id"]] = bodies.get(message["event_id"], "") + message["body"]
        return bodies

    def fresh(self, name: str = "fresh") -> SynapseWorkspace:
        root = self.root / name
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        return SynapseWorkspace(
            root, {}, url=self.url, reader=self.reader, exclude_rooms=self.exclude_rooms, puppets=self.puppets
        )

    def is_as_built_from_nothing(self) -> bool:
        """Whether a build into an empty state gives the same points, payloads and vectors."""
        fresh = self.fresh()
        fresh.refresh()
        return self.points() == fresh.points()


@dataclass
class Replay:
    """Recorded events, sent to rooms of a real homeserver one after the other by its own users.

    `users` and `rooms` stand for those in the record. `ids` are the events' ids as the server gave them, by those of
    the record; `refused` are the ids of the record that it did not let through.
    """

    users: Mapping[str, User]
    rooms: Mapping[str, str]
    ids: dict[str, str] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)

    def send(self, events: Iterable[Any]) -> None:
        for event in events:
            try:
                self.ids.setdefault(event["event_id"], self._send(event))
            except (Answered, KeyError, TypeError, AttributeError):  # no event at all, too
                self.refused.append(event["event_id"] if isinstance(event, dict) else repr(event))

    def _send(self, event: Any) -> str:
        user, room, content = self.users[event["sender"]], self.rooms[event["room_id"]], event["content"]
        relation = content.get("m.relates_to")
        if isinstance(relation, dict) and "event_id" in relation:
            target = self.ids.get(relation["event_id"], relation["event_id"])
            content = {**content, "m.relates_to": {**relation, "event_id": target}}
        if "state_key" in event:
            return user.set_state(room, event["type"], content, event["state_key"])
        return user.send(room, content, kind=event["type"], ts=event["origin_server_ts"])
