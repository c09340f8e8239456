"""A room of a homeserver in memory, and an index of it: what the fold says is applied as a refresh applies it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from huginn.chat.events import Message, parse
from huginn.chat.fold import Folded, fold, restored, wanted_ids
from huginn.chat.homeserver import RoomFacts
from huginn.chat.known import Known
from huginn.chat.scope import Rules, ScopedRoom, judge
from huginn.chat.window import Line
from huginn.scrub import scrub

ROOM = "!garden:example.org"
READER = "@huginn:example.org"
ADA, BO = "@ada:example.org", "@bo:example.org"
TIME = 1_709_283_600_000

Raw = dict[str, Any]


def event(event_id: str, content: object, **fields: object) -> Raw:
    """A message event by Ada; `fields` are set over it."""
    base = {"type": "m.room.message", "event_id": event_id, "room_id": ROOM, "sender": ADA, "origin_server_ts": TIME}
    return {**base, "content": content, **fields}


def said(event_id: str, body: object, **fields: object) -> Raw:
    return event(event_id, {"msgtype": "m.text", "body": body}, **fields)


def edit(event_id: str, target: object, new: object, **fields: object) -> Raw:
    """An edit; `new` is a new body, or a whole new content."""
    new_content = {"msgtype": "m.text", "body": new} if isinstance(new, str) else new
    relation = {"rel_type": "m.replace", "event_id": target}
    content = {"msgtype": "m.text", "body": "* starred", "m.relates_to": relation, "m.new_content": new_content}
    return event(event_id, content, **fields)


def redaction(event_id: str, target: object, **fields: object) -> Raw:
    """A redaction as all versions of rooms have it, with what it aims at in both places."""
    return event(event_id, {"redacts": target}, type="m.room.redaction", redacts=target, **fields)


def state(kind: str, content: object, key: object = "", **fields: object) -> Raw:
    return {"type": kind, "state_key": key, "sender": "@mod:example.org", "content": content, **fields}


def facts_of(room: str, *more: object, members: Sequence[str] = (READER, ADA, BO), rule: str = "invite") -> RoomFacts:
    """What is known of an ordinary room; `more` stands behind it in its state."""
    joined = [state("m.room.member", {"membership": "join"}, user) for user in members]
    rules = state("m.room.join_rules", {"join_rule": rule})
    return RoomFacts(room, [state("m.room.create", {}), rules, *joined, *more], [], [])


def scoped_room(room: str = ROOM, alias: str | None = None) -> ScopedRoom:
    """A room that is in scope."""
    more = [state("m.room.canonical_alias", {"alias": alias})] if alias else []
    verdict = judge(room, facts_of(room, *more), joined=True, direct=frozenset(), rules=Rules(READER))
    assert isinstance(verdict, ScopedRoom)
    return verdict


class RoomInMemory:
    """`upstream` is all that the homeserver has; `feed` takes in some of it, and `texts` is what the index holds."""

    def __init__(self, upstream: Iterable[object] = ()) -> None:
        self.upstream: list[Any] = list(upstream)
        self.texts: dict[str, Message] = {}
        self.rebuilds = 0
        self.asked: list[str] = []
        self._known: dict[str, Known] = {}
        self._records: list[Known] = []
        self._fed: list[object] = []

    def feed(self, entries: Iterable[object], *, is_whole: bool = False) -> Folded:
        """Take in one batch. Where the fold asks for it, all that was fed so far is read anew."""
        entries = list(entries)
        self._fed += entries
        parsed = [one for entry in entries for one in parse(entry, ROOM)]
        ids = wanted_ids(parsed)
        known = {event_id: self._known[event_id] for event_id in ids if event_id in self._known}
        about = {event_id: [one for one in self._records if one.target == event_id] for event_id in ids}
        folded = fold(parsed, known, about, is_whole=is_whole)
        assert not (is_whole and folded.rebuild)
        assert not folded.gone & folded.restore
        assert not set(folded.texts) & (folded.gone | folded.restore)
        if folded.rebuild:
            fed, self._fed, self._known, self._records, self.texts = self._fed, [], {}, [], {}
            self.rebuilds += 1
            self.feed(fed, is_whole=True)
            return folded
        self._learn(folded.learned)
        for event_id in folded.gone | folded.restore:
            self.texts.pop(event_id, None)
        self.texts.update(folded.texts)
        for event_id in folded.restore:
            self._restore(event_id)
        return folded

    @property
    def bodies(self) -> dict[str, str]:
        return {event_id: message.body for event_id, message in self.texts.items()}

    @property
    def lines(self) -> list[Line]:
        return [Line(one.id, one.sender, one.time, scrub(one.body).clean) for one in self.texts.values()]

    def _learn(self, learned: Iterable[Known]) -> None:
        for one in learned:
            assert one.id not in self._known or one.kind == "pruned", "only a redaction changes what is known"
            self._known[one.id] = one
            self._records.append(one)

    def _restore(self, event_id: str) -> None:
        self.asked.append(event_id)
        answer = restored(event_id, self._event(event_id), self._edits(event_id), self._known, ROOM)
        self._learn(answer.learned)
        if answer.message is not None:
            self.texts[event_id] = answer.message

    def _redacted(self) -> set[object]:
        """The ids that the homeserver would serve pruned."""
        events = [entry for entry in self.upstream if isinstance(entry, Mapping)]
        redactions = [entry for entry in events if entry.get("type") == "m.room.redaction"]
        aimed = {entry["content"].get("redacts") for entry in redactions} | {one.get("redacts") for one in redactions}
        return aimed | {entry.get("event_id") for entry in events if entry.get("content") == {}}

    def _event(self, event_id: str) -> Raw | None:
        found = [one for one in self.upstream if isinstance(one, dict) and one.get("event_id") == event_id]
        if not found:
            return None
        return {**found[0], "content": {}, "unsigned": {}} if event_id in self._redacted() else found[0]

    def _edits(self, event_id: str) -> list[Raw]:
        redacted = self._redacted()
        return [one for one in self.upstream if _replaces(one) == event_id and one["event_id"] not in redacted]


def _replaces(entry: Any) -> object:
    try:
        relation = entry["content"]["m.relates_to"]
        return relation["event_id"] if relation["rel_type"] == "m.replace" else None
    except (KeyError, TypeError):
        return None
