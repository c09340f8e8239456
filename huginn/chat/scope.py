"""Which rooms are in scope: what is known of a room in, a verdict out. Pure, and the only maker of `ScopedRoom`.

In scope are the rooms the reader has joined, minus the excluded, minus direct chats, minus bridged rooms. A sign
that a room must not be read counts wherever it is seen; that it may be read takes facts that are complete.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from huginn.chat.events import usable_id
from huginn.chat.homeserver import RoomFacts
from huginn.errors import Refused

Reason = Literal["not joined", "excluded", "direct", "bridged"]

SCOPE_VERSION = "1"
"""To be raised whenever the same facts give another verdict."""

_MAKER = object()  # the key to making `ScopedRoom`, which stays in this file
_EXCLUDED = ("#users", "#members", "#patrons")  # on any server
_TELLING_ALIASES = ("m.room.canonical_alias", "m.room.aliases")
_BRIDGES = frozenset({"m.bridge", "uk.half-shot.bridge"})
_NETWORKS = (
    "bluesky|bsky|discord|facebook|gitter|gmessages|googlechat|groupme|gvoice|hangouts|imessage|instagram|irc|kakaotalk|"
    "line|linkedin|mattermost|messenger|meta|mumble|qq|rocketchat|signal|skype|slack|sms|steam|teams|telegram|twitter|"
    "viber|vk|wechat|whatsapp|xmpp|zulip"
)
_PUPPETS = ("@_.*", f"@({_NETWORKS})_.*")


@dataclass(frozen=True)
class ScopedRoom:
    """A room whose messages may be read. `alias` is the canonical one."""

    id: str
    alias: str | None
    _made_by_scope: object = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self._made_by_scope is not _MAKER:
            raise TypeError("only huginn.chat.scope makes ScopedRoom: call judge(...)")


@dataclass(frozen=True)
class Rules:
    """What the settings add to the rules in this file. Raises `Refused` (field `chat.puppets`).

    `exclude` holds ids of rooms, and aliases; an alias without a server means all servers. `puppets` are regular
    expressions for whole ids of users, or for all that comes before the server.
    """

    reader: str
    exclude: tuple[str, ...] = ()
    puppets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _compiled(self.puppets)

    @property
    def fingerprint(self) -> str:
        """A short digest of all that a verdict depends on beside the facts."""
        matters = [SCOPE_VERSION, self.reader, sorted(set(self.exclude)), sorted(set(self.puppets))]
        return hashlib.sha256(json.dumps(matters).encode()).hexdigest()[:16]

    def is_puppet(self, user: object) -> bool:
        """Whether a user stands for somebody on another network. The reader does not."""
        if not isinstance(user, str) or user == self.reader:
            return False
        name = user.partition(":")[0]
        return any(pattern.fullmatch(user) or pattern.fullmatch(name) for pattern in _compiled(self.puppets))

    def excludes(self, alias: str) -> bool:
        """Whether a room must not be read for having this alias."""
        alias = alias.casefold()
        names = {name.casefold() for name in (*_EXCLUDED, *self.exclude)}
        return alias in names or alias.partition(":")[0] in names


@dataclass(frozen=True)
class Refusal:
    """A room must not be read. `detail`: the kind of sign, `event`: the id of the event that showed it, if one did."""

    reason: Reason
    detail: str
    event: str | None = None


@dataclass(frozen=True)
class Unread:
    """Could not look: nothing new is accepted, and nothing forgotten."""

    reason: str


def judge(
    room: str, facts: RoomFacts | None, *, joined: bool, direct: frozenset[str] | None, rules: Rules
) -> ScopedRoom | Refusal | Unread:
    """The verdict on a room. `facts` or `direct` (the reader's own list of direct chats) None: could not be read."""
    if not joined:
        return Refusal("not joined", "the reader is not in the room")
    if room in rules.exclude:
        return Refusal("excluded", "by its id")
    if direct is not None and room in direct:
        return Refusal("direct", "listed in the reader's account")
    if facts is None:
        return Unread("its state could not be read")
    if any(rules.excludes(alias) for alias in _aliases_ever(facts)):
        return Refusal("excluded", "by its alias")
    if refusal := sign_in([*facts.state, *facts.members], room, rules):
        return refusal
    return _judge_complete(room, facts, direct, rules)


def accepted_before(room: str, alias: str | None) -> ScopedRoom:
    """A room that an earlier run has judged, with the verdict of `judge` still standing: see `huginn.chat.notes`."""
    return ScopedRoom(room, alias, _MAKER)


def sign_in(events: Iterable[object], room: str, rules: Rules) -> Refusal | None:
    """The first sign among events of a room that it is bridged or a direct chat."""
    for event in events:
        if isinstance(event, Mapping) and event.get("room_id", room) == room and (sign := _sign(event, rules)):
            reason, detail = sign
            return Refusal(reason, detail, usable_id(event.get("event_id")))
    return None


@functools.cache
def _compiled(puppets: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    try:
        return tuple(re.compile(puppet, re.IGNORECASE | re.DOTALL) for puppet in (*_PUPPETS, *puppets))
    except (re.error, RecursionError, OverflowError):
        raise Refused("chat.puppets", "holds what is no regular expression", next_step="correct it") from None


def _sign(event: Mapping[str, object], rules: Rules) -> tuple[Literal["bridged", "direct"], str] | None:
    kind, key = event.get("type"), event.get("state_key")
    if isinstance(kind, str) and kind in _BRIDGES and key is not None:
        return "bridged", f"state event {kind}"
    if rules.is_puppet(event.get("sender")):
        return "bridged", "sender in a puppet namespace"
    if kind != "m.room.member":
        return None
    if rules.is_puppet(key):
        return "bridged", "member in a puppet namespace"
    if key == rules.reader and any(content.get("is_direct") for content in _contents(event)):
        return "direct", "marked so in a membership of the reader"
    return None


def _judge_complete(
    room: str, facts: RoomFacts, direct: frozenset[str] | None, rules: Rules
) -> ScopedRoom | Refusal | Unread:
    """The verdict where nothing is seen that speaks against a room: all of it must have been there to be seen."""
    state: dict[tuple[object, object], Mapping[str, object]] = {}
    for event in (*facts.state, *facts.members):
        if not isinstance(event, Mapping) or event.get("room_id", room) != room:
            return Unread("its state holds what is no event of it")
    for event in facts.state:
        content, place = _mapping(event).get("content"), (_mapping(event).get("type"), _mapping(event).get("state_key"))
        if isinstance(content, Mapping) and all(isinstance(part, str) for part in place):
            state[place] = content
    own = state.get(("m.room.member", rules.reader), {}).get("membership")
    join_rule = state.get(("m.room.join_rules", ""), {}).get("join_rule")
    if ("m.room.create", "") not in state or not isinstance(join_rule, str) or own != "join":
        return Unread("its state is incomplete: no creation, no join rule, or no membership of the reader")
    members = [content.get("membership") for (kind, _), content in state.items() if kind == "m.room.member"]
    present = sum(membership in ("join", "invite") for membership in members)
    canonical = state.get(("m.room.canonical_alias", ""), {})
    if present <= 2 and join_rule != "public" and not _aliases(facts, [canonical]):
        return Refusal("direct", "at most two members, not public, no alias")
    if direct is None:
        return Unread("the reader's list of direct chats could not be read")
    return ScopedRoom(room, _alias(canonical), _MAKER)


def _aliases(facts: RoomFacts, contents: Iterable[Mapping[str, object]]) -> set[str]:
    """The aliases of a room by the directory, and by these contents of state events."""
    named: list[object] = [*facts.aliases]
    for content in contents:
        named.append(content.get("alias"))
        for several in (content.get("alt_aliases"), content.get("aliases")):
            named += several if isinstance(several, list) else []
    return {alias for alias in named if isinstance(alias, str) and alias.startswith("#")}


def _aliases_ever(facts: RoomFacts) -> set[str]:
    """Also those before the last change, and those of servers' own lists, which older versions of rooms have."""
    events = [event for event in map(_mapping, facts.state) if event.get("type") in _TELLING_ALIASES]
    return _aliases(facts, (content for event in events for content in _contents(event)))


def _alias(content: Mapping[str, object]) -> str | None:
    alias = usable_id(content.get("alias"))
    return alias if alias and alias.startswith("#") else None


def _contents(event: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """What a state event says, and what the one before it said."""
    for value in (event.get("content"), _mapping(event.get("unsigned")).get("prev_content"), event.get("prev_content")):
        yield _mapping(value)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
