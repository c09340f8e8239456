"""Notices a model that gives other vectors under the same name and digest.

Words: a *witness* is what an index keeps beside its label: the vector of the probe when it was first written to, and
the software that ran the model then. In: an embedder and whoever keeps the witness (an index). Out: the same embedder,
which embeds the probe once before the first text of a run and refuses it when the vector is another one. A new version
of the software alone is told and written down; it is no reason to build anew.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from pydantic import BaseModel, ConfigDict

from huginn.embed.checked import probe_text
from huginn.embed.port import Ahead, Culprit, Embedder, Identity, Shortened, Vector
from huginn.errors import Refused, Unavailable
from huginn.scrub import Clean

_LEAST_COSINE = 0.999  # other hardware rounds otherwise, and stays far above it


class Witness(BaseModel):
    """What an index keeps of the model that fills it. `probe`: None until something has been embedded."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    probe: tuple[float, ...] | None = None
    software: tuple[str, ...] = ()

    def fits(self, other: Witness) -> bool:
        """Whether the vectors of both can stand in one index, as far as is known."""
        if self.probe is None or other.probe is None:
            return True
        return are_same(np.asarray(self.probe, dtype=np.float32), np.asarray(other.probe, dtype=np.float32))


class Keeper(Protocol):
    """Who keeps a witness: an index."""

    @property
    def witness(self) -> Witness:
        """The witness as it was kept last."""
        ...

    def keep_witness(self, witness: Witness) -> None:
        """Keep another one, durably."""
        ...


def are_same(one: Vector, other: Vector) -> bool:
    """Whether two vectors of the same text can come from the same model."""
    if one.shape != other.shape:
        return False
    return float(one @ other) >= _LEAST_COSINE * float(np.linalg.norm(one)) * float(np.linalg.norm(other))


def witness_of(embedder: Embedder) -> Witness:
    """The witness of an embedder as it is now. Embeds the probe."""
    return _witness(embedder.probe(), embedder.software)


def _witness(probe: Vector, software: Sequence[str]) -> Witness:
    return Witness(probe=tuple(float(number) for number in probe), software=tuple(software))


def carry_witness(old: Keeper | None, new: Keeper) -> None:
    """An index that takes over vectors of another takes over its witness: both must be of the same model."""
    if old is not None and new.witness.probe is None and old.witness.probe is not None:
        new.keep_witness(old.witness)


def take_note_of_software(embedder: Embedder, keeper: Keeper, *, is_kept: bool) -> list[str]:
    """A word about software that was not there in the runs before; it is written down, so that it is told once."""
    software, kept = tuple(embedder.software), keeper.witness
    if not kept.software or set(software) <= set(kept.software):
        return []
    if is_kept:
        keeper.keep_witness(kept.model_copy(update={"software": software}))
    told = f"the embedder runs on {', '.join(software)} now; the index was written with {', '.join(kept.software)}"
    return [told]


@dataclass
class Witnessed:
    """An embedder in front of an index. See `huginn.embed.port.Embedder`."""

    _embedder: Embedder
    _keeper: Keeper

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._is_sure = False
        self.model = self._embedder.model
        self.batch_size = self._embedder.batch_size
        self.batch_characters = self._embedder.batch_characters
        self.width = self._embedder.width
        self.many = self._embedder.many

    @property
    def identity(self) -> Identity:
        """That of the embedder."""
        return self._embedder.identity

    @property
    def software(self) -> Sequence[str]:
        """That of the embedder."""
        return self._embedder.software

    def fitted(self, text: Clean, *, surely: bool = False) -> Clean:
        """As the embedder says."""
        return self._embedder.fitted(text, surely=surely)

    def embed(self, texts: Sequence[Clean]) -> Sequence[Vector]:
        """As the embedder does, once it is sure that its vectors fit those of the index."""
        self._require_same(self._embedder.probe)
        return self._embedder.embed(texts)

    def embed_query(self, texts: Sequence[Clean]) -> Sequence[Vector]:
        """As the embedder does."""
        return self._embedder.embed_query(texts)

    def probe(self) -> Vector:
        """As the embedder does."""
        return self._embedder.probe()

    @contextmanager
    def ahead(self) -> Iterator[Ahead]:
        """As the embedder does, once it is sure that its vectors fit those of the index."""
        with self._embedder.ahead() as inner:
            self._require_same(lambda: _probed(inner))
            yield inner

    def _require_same(self, probe: Callable[[], Vector]) -> None:
        with self._lock:
            if self._is_sure:
                return
            vector, kept = probe(), self._keeper.witness
            if kept.probe is None:
                self._keeper.keep_witness(_witness(vector, self.software))
            elif not are_same(vector, np.asarray(kept.probe, dtype=np.float32)):
                raise Refused(
                    "index",
                    f"{self.model} gives other vectors than when the index was made, though its digest is the same",
                    next_step="find out what has changed on the hosts; if it is to stay, 'huginn rebuild --all' builds "
                    "the index anew beside the old one",
                )
            self._is_sure = True


def _probed(ahead: Ahead) -> Vector:
    """The vector of the probe, from who is to make all others: a model that is not needed here is not loaded here."""
    (answer,) = ahead.submit([probe_text()])()
    if isinstance(answer, Culprit):
        raise Unavailable("embedder", f"it cannot embed a harmless text ({answer.reason})")
    return answer.vector if isinstance(answer, Shortened) else answer
