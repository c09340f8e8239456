"""Several hosts that embed together as one embedder, each kept busy with a batch of its own.

In: hosts that embed together, hosts in reserve. Out: an `Embedder`. Callers bring batches from several threads; each
batch goes to the next host that is free (`huginn.embed.roster`), so a slow host holds nobody else. The rules that live
here: every host must have the same model (name, digest, dimensions) and give the same vector for the probe, else the
run is refused; after each answer the host is asked for the digest once more, before the answer counts, while it may be
at work on the next batch; a host that fails for the probe too is broken and left out, and only a host that embeds it
may blame a text.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from huginn.embed.agreement import Agreement
from huginn.embed.ahead import Threads
from huginn.embed.checked import check_answer, probe_text
from huginn.embed.host import Host, HostAway, HostBusy
from huginn.embed.port import BatchFailed, Identity, Vector
from huginn.embed.roster import Roster, Seat
from huginn.scrub import Clean, scrub

_TRIES_ALONE, _TRIES_TOGETHER = 3, 2  # of a batch that fails in a way that may pass; halving tries again anyway
_BYTES_A_TOKEN = 2  # by the estimate, in UTF-8: text and code have 3 to 4
_SPARE_TOKENS = 8  # what a model puts around a text
_NEVER_TOO_LONG = 256  # bytes: no host serves with less

_told = logging.getLogger("huginn.embed")


@dataclass(frozen=True)
class Limits:
    """Times and sizes. `retry_seconds`: the first pause of a host that failed; it doubles."""

    timeout_seconds: float = 120.0
    query_timeout_seconds: float = 8.0
    retry_seconds: float = 1.0
    batch_size: int = 64
    batch_characters: int = 16_000


class Fleet:
    """See `huginn.embed.port.Embedder`. `for_search`: the first host that answers says who the model is."""

    many = 1  # waiting for a host costs nothing

    def __init__(
        self,
        model: str,
        hosts: Sequence[Host],
        reserve: Sequence[Host] = (),
        *,
        limits: Limits | None = None,
        query_instruction: str | None = None,
        for_search: bool = False,
    ) -> None:
        self.model = model
        self._limits = limits or Limits()
        self.batch_size = self._limits.batch_size
        self.batch_characters = self._limits.batch_characters
        self.width = max(len(hosts), len(reserve))
        seats = [Seat(host, host.name) for host in hosts] + [Seat(host, host.name, is_reserve=True) for host in reserve]
        patience = self._limits.query_timeout_seconds if for_search else self._limits.timeout_seconds
        self._roster = Roster(seats, retry_seconds=self._limits.retry_seconds, patience_seconds=patience)
        self._instruction = query_instruction
        self._agreement = Agreement(model, self._roster, for_search=for_search)

    @property
    def identity(self) -> Identity:
        """Who the model is, by all hosts that answer. Raises `Unavailable` if none does, `Refused` if they disagree."""
        return self._agreement.facts.identity

    @property
    def software(self) -> Sequence[str]:
        """The versions of the servers that have been looked at."""
        return tuple(f"ollama {version}" for version in sorted(self._agreement.versions))

    def fitted(self, text: Clean, *, surely: bool = False) -> Clean:
        """Cut by the model's context: at two bytes a token, or `surely` at one byte, and then to half of it at most.

        A host may serve with a smaller context than its model has; but a short text was refused for another reason.
        """
        context = self._agreement.facts.context
        beginning = text.encode("utf-8", "replace")
        takes = None if context is None else max(context - _SPARE_TOKENS, 1) * (1 if surely else _BYTES_A_TOKEN)
        if surely:
            if len(beginning) <= min(takes or _NEVER_TOO_LONG, _NEVER_TOO_LONG):
                return text
            takes = min(takes or len(beginning), len(beginning) // 2)
        if takes is None or len(beginning) <= takes:
            return text
        return text.part(0, len(beginning[:takes].decode("utf-8", "ignore")))

    def embed(self, texts: Sequence[Clean]) -> Sequence[Vector]:
        """One vector for each text, from the next host that is free."""
        _ = self.identity
        return self._on_some_host(lambda seat: self._answer(seat, texts), len(texts))

    def embed_query(self, texts: Sequence[Clean]) -> Sequence[Vector]:
        """One vector for each question, with the instruction in front, within a search's time."""
        _ = self.identity
        asked = texts
        if self._instruction:
            asked = [scrub(f"Instruct: {self._instruction}\nQuery: {text}").clean for text in texts]
        deadline = time.monotonic() + self._limits.query_timeout_seconds
        return self._on_some_host(lambda seat: self._answer(seat, asked, is_query=True), len(texts), deadline)

    def ahead(self) -> Threads:
        """Threads that wait for the hosts, so that none is idle between the batches of one caller."""
        return Threads(self)

    def probe(self) -> Vector:
        """The vector of the probe, made once on each host when it first serves."""
        _ = self.identity

        def ask(seat: Seat) -> Sequence[Vector]:
            return [self._probed(seat)]

        return self._on_some_host(ask, 1)[0]

    def _on_some_host(
        self, ask: Callable[[Seat], Sequence[Vector]], count: int, deadline: float | None = None
    ) -> Sequence[Vector]:
        tries = _TRIES_ALONE if count == 1 else _TRIES_TOGETHER
        while True:
            seat = self._roster.take(deadline)
            began = time.monotonic()
            try:
                vectors = ask(seat)
            except HostBusy:
                self._roster.pause(seat)
            except HostAway as error:
                self._leave_out(seat, error, time.monotonic() - began)
            except BatchFailed as failure:
                tries -= 1
                if failure.may_pass and tries > 0:
                    self._roster.give_back(seat)
                else:
                    self._blame(seat, failure)
            except BaseException:
                self._roster.give_back(seat)
                raise
            else:
                self._roster.give_back(seat)
                if self._is_confirmed(seat):
                    return vectors

    def _is_confirmed(self, seat: Seat) -> bool:
        """Whether a host that has answered tells its digest, which must be the right one; asked beside other work."""
        try:
            self._agreement.require_digest(seat, seat.host.digest())
        except HostAway as error:
            self._leave_out(seat, error, is_given_back=True)
            return False
        self._roster.confirmed(seat)
        return True

    def _answer(self, seat: Seat, texts: Sequence[Clean], *, is_query: bool = False) -> Sequence[Vector]:
        """A checked answer of this host, which is still to be asked for its digest."""
        self._agreement.require_known(seat)
        if not is_query and not self._agreement.is_probed(seat):
            self._probed(seat)
        vectors = seat.host.embed(texts, is_query=is_query)
        check_answer(vectors, len(texts), self.identity.dimensions)
        return vectors

    def _probed(self, seat: Seat) -> Vector:
        """The vector of the probe; a host that gives another one than the others is refused."""
        self._agreement.require_known(seat)
        return self._agreement.require_same_probe(seat, self._probe_of(seat))

    def _probe_of(self, seat: Seat) -> Vector:
        """Embed the probe on this host. Raises `HostAway` if it gives no usable answer: then it is broken."""
        tries = _TRIES_ALONE
        while True:
            try:
                vectors = seat.host.embed([probe_text()])
                check_answer(vectors, 1, self.identity.dimensions)
            except BatchFailed as failure:
                tries -= 1
                if not failure.may_pass or tries == 0:
                    raise HostAway(f"gives answers that cannot be used ({failure})", for_long=True) from None
            else:
                self._agreement.require_digest(seat, seat.host.digest())
                return vectors[0]

    def _blame(self, seat: Seat, failure: BatchFailed) -> None:
        """Raise `failure` if the host still embeds the probe; else it is the host that is broken, and left out."""
        try:
            self._probe_of(seat)
        except HostBusy:
            self._roster.pause(seat)
        except HostAway as error:
            self._leave_out(seat, error)
        except BaseException:
            self._roster.give_back(seat)
            raise
        else:
            self._roster.served(seat)
            raise BatchFailed(str(failure), is_rejected=failure.is_rejected, is_sound=True) from None

    def _leave_out(self, seat: Seat, error: HostAway, cost: float = 0.0, *, is_given_back: bool = False) -> None:
        _told.warning("%s %s", seat.name, error)
        cost = cost if error.for_long else 0.0
        self._roster.leave_out(seat, str(error), for_long=error.for_long, cost=cost, is_given_back=is_given_back)
