"""What tests let a real Synapse do: accounts, rooms, messages, and what only an admin may.

`Synapse` makes accounts; a `User` does what the client of a person does. A puppet is a user of an application service,
which may also say when an event was sent. Every call raises `Answered` with the status where the server says no.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import httpx

DOMAIN = "hs.test"
VERSIONS = ("10", "11", "12")
_PATIENCE = 90.0
_CLIENT = "/_matrix/client/v3"
_ADMIN = "/_synapse/admin"
APPSERVICE = {
    "id": "bridge",
    "url": None,
    "as_token": "token-of-the-application-service",
    "hs_token": "token-of-the-homeserver",
    "sender_localpart": "_bridge",
    "rate_limited": False,
    "namespaces": {"users": [{"exclusive": True, "regex": "@_.*"}, {"exclusive": False, "regex": "@clock.*"}]},
}


class Answered(Exception):
    """The server said no."""

    def __init__(self, status: int, body: object) -> None:
        self.status = status
        self.errcode = body.get("errcode") if isinstance(body, dict) else None
        super().__init__(f"{status} {body}")


@dataclass(frozen=True)
class Synapse:
    """The server, as its admin sees it."""

    url: str
    database: Path
    _secret: str = field(repr=False)
    _http: httpx.Client = field(repr=False)
    _counter: Iterator[int] = field(default_factory=itertools.count, repr=False)

    def call(self, method: str, path: str, body: object = None, *, token: str | None = None, **query: object) -> Any:
        """One request; gives the answer's JSON."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        parameters = {key: str(value) for key, value in query.items() if value is not None}
        # ASCII, so that half a surrogate pair can be sent, too.
        content = None if body is None else json.dumps(body)
        answer = self._http.request(method, path, content=content, headers=headers, params=parameters)
        if answer.status_code != 200:
            raise Answered(answer.status_code, answer.json())
        return answer.json()

    def user(self, name: str = "user", *, is_admin: bool = False) -> User:
        """A new account; a number is put behind its name, so that each test has its own."""
        localpart = f"{name}{next(self._counter)}-{os.getpid()}"
        path = f"{_ADMIN}/v1/register"
        nonce = self.call("GET", path)["nonce"]
        signed = "\0".join([nonce, localpart, "password", "admin" if is_admin else "notadmin"])
        mac = hmac.new(self._secret.encode(), signed.encode(), hashlib.sha1).hexdigest()
        body = {"nonce": nonce, "username": localpart, "password": "password", "admin": is_admin, "mac": mac}
        made = self.call("POST", path, body)
        return User(self, made["user_id"], made["access_token"])

    def puppet(self, name: str = "_puppet") -> User:
        """A new user of the application service, in its namespace `@_…`, or `@clock…`, which does not look like one."""
        localpart = f"{name}{next(self._counter)}-{os.getpid()}"
        token = str(APPSERVICE["as_token"])
        registration = {"type": "m.login.application_service", "username": localpart, "inhibit_login": True}
        made = self.call("POST", f"{_CLIENT}/register", registration, token=token)
        return User(self, made["user_id"], token, is_puppet=True)

    def analyze(self) -> None:
        """Have SQLite look at its tables: after thousands of messages, pages of history come ten times as fast."""
        with closing(sqlite3.connect(self.database, timeout=60)) as connection:
            connection.execute("ANALYZE")
            connection.commit()

    def suspend(self, user: User, admin: User) -> None:
        """Make an account unable to do anything but read."""
        self.call("PUT", f"{_ADMIN}/v1/suspend/{quote(user.id)}", {"suspend": True}, token=admin.token)

    def purge(self, room: str, up_to: str, admin: User) -> None:
        """Remove the history of a room before an event, and wait until it is gone."""
        path = f"{_ADMIN}/v1/purge_history/{quote(room)}/{quote(up_to)}"
        purge = self.call("POST", path, {"delete_local_events": True}, token=admin.token)["purge_id"]
        _wait(lambda: self.call("GET", f"{_ADMIN}/v1/purge_history_status/{purge}", token=admin.token)["status"])

    def delete_room(self, room: str, admin: User) -> None:
        """Throw everybody out of a room and remove it, and wait until it is gone."""
        path = f"{_ADMIN}/v2/rooms/{quote(room)}"
        deletion = self.call("DELETE", path, {"purge": True, "block": False}, token=admin.token)["delete_id"]
        _wait(lambda: self.call("GET", f"{_ADMIN}/v2/rooms/delete_status/{deletion}", token=admin.token)["status"])


