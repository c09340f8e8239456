"""Who asks, and what they may see: the one place where it is decided.

Without tokens a server on loopback is open to whoever reaches it. As soon as tokens have been given, and on any other
address, everybody needs one: as `Authorization: Bearer`, as the password of HTTP Basic, or in the cookie that the login
page sets.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.requests import HTTPConnection

from huginn.errors import Refused
from huginn.report import Corpus, StatusReport
from huginn.search import Query
from huginn.serve.limits import Limit
from huginn.serve.tokens import Tokens
from huginn.settings import Settings

COOKIE = "huginn_token"
ALL: tuple[Corpus, ...] = ("forge", "chat")
_WRONG_PER_SECOND, _WRONG_AT_ONCE = 0.5, 10


class NotKnown(Refused):
    """Nobody is let in without a token that is known."""

    def __init__(self) -> None:
        super().__init__("token", "none that is known was given", next_step="ask whoever runs this server for one")


class NotAllowed(Refused):
    """The token does not reach that far."""


@dataclass(frozen=True)
class Caller:
    """Who asks, by the name of the token or the address, and which corpora they see."""

    name: str
    corpora: tuple[Corpus, ...] = ALL

    def within(self, query: Query) -> Query:
        """The query, kept to what the caller sees. Raises `NotAllowed` where it asks for more by name."""
        if set(query.searched()) <= set(self.corpora):
            return query
        filters = (query.corpora, query.repos, query.paths, query.rooms, query.senders)
        if any(each is not None for each in filters):
            self.require(*query.searched())
        return query.model_copy(update={"corpora": self.corpora})

    def require(self, *corpora: Corpus) -> None:
        """Raise `NotAllowed` if the caller does not see one of them."""
        for corpus in corpora:
            if corpus not in self.corpora:
                step = "leave it out, or use a token for it"
                raise NotAllowed("corpora", f"this token does not reach the corpus {corpus}", next_step=step)

    def status(self, report: StatusReport) -> StatusReport:
        """The status, without the sources of other corpora, also in what is counted."""
        if set(self.corpora) == set(ALL):
            return report
        sources = [source for source in report.sources if source.corpus in self.corpora]
        points = None if report.index.points is None else sum(source.points or 0 for source in sources)
        index = report.index.model_copy(update={"points": points})
        return report.model_copy(update={"sources": sources, "index": index})

    def sees(self, flow: str) -> bool:
        """Whether a flow, by its name, is about nothing but what the caller sees."""
        named = {corpus for corpus in ALL if corpus in flow} or set(ALL)
        return named <= set(self.corpora)


class Door:
    """Lets callers in. `needs_token`: also where no tokens have been given."""

    def __init__(self, current: Callable[[], Settings], *, needs_token: bool, per_second: float) -> None:
        self._current = current
        self._needs_token = needs_token
        self._limit = Limit(per_second, 2 * per_second)
        self._wrong = Limit(_WRONG_PER_SECOND, _WRONG_AT_ONCE)

    def caller(self, connection: HTTPConnection) -> Caller:
        """Who asks. Raises `NotKnown`, and `TooMany` for whoever asks or guesses too often."""
        address = connection.client.host if connection.client else "?"
        caller = self._caller(address, secret_in(connection.headers, connection.cookies))
        self._limit.take(caller.name)
        return caller

    def check(self, connection: HTTPConnection, secret: str) -> None:
        """Raise `NotKnown` if this is no token, and `TooMany` for whoever guesses too often."""
        self._known(connection.client.host if connection.client else "?", secret)

    def is_open(self) -> bool:
        """Whether no token is needed."""
        return not self._needs_token and not Tokens(self._current().state).exist()

    def _caller(self, address: str, secret: str | None) -> Caller:
        if self.is_open():
            return Caller(f"address {address}")
        if secret is None:
            self._limit.take(f"address {address}")
            raise NotKnown
        return self._known(address, secret)

    def _known(self, address: str, secret: str) -> Caller:
        token = Tokens(self._current().state).find(secret)
        if token is None:
            self._wrong.take(address)  # a token that is known is let in whoever else guesses there
            raise NotKnown
        return Caller(f"token {token.name}", token.corpora)


def secret_in(headers: Mapping[str, str], cookies: Mapping[str, str]) -> str | None:
    """The token that comes with a request; None: there is none."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return cookies.get(COOKIE) or None
