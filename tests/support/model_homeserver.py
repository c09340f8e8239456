"""A homeserver in memory that serves rooms as Synapse was seen to: pruned events, bundled edits, tokens, small pages.

It stands for the homeserver where thousands of histories are played; that a real one behaves so is tested elsewhere.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from huginn.chat.homeserver import Changes, FactsUnread, Page, RawEvent, RoomFacts, TokenUnknown
from huginn.chat.scope import ScopedRoom
from huginn.errors import Unavailable

READER = "@huginn:example.org"
HOUR = 3_600_000
START = 1_767_225_600_000  # 2026-01-01T00:00:00Z
KEPT_OF_STATE = {"m.room.member": {"membership"}, "m.room.create": {"creator"}, "m.room.join_rules": {"join_rule"}}


@dataclass
class ModelRoom:
    """A room: its events in the order in which the server got them, and what it says of them now."""

    id: str
    server: ModelHomeserver
    events: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)

    def add(self, kind: str, sender: str, content: dict[str, Any], time: int | None = None, **more: Any) -> str:
        """One more event; returns its id."""
        position = next(self.server.stream)
        event = {
            "type": kind,
            "event_id": f"$e{position}",
            "room_id": self.id,
            "sender": sender,
            "origin_server_ts": START + position * 1000 if time is None else time,
            "content": content,
            "unsigned": {},
            **more,
        }
        self.events.append((position, event))
        return str(event["event_id"])

    def state(self, kind: str, key: str, content: dict[str, Any], sender: str = "@admin:example.org") -> str:
        return self.add(kind, sender, content, state_key=key)

    def join(self, user: str, **content: Any) -> str:
        return self.state("m.room.member", user, {"membership": "join", **content}, sender=user)

    def leave(self, user: str) -> str:
        return self.state("m.room.member", user, {"membership": "leave"}, sender=user)

    def send(self, sender: str, body: str, time: int | None = None, **content: Any) -> str:
        return self.add("m.room.message", sender, {"msgtype": "m.text", "body": body, **content}, time)

    def edit(self, sender: str, target: str, body: str, time: int | None = None) -> str:
        relation = {"rel_type": "m.replace", "event_id": target}
        new = {"msgtype": "m.text", "body": body}
        return self.send(sender, f"* {body}", time, **{"m.new_content": new, "m.relates_to": relation})

    def react(self, sender: str, target: str) -> str:
        relation = {"rel_type": "m.annotation", "event_id": target, "key": "+"}
        return self.add("m.reaction", sender, {"m.relates_to": relation})

    def redact(self, sender: str, target: str) -> str:
        """Redact an event, which is then served without its content."""
        redaction = self.add("m.room.redaction", sender, {"redacts": target}, redacts=target)
        for _, event in self.events:
            if event["event_id"] == target:
                keeps = KEPT_OF_STATE.get(event["type"], set()) if "state_key" in event else set()
                event["content"] = {key: event["content"][key] for key in keeps if key in event["content"]}
                event.pop("redacts", None)
                event["unsigned"] = {"redacted_because": {"event_id": redaction, "type": "m.room.redaction"}}
        return redaction

    def purge(self, *event_ids: str) -> None:
        """Purge events from the history, as an admin does: they are served no more, and nobody is told.

        A redaction that aims at one of them goes with it.
        """
        self.events = [
            (position, event)
            for position, event in self.events
            if event["event_id"] not in event_ids and event.get("redacts") not in event_ids
        ]

    def get(self, event_id: str) -> dict[str, Any] | None:
        return next((event for _, event in self.events if event["event_id"] == event_id), None)

    def served(self, event: dict[str, Any]) -> dict[str, Any]:
        """An event as it is served now: with its newest edit bundled, if it is no longer as it was sent."""
        given = copy.deepcopy(event)
        edits = self.edits_of(event["event_id"])
        if edits and event["content"]:
            newest = max(edits, key=lambda edit: (edit["origin_server_ts"], edit["event_id"]))
            given["unsigned"]["m.relations"] = {"m.replace": copy.deepcopy(newest)}
        return given

    def edits_of(self, event_id: str) -> list[dict[str, Any]]:
        """What `/relations` gives: nothing for what is redacted."""
        original = self.get(event_id)
        if original is None or not original["content"]:
            return []
        found = []
        for _, event in self.events:
            relation = event["content"].get("m.relates_to", {})
            is_edit = relation.get("rel_type") == "m.replace" and relation.get("event_id") == event_id
            if is_edit and event["sender"] == original["sender"]:
                found.append(event)
        return found

    def state_now(self) -> list[dict[str, Any]]:
        now: dict[tuple[str, str], dict[str, Any]] = {}
        for _, event in self.events:
            if "state_key" in event:
                now[event["type"], event["state_key"]] = event
        return list(now.values())


class ModelHomeserver:
    """See `huginn.chat.homeserver.Homeserver`. `away`: names of calls that fail, with or without a room's id."""

    user = READER

    def __init__(self, page: int = 4) -> None:
        self.stream = itertools.count(1)
        self.rooms: dict[str, ModelRoom] = {}
        self.direct: set[str] = set()
        self.away: set[str] = set()
        self.calls: list[str] = []
        self.page = page
        self.era = 0

    def new_room(self, name: str, members: Sequence[str] = ("@a:example.org", "@b:example.org")) -> ModelRoom:
        """A room that is in scope: joined by the reader and the members, with a join rule."""
        room = ModelRoom(f"!{name}:example.org", self)
        self.rooms[room.id] = room
        room.state("m.room.create", "", {"creator": members[0]}, sender=members[0])
        room.state("m.room.join_rules", "", {"join_rule": "public"})
        for user in (*members, READER):
            room.join(user)
        return room

    def position(self) -> int:
        return max((position for room in self.rooms.values() for position, _ in room.events), default=0)

    def joined_rooms(self) -> frozenset[str]:
        self._called("joined_rooms")
        return frozenset(room.id for room in self.rooms.values() if self._is_joined(room))

    def direct_rooms(self) -> frozenset[str]:
        self._called("direct_rooms", FactsUnread)
        return frozenset(self.direct)

    def changes(self, since: str | None) -> Changes:
        self._called("changes")
        after = 0 if since is None else self._position_of(since)
        joined = [room for room in self.rooms.values() if self._is_joined(room)]
        new = {room.id: [event for position, event in room.events if position > after] for room in joined}
        changed = frozenset(room for room, events in new.items() if events)
        state = frozenset(room for room, events in new.items() if any("state_key" in event for event in events))
        return Changes(self._token("s", self.position()), changed, state if since else frozenset())

    def facts(self, room: str) -> RoomFacts:
        self._called("facts", FactsUnread, room)
        there = self.rooms[room]
        members = [copy.deepcopy(event) for _, event in there.events if event["type"] == "m.room.member"]
        return RoomFacts(room, copy.deepcopy(there.state_now()), list(there.aliases), members)

    def messages(self, room: ScopedRoom, since: str | None) -> Iterator[Page]:
        after = 0 if since is None else self._position_of(since)
        there = self.rooms[room.id]
        while True:
            self._called("messages", Unavailable, room.id)
            page = [(position, event) for position, event in there.events if position > after][: self.page]
            if not page:
                yield Page([], None)
                return
            after = page[-1][0]
            yield Page([there.served(event) for _, event in page], self._token("t", after))

    def event(self, room: ScopedRoom, event_id: str) -> RawEvent | None:
        self._called("event", Unavailable, room.id)
        event = self.rooms[room.id].get(event_id)
        return None if event is None else self.rooms[room.id].served(event)

    def edits(self, room: ScopedRoom, event_id: str) -> Sequence[RawEvent]:
        self._called("edits", Unavailable, room.id)
        return [copy.deepcopy(edit) for edit in self.rooms[room.id].edits_of(event_id)]

    def close(self) -> None:
        """Nothing is held."""

    def _is_joined(self, room: ModelRoom) -> bool:
        member = next((event for event in room.state_now() if event.get("state_key") == READER), None)
        return member is not None and member["content"].get("membership") == "join"

    def forget_tokens(self) -> None:
        """Know no token any more that has been given until now."""
        self.era += 1

    def _token(self, kind: str, position: int) -> str:
        return f"{kind}{self.era}.{position}"

    def _position_of(self, token: str) -> int:
        era, _, position = token[1:].partition(".")
        if token[:1] not in ("s", "t") or era != str(self.era) or not position.isdigit():
            raise TokenUnknown
        return int(position)

    def _called(self, name: str, error: type[Exception] = Unavailable, room: str = "") -> None:
        self.calls.append(name)
        if name in self.away or f"{name} {room}" in self.away:
            if error is Unavailable:
                raise Unavailable("homeserver", "does not answer")
            raise error(f"{name}: status 500")