@dataclass(frozen=True)
class User:
    """An account, and what its client may ask for. Ids of events come back from all that sends."""

    homeserver: Synapse = field(repr=False)
    id: str
    token: str = field(repr=False)
    is_puppet: bool = False

    def call(self, method: str, path: str, body: object = None, *, base: str = _CLIENT, **query: object) -> Any:
        """One request to the client's interface."""
        as_puppet = {"user_id": self.id} if self.is_puppet else {}
        return self.homeserver.call(method, f"{base}{path}", body, token=self.token, **query, **as_puppet)

    def create_room(self, version: str | None = None, *, preset: str = "public_chat", **options: object) -> str:
        """A new room, open to everybody unless another preset is given; gives its id."""
        body = {"preset": preset, **options, **({"room_version": version} if version else {})}
        return cast(str, self.call("POST", "/createRoom", body)["room_id"])

    def join(self, room: str) -> None:
        self.call("POST", f"/join/{quote(room)}", {})

    def leave(self, room: str) -> None:
        self.call("POST", f"/rooms/{quote(room)}/leave", {})

    def invite(self, room: str, user: User, *, is_direct: bool = False) -> None:
        if is_direct:  # what /invite does not take
            self.set_state(room, "m.room.member", {"membership": "invite", "is_direct": True}, user.id)
        else:
            self.call("POST", f"/rooms/{quote(room)}/invite", {"user_id": user.id})

    def kick(self, room: str, user: User) -> None:
        self.call("POST", f"/rooms/{quote(room)}/kick", {"user_id": user.id})

    def ban(self, room: str, user: User) -> None:
        self.call("POST", f"/rooms/{quote(room)}/ban", {"user_id": user.id})

    def send(
        self, room: str, content: str | Mapping[str, object], *, kind: str = "m.room.message", ts: int | None = None
    ) -> str:
        """Send a text, or an event with this content; `ts` (ms since 1970) is for puppets only."""
        body = {"msgtype": "m.text", "body": content} if isinstance(content, str) else content
        return self._sent(f"/rooms/{quote(room)}/send/{kind}", body, ts=ts)

    def edit(self, room: str, target: str, text: str, *, ts: int | None = None) -> str:
        new = {"msgtype": "m.text", "body": text}
        relation = {"rel_type": "m.replace", "event_id": target}
        edit = {"msgtype": "m.text", "body": f"* {text}", "m.new_content": new, "m.relates_to": relation}
        return self.send(room, edit, ts=ts)

    def react(self, room: str, target: str, key: str = "👍") -> str:
        relation = {"rel_type": "m.annotation", "event_id": target, "key": key}
        return self.send(room, {"m.relates_to": relation}, kind="m.reaction")

    def redact(self, room: str, target: str) -> str:
        return self._sent(f"/rooms/{quote(room)}/redact/{quote(target)}", {})

    def set_state(self, room: str, kind: str, content: Mapping[str, object], key: str = "") -> str:
        path = f"/rooms/{quote(room)}/state/{kind}/{quote(key, safe='')}"
        return cast(str, self.call("PUT", path, content)["event_id"])

    def set_alias(self, room: str, alias: str) -> None:
        """Let an alias point at a room; where it pointed before it points no more."""
        try:
            self.call("DELETE", f"/directory/room/{quote(alias)}")
        except Answered as answer:
            if answer.status != 404:
                raise
        self.call("PUT", f"/directory/room/{quote(alias)}", {"room_id": room})

    def set_direct(self, rooms: Mapping[str, list[str]]) -> None:
        """Say which rooms are direct chats, by the other person's id."""
        self.call("PUT", f"/user/{quote(self.id)}/account_data/m.direct", rooms)

    def upgrade(self, room: str, version: str) -> str:
        """Upgrade a room; gives the id of the one that takes its place."""
        return cast(
            str, self.call("POST", f"/rooms/{quote(room)}/upgrade", {"new_version": version})["replacement_room"]
        )

    def log_out(self) -> None:
        """From now on the token is worth nothing."""
        self.call("POST", "/logout", {})

    def _sent(self, path: str, body: object, *, ts: int | None = None) -> str:
        return cast(str, self.call("PUT", f"{path}/{secrets.token_hex(8)}", body, ts=ts)["event_id"])


def _wait(status: Any) -> None:
    """Wait for a job of the server."""
    deadline = time.monotonic() + _PATIENCE
    while (now := status()) != "complete":
        if now == "failed" or time.monotonic() > deadline:
            raise AssertionError(f"the job of the homeserver is {now}")
        time.sleep(0.05)
