"""A homeserver with one long room whose events stand in a file, a line each: only the page at hand is in memory.

`python -m tests.support.recorded_room FOLDER FILE` refreshes it into FOLDER, and tells what that took.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from huginn.chat.homeserver import Changes, Page, RawEvent, RoomFacts
from huginn.chat.scope import ScopedRoom
from tests.support.chat_workspace import ChatWorkspace
from tests.support.model_homeserver import READER, ModelHomeserver

ROOM = "!garden:example.org"


@dataclass
class RecordedHomeserver:
    """See `huginn.chat.homeserver.Homeserver`. `asked` are the places from which pages were asked for."""

    file: Path
    page: int = 1000
    user: str = READER
    asked: list[int] = field(default_factory=list)

    def joined_rooms(self) -> frozenset[str]:
        return frozenset({ROOM})

    def direct_rooms(self) -> frozenset[str]:
        return frozenset()

    def changes(self, since: str | None) -> Changes:
        with self.file.open("rb") as lines:
            token = f"s{sum(1 for _ in lines)}"
        return Changes(token, frozenset() if since == token else frozenset({ROOM}), frozenset())

    def facts(self, room: str) -> RoomFacts:
        return ModelHomeserver().new_room("garden").server.facts(room)

    def messages(self, room: ScopedRoom, since: str | None) -> Iterator[Page]:
        at = int(since[1:]) if since else 0
        with self.file.open(encoding="utf-8") as lines:
            rest = islice(lines, at, None)
            while True:
                self.asked.append(at)
                events = [json.loads(line) for line in islice(rest, self.page)]
                at += len(events)
                yield Page(events, f"t{at}" if events else None)
                if not events:
                    return

    def event(self, room: ScopedRoom, event_id: str) -> RawEvent | None:
        return None

    def edits(self, room: ScopedRoom, event_id: str) -> Sequence[RawEvent]:
        return []

    def close(self) -> None:
        """Nothing is held."""


def workspace_of(folder: Path, file: Path) -> ChatWorkspace:
    """A place to refresh the room in."""
    folder.mkdir(exist_ok=True)
    homeserver: Any = RecordedHomeserver(file)  # the field names the model's class; a refresh asks for the port's calls
    return ChatWorkspace(folder, {}, homeserver=homeserver)


def _peak_kib() -> int:
    """The most that this process has held; what resource.getrusage tells begins with its parent's."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    workspace = workspace_of(Path(sys.argv[1]), Path(sys.argv[2]))
    began = time.monotonic()
    (source,) = workspace.refresh().sources
    told = {
        "outcome": source.outcome.value,
        "messages": source.messages,
        "windows": source.chunks,
        "seconds": time.monotonic() - began,
        "peak_kib": _peak_kib(),
    }
    sys.stdout.write(json.dumps(told) + "\n")
