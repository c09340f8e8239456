"""The homeserver as a refresh sees it: how each question of `huginn.chat.homeserver` is asked, and what comes back.

In: ids and tokens. Out: the server's own entries, untouched, once the answer around them has the shape that the
Matrix specification (client-server API, v1.11) gives it; else `Unavailable`. Nothing is sent, joined or marked as read,
and the content of no message comes before its room is a `ScopedRoom`: until then state and member events, by filter.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from huginn.chat.ahead import Asking, read_ahead
from huginn.chat.client import RELATIONS, Client
from huginn.chat.faults import Failing, Rejected
from huginn.chat.homeserver import Changes, FactsUnread, Page, RawEvent, RoomFacts, TokenUnknown
from huginn.chat.scope import ScopedRoom
from huginn.chat.settings import ChatSettings, read_token
from huginn.errors import Refused, Unavailable

Kind = TypeVar("Kind")

PAGE_SIZE = 1000
"""The most that Synapse gives at once."""

_PAGES_AHEAD = 4
_EMPTY_PAGES = 10_000  # in a row, after which a server that always names another page is not believed
_NOTHING = {"not_types": ["*"]}
_LONGEST_ID = 255
_NO_SUCH_TOKEN = ("M_UNKNOWN", "M_INVALID_PARAM", "M_UNKNOWN_POS")


def open_homeserver(settings: ChatSettings, environment: Mapping[str, str] = os.environ) -> MatrixHomeserver:
    """The homeserver of the settings; nothing is asked yet. Raises `Refused` for a token that cannot be read."""
    token = read_token(settings, environment)
    return MatrixHomeserver(Client(settings.homeserver, token, timeout_seconds=settings.timeout_seconds), settings.user)


class MatrixHomeserver:
    """See `huginn.chat.homeserver.Homeserver`."""

    def __init__(self, client: Client, user: str) -> None:
        self._client = client
        self._user = user

    @property
    def user(self) -> str:
        """See the port."""
        return self._user

    def close(self) -> None:
        """See the port."""
        self._client.close()

    def whoami(self) -> str:
        """The id of the account that the token belongs to."""
        return self._member(self._ask(["account", "whoami"]), "user_id", str)

    def joined_rooms(self) -> frozenset[str]:
        """See the port."""
        rooms = self._member(self._ask(["joined_rooms"]), "joined_rooms", list)
        return frozenset(self._is(room, str) for room in rooms)

    def direct_rooms(self) -> frozenset[str]:
        """See the port. A token of another account than the reader's is `Refused` (field `chat.user`)."""
        try:
            return self._listed(self._client.get(["user", self._user, "account_data", "m.direct"]))
        except Rejected as no:
            if (no.status, no.code) == (404, "M_NOT_FOUND"):
                return frozenset()
            self._check_user()
            raise FactsUnread(f"the list of direct chats cannot be read ({no})") from None
        except Failing as failure:
            raise FactsUnread(f"the list of direct chats cannot be read ({failure.reason})") from None

    def changes(self, since: str | None) -> Changes:
        """See the port. The answer holds types and ids of events alone."""
        query = {"filter": _sync_filter(is_first=since is None), "timeout": "0", "set_presence": "offline"}
        try:
            answer = self._is(self._client.get(["sync"], {**query, "since": since} if since else query), dict)
        except Rejected as no:
            raise self._refused_token(no, since) from None
        joined = self._member(self._member(answer, "rooms", dict, {}), "join", dict, {})
        rooms = frozenset(joined)
        changed = rooms if since is None else frozenset(room for room in rooms if self._has_state(joined[room]))
        token = self._member(answer, "next_batch", str)
        return Changes(token=token, rooms=rooms, state_changed=changed)

    def facts(self, room: str) -> RoomFacts:
        """See the port."""
        try:
            state = self._state(room)
            aliases = self._member(self._client.get(["rooms", room, "aliases"]), "aliases", list)
            names = [self._is(alias, str) for alias in aliases]
            members = [
                entry for page in self._pages(self._asking(room), None, ["m.room.member"]) for entry in page.events
            ]
        except Rejected as no:
            raise FactsUnread(f"what decides about {room} cannot be read ({no})") from None
        except Failing as failure:
            raise FactsUnread(f"what decides about {room} cannot be read ({failure.reason})") from None
        return RoomFacts(room=room, state=state, aliases=names, members=members)

    def messages(self, room: ScopedRoom, since: str | None) -> Iterator[Page]:
        """See the port. The next pages are asked for while the caller works on one."""
        asking = self._asking(room.id)
        try:
            yield from read_ahead(self._pages(asking, since), _PAGES_AHEAD)
        except Rejected as no:
            if no.status in (403, 404):
                raise FactsUnread(f"the messages of {room.id} cannot be read ({no})") from None
            raise self._refused_token(no, since) from None
        finally:
            asking.end()  # of a room that turns out to be none of ours no more is read

    def event(self, room: ScopedRoom, event_id: str) -> RawEvent | None:
        """See the port."""
        if not _is_event_id(event_id):
            return None
        try:
            return self._is(self._client.get(["rooms", room.id, "event", event_id]), dict)
        except Rejected as no:
            if no.status == 404:
                return None
            raise FactsUnread(f"the event {event_id} of {room.id} cannot be read ({no})") from None

    def edits(self, room: ScopedRoom, event_id: str) -> Sequence[RawEvent]:
        """See the port."""
        if not _is_event_id(event_id):
            return []
        path = ["rooms", room.id, "relations", event_id, "m.replace"]
        found: list[RawEvent] = []
        seen: set[str | None] = {None}
        query = {"limit": str(PAGE_SIZE)}
        try:
            while True:
                answer = self._is(self._client.get(path, query, base=RELATIONS), dict)
                found += [entry for entry in self._member(answer, "chunk", list) if isinstance(entry, dict)]
                token = self._new_token(answer, "next_batch", seen)
                if token is None:
                    return found
                query["from"] = token
        except Rejected as no:
            if no.status == 404:
                return []
            raise FactsUnread(f"the edits of {event_id} of {room.id} cannot be read ({no})") from None

    def _listed(self, direct: object) -> frozenset[str]:
        by_person = self._is(direct, dict).values()
        return frozenset(self._is(room, str) for rooms in by_person for room in self._is(rooms, list))

    def _state(self, room: str) -> Sequence[object]:
        return self._is(self._client.get(["rooms", room, "state"]), list)

    def _asking(self, room: str) -> Asking:
        return Asking(lambda query: self._client.begin(["rooms", room, "messages"], query))

    def _pages(self, asking: Asking, since: str | None, types: Sequence[str] = ()) -> Iterator[Page]:
        """All pages of a room's history from a token on, the last one without an `end`."""
        query = {"dir": "f", "limit": str(PAGE_SIZE)}
        if types:
            query["filter"] = json.dumps({"types": types})
        seen = {since}
        empty = 0
        coming = asking.ask({**query, "from": since} if since else query)
        while True:
            answer = self._is(coming.result(), dict)
            page = Page(self._member(answer, "chunk", list), self._new_token(answer, "end", seen))
            empty = 0 if page.events else empty + 1
            if empty > _EMPTY_PAGES:
                raise self._not_a_homeserver()
            if page.end is not None:
                coming = asking.ask({**query, "from": page.end})
            yield page
            if page.end is None:
                return

    def _new_token(self, answer: object, key: str, seen: set[str | None]) -> str | None:
        """Where the next page begins, if there is one. A place where we have been would lead round for ever."""
        token = self._member(answer, key, str, "") or None
        if token is not None and token in seen:
            raise self._not_a_homeserver()
        seen.add(token)
        return token

    def _has_state(self, room: object) -> bool:
        """Whether state events are among what happened; an entry that cannot be understood may be one."""
        happened = [
            entry
            for part in ("state", "timeline")
            for entry in self._member(self._member(room, part, dict, {}), "events", list, [])
        ]
        return any(not isinstance(entry, dict) or "state_key" in entry for entry in happened)

    def _ask(self, path: Sequence[str]) -> object:
        try:
            return self._client.get(path)
        except Rejected as no:
            raise self._says_no(no) from None

    def _refused_token(self, no: Rejected, since: str | None) -> Exception:
        if since is not None and no.status == 400 and no.code in _NO_SUCH_TOKEN:
            return TokenUnknown(f"the homeserver does not know a token of ours ({no})")
        return self._says_no(no)

    def _check_user(self) -> None:
        owner = self.whoami()
        if owner != self._user:
            shown = owner if owner.isprintable() and len(owner) <= _LONGEST_ID else "another account"
            next_step = "set chat.user to it, or give the reader's token"
            raise Refused("chat.user", f"the token belongs to {shown}", next_step=next_step)

    def _is(self, value: object, kind: type[Kind]) -> Kind:
        if not isinstance(value, kind):
            raise self._not_a_homeserver()
        return value

    def _member(self, value: object, key: str, kind: type[Kind], default: Kind | None = None) -> Kind:
        """A member of an object in an answer; where it is missing or null, the default, if there is one."""
        found = self._is(value, dict).get(key)
        return default if found is None and default is not None else self._is(found, kind)

    def _says_no(self, no: Rejected) -> Unavailable:
        next_step = "see what the homeserver allows this account"
        return Unavailable("homeserver", f"{self._client.shown} says no ({no})", next_step=next_step)

    def _not_a_homeserver(self) -> Failing:
        reason = f"{self._client.shown} gives an answer that no homeserver gives"
        next_step = "look at the homeserver and at what stands before it"
        return Failing("homeserver", reason, next_step=next_step)


def _sync_filter(*, is_first: bool) -> str:
    """Only what tells that something happened. A field with a name of its own in each question goes round the server's
    cache, which would give the same answer to the same question for some minutes.
    """
    state = _NOTHING if is_first else {}
    room = {"timeline": {"limit": 1}, "state": state, "ephemeral": _NOTHING, "account_data": _NOTHING}
    fields = ["type", "state_key", "event_id", f"huginn.{secrets.token_hex(8)}"]
    return json.dumps({"event_fields": fields, "presence": _NOTHING, "account_data": _NOTHING, "room": room})


def _is_event_id(text: str) -> bool:
    """Whether it can be asked for: what is none, such as "..", would make another path."""
    return text.startswith("$") and text.isprintable() and len(text.encode()) <= _LONGEST_ID
