"""What the hosts of a fleet must have in common: the model's name, digest and dimensions, and the probe's vector.

In: what hosts say of themselves. Out: the one identity of the fleet, or a refusal that names the hosts that disagree.
The address is no part of it. A host that is away when a run begins is looked at before its first batch.
"""

from __future__ import annotations

import threading
from queue import Empty, SimpleQueue

from huginn.embed.host import Facts, HostAway, ModelMissing
from huginn.embed.port import Identity, Vector
from huginn.embed.probe import are_same
from huginn.embed.roster import Roster, Seat
from huginn.errors import Refused

_GRACE_SECONDS = 0.5  # how long a search that has heard from a reserve host alone waits for the others


class Agreement:
    """What the hosts of one fleet have been found to agree on. `for_search`: the first host that answers is enough."""

    def __init__(self, model: str, roster: Roster, *, for_search: bool) -> None:
        self._model = model
        self._roster = roster
        self._for_search = for_search
        self._lock = threading.Lock()
        self._known: tuple[str, Facts] | None = None
        self._probe: tuple[str, Vector] | None = None
        self._looked_at: set[str] = set()
        self._probed: set[str] = set()
        self.versions: set[str] = set()

    @property
    def facts(self) -> Facts:
        """What all hosts say that answer. Raises `Unavailable` if none does, `Refused` if they disagree."""
        with self._lock:
            if self._known is None:
                self._look_at_all()
            assert self._known is not None
            return self._known[1]

    def require_known(self, seat: Seat) -> None:
        """Look at a host that was away until now. Raises `HostAway` if it still is."""
        if seat.name not in self._looked_at:
            facts = seat.host.look()
            with self._lock:
                self._take_in(seat, facts)

    def require_digest(self, seat: Seat, digest: str) -> None:
        """Refuse a host whose model has been replaced since."""
        expected = self.facts.identity.digest
        if digest != expected:
            raise Refused(
                "embedder.model",
                f"the model behind {self._model} on {seat.name} has changed, from {_short(expected)} to "
                f"{_short(digest)}",
                next_step="nothing that it made was stored; if the change is meant, pull the model on every host and "
                "start again",
            )

    def is_probed(self, seat: Seat) -> bool:
        """Whether this host has shown that it embeds the probe as the others do."""
        return seat.name in self._probed

    def require_same_probe(self, seat: Seat, vector: Vector) -> Vector:
        """Refuse a host that gives another vector for the probe; the vector of the host that gave it first."""
        with self._lock:
            self._probe = self._probe or (seat.name, vector)
            name, expected = self._probe
            if not are_same(vector, expected):
                raise Refused(
                    "embedder.urls",
                    f"{seat.name} and {name} give different vectors for the same text, though their model is the same",
                    next_step="bring them to the same version of Ollama with the same options, or take one out",
                )
            self._probed.add(seat.name)
            return expected

    def _look_at_all(self) -> None:
        """Ask all hosts at once. A search goes on with those that have answered; under the lock."""
        answers: SimpleQueue[tuple[Seat, Facts | HostAway]] = SimpleQueue()
        for seat in self._roster.seats:
            threading.Thread(target=_look, args=(seat, answers), daemon=True).start()
        silent = {seat.name: seat for seat in self._roster.seats}
        missing = 0
        while silent:
            try:
                seat, found = answers.get(timeout=self._patience())
            except Empty:
                break
            del silent[seat.name]
            if isinstance(found, Facts):
                self._take_in(seat, found)
            else:
                missing += isinstance(found, ModelMissing)
                self._roster.leave_out(seat, str(found), for_long=found.for_long)
        for seat in silent.values():
            self._roster.leave_out(seat, "has not answered yet", for_long=False)
        if missing == len(self._roster.seats):
            raise Refused(
                "embedder.model",
                f"there is no model {self._model} on {', '.join(seat.name for seat in self._roster.seats)}",
                next_step=f"run 'ollama pull {self._model}' there, or name another",
            )
        if self._known is None:
            raise self._roster.unavailable()

    def _patience(self) -> float | None:
        """How long to wait for the next answer: a search that can be served does not wait for the others."""
        if not self._for_search or self._known is None:
            return None
        known = [seat for seat in self._roster.seats if seat.name in self._looked_at]
        return 0.0 if any(not seat.is_reserve for seat in known) else _GRACE_SECONDS

    def _take_in(self, seat: Seat, facts: Facts) -> None:
        """Note who the host's model is; it must be the one of the others. Under the lock."""
        name, known = self._known or (seat.name, facts)
        if facts.identity != known.identity:
            raise Refused(
                "embedder.urls",
                f"the hosts disagree about {self._model}: {name} has {_described(known.identity)}, "
                f"{seat.name} has {_described(facts.identity)}",
                next_step=f"run 'ollama pull {self._model}' on each, or take one out",
            )
        contexts = [context for context in (known.context, facts.context) if context is not None]
        self._known = name, Facts(known.identity, min(contexts, default=None), known.version)
        self._looked_at.add(seat.name)
        self.versions.add(facts.version)


def _look(seat: Seat, answers: SimpleQueue[tuple[Seat, Facts | HostAway]]) -> None:
    try:
        answers.put((seat, seat.host.look()))
    except HostAway as error:
        answers.put((seat, error))
    except BaseException:
        answers.put((seat, HostAway("cannot be asked")))
        raise


def _described(identity: Identity) -> str:
    return f"{_short(identity.digest)} with {identity.dimensions} dimensions"


def _short(digest: str) -> str:
    return digest.removeprefix("sha256:")[:12]
