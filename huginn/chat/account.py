"""The reader's account in the hands of a steward: the only file that sends anything to a homeserver.

In: the roster's token. Out: what that token lets see of rooms and of the reader, and an account to join and leave with.
An admin's token, on Synapse, sees rooms that the reader is not in, and lifts and sets the account's suspension; the
reader's own token sees what it is in. Written after Synapse 1.163's admin API (its documents "Users", "Rooms").
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from pydantic import SecretStr

from huginn.chat.ahead import Asking
from huginn.chat.client import CLIENT, Client
from huginn.chat.faults import Failing, Rejected
from huginn.chat.homeserver import FactsUnread
from huginn.chat.matrix import MatrixHomeserver
from huginn.chat.settings import ChatSettings, RosterSettings, read_roster_token
from huginn.errors import HuginnError, Refused, Unavailable

ADMIN = "/_synapse/admin"
TOKEN_FIELD = "chat.roster.token_file"

_SESSION_MS = 600_000  # how long a token is worth something that is made for the reader, if it is not logged out


class Sender(Client):
    """A client that can also send."""

    def send(
        self, method: str, path: Sequence[str], body: object, query: Mapping[str, str] | None = None, base: str = CLIENT
    ) -> object:
        """Send, and again after a fault that may pass: for what may be done twice. Gives the answer."""
        return self._begin(method, path, query, base=base, body=json.dumps(body)).result()


class AdminsView(MatrixHomeserver):
    """Rooms, and what the reader is in, as an admin sees them who need not be in the rooms."""

    def joined_rooms(self) -> frozenset[str]:
        """See the port."""
        rooms = self._member(self._as_admin(["v1", "users", self._user, "joined_rooms"]), "joined_rooms", list)
        return frozenset(self._is(room, str) for room in rooms)

    def direct_rooms(self) -> frozenset[str]:
        """See the port."""
        try:
            answer = self._as_admin(["v1", "users", self._user, "accountdata"])
        except (Rejected, Failing) as failure:
            raise FactsUnread(f"the list of direct chats cannot be read ({failure})") from None
        of_account = self._member(self._member(answer, "account_data", dict), "global", dict)
        return self._listed(of_account.get("m.direct", {}))

    def is_suspended(self) -> bool | None:
        """Whether the reader is suspended; None where the homeserver knows no suspension. Raises `Rejected`."""
        suspended = self._is(self._as_admin(["v2", "users", self._user]), dict).get("suspended")
        return suspended if isinstance(suspended, bool) else None

    def _state(self, room: str) -> Sequence[object]:
        return self._member(self._as_admin(["v1", "rooms", room, "state"]), "state", list)

    def _asking(self, room: str) -> Asking:
        return Asking(lambda query: self._client.begin(["v1", "rooms", room, "messages"], query, base=ADMIN))

    def _as_admin(self, path: Sequence[str]) -> object:
        return self._client.get(path, base=ADMIN)


class Account:
    """The reader's account, by its own token. `is_suspended` is None where that cannot be told."""

    is_suspended: bool | None = None

    def __init__(self, client: Sender, user: str, view: MatrixHomeserver | None = None) -> None:
        self.view = view or MatrixHomeserver(client, user)
        self._client = client
        self._user = user

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()

    def room_of(self, alias: str) -> str:
        """The id of the room that an alias points at. Raises `Rejected`."""
        answer = self._client.get(["directory", "room", alias])
        room = answer.get("room_id") if isinstance(answer, dict) else None
        if not isinstance(room, str) or not room.startswith("!"):
            raise Failing("homeserver", f"{self._client.shown} gives no id for an alias")
        return room

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Joins and leaves happen in here; afterwards, whatever went wrong, the account is left as it should be."""
        yield

    def join(self, room: str, server: str) -> None:
        """Join a room; `server` is asked about it where ours does not know it. Raises `Rejected`."""
        self._client.send("POST", ["join", room], {}, _asked(server))

    def leave(self, room: str) -> None:
        """Leave a room. Raises `Rejected`."""
        self._client.send("POST", ["rooms", room, "leave"], {})


class AdminsAccount(Account):
    """The reader's account, by the token of an admin, who keeps it suspended but for the time of joining."""

    def __init__(self, client: Sender, settings: ChatSettings) -> None:
        view = AdminsView(client, settings.user)
        super().__init__(client, settings.user, view)
        self.is_suspended = view.is_suspended()
        self._settings = settings
        self._session: Sender | None = None

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """See `Account`: the session made for the reader is ended, and the account suspended."""
        try:
            yield
        finally:
            self._end_session()
            if self.is_suspended is False:
                self._suspend_again()

    def join(self, room: str, server: str) -> None:
        """See `Account`. Let in by the admin, who invites where that is needed and allowed; else by an invitation."""
        if self.is_suspended:
            self._suspend(False)
        try:
            self._client.send("POST", ["v1", "join", room], {"user_id": self._user}, _asked(server), ADMIN)
        except Rejected as no:
            if no.status != 403:
                raise
            self._as_reader().send("POST", ["join", room], {}, _asked(server))

    def leave(self, room: str) -> None:
        """See `Account`. A suspended account may leave."""
        self._as_reader().send("POST", ["rooms", room, "leave"], {})

    def _suspend(self, suspend: bool) -> None:
        self._client.send("PUT", ["v1", "suspend", self._user], {"suspend": suspend}, base=ADMIN)
        self.is_suspended = suspend

    def _suspend_again(self) -> None:
        try:
            self._suspend(True)
        except (Rejected, HuginnError) as error:
            if isinstance(error, Refused) and error.field != TOKEN_FIELD:
                return  # this homeserver suspends nobody, which the report tells
            reason = error.reason if isinstance(error, HuginnError) else str(error)
            raise Unavailable(
                "homeserver",
                f"{self._user} is not suspended, because that failed ({reason})",
                next_step="run 'huginn roster' again, or suspend it by hand: until then its token can join and send",
            ) from None

    def _as_reader(self) -> Sender:
        """A session of the reader's for a few minutes: the reader's own token is not needed here."""
        if self._session is None:
            until = int(time.time() * 1000) + _SESSION_MS
            path = ["v1", "users", self._user, "login"]
            try:
                answer = self._client.send("POST", path, {"valid_until_ms": until}, base=ADMIN)
            except Refused:
                reason = "cannot leave rooms, or accept invitations, for the reader on this homeserver"
                raise Refused(TOKEN_FIELD, reason, next_step="do that by hand, or give the reader's token") from None
            token = answer.get("access_token") if isinstance(answer, dict) else None
            if not isinstance(token, str):
                raise Failing("homeserver", f"{self._client.shown} gives no session of {self._user}")
            self._session = _sender(self._settings, SecretStr(token))
        return self._session

    def _end_session(self) -> None:
        if self._session is not None:
            with suppress(Rejected, HuginnError):  # it ends by itself
                self._session.send("POST", ["logout"], {})
            self._session.close()
            self._session = None


def open_account(
    settings: ChatSettings, roster: RosterSettings, environment: Mapping[str, str] = os.environ
) -> Account:
    """The reader's account, by the roster's token.

    Raises `Refused` (field `chat.roster.token_file`) for a token that cannot be read, is not taken, or is neither an
    admin's nor the reader's own.
    """
    client = _sender(settings, read_roster_token(roster, environment))
    try:
        owner = MatrixHomeserver(client, settings.user).whoami()
        return Account(client, settings.user) if owner == settings.user else _by_admin(client, settings)
    except BaseException:
        client.close()
        raise


def _by_admin(client: Sender, settings: ChatSettings) -> AdminsAccount:
    try:
        return AdminsAccount(client, settings)
    except Rejected as no:
        if no.status == 404:
            raise Refused("chat.user", "is no account of this homeserver", next_step="correct it") from None
        reason = "belongs neither to the reader nor to an admin of the homeserver"
    except Refused:  # nothing answers there
        reason = "is not the reader's, and the homeserver has no admin API of Synapse"
    next_step = "give an admin's token or, where there is none to be had, the reader's own"
    raise Refused(TOKEN_FIELD, reason, next_step=next_step)


def _sender(settings: ChatSettings, token: SecretStr) -> Sender:
    return Sender(settings.homeserver, token, timeout_seconds=settings.timeout_seconds, token_field=TOKEN_FIELD)


def _asked(server: str) -> dict[str, str]:
    return {"server_name": server} if server else {}
