"""The port to what makes vectors of texts.

Words: an *identity* is what a collection of vectors belongs to (name of the model, digest of its weights,
dimensions; never an address). A *culprit* is a text for which the model gives no usable vector. The *probe* is a
harmless text: its vector is kept with an index, and a model that cannot embed it is broken.
In: `Clean` texts. Out: one vector for each, in order, as float32, or a culprit's reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from huginn.scrub import Clean

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Identity:
    """Which model made a vector: vectors of different identities are never compared."""

    model: str
    digest: str
    dimensions: int


@dataclass(frozen=True)
class Culprit:
    """A text that the model gives no usable vector for, and why. It is stored by its words alone."""

    reason: str


@dataclass(frozen=True)
class Shortened:
    """The vector of the beginning of a text that is too long for the model. Only the vector depends on it."""

    vector: Vector


Answer = Vector | Shortened | Culprit


class BatchFailed(Exception):
    """The model could not embed this batch, and some text in it may be why. Carries no text.

    `may_pass`: the same again may go well. `is_rejected`: the request itself was refused, which is never sent again
    unchanged; a single text may be too long. `is_sound`: the same model has embedded the probe since.
    """

    def __init__(
        self, reason: str, *, may_pass: bool = False, is_rejected: bool = False, is_sound: bool = False
    ) -> None:
        super().__init__(reason)
        self.may_pass = may_pass
        self.is_rejected = is_rejected
        self.is_sound = is_sound


class Ahead(Protocol):
    """Embeds while its caller does something else. May be called from several threads."""

    def submit(self, texts: Sequence[Clean]) -> Callable[[], Sequence[Answer]]:
        """Begin to embed `texts`. Gives what waits for their answers, which raises as `embed_all` does."""
        ...


class Embedder(Protocol):
    """Something that makes vectors. May be called from several threads."""

    @property
    def model(self) -> str:
        """The name of the model, as far as the settings tell it: nobody is asked."""
        ...

    @property
    def identity(self) -> Identity:
        """Name, digest and dimensions of the model, asked at the first use. Every answer since is of this identity.

        Raises `Unavailable` when that cannot be told now, `Refused` when there is no such model.
        """
        ...

    @property
    def software(self) -> Sequence[str]:
        """What runs the model, with versions: worth a word when it changes, no reason to build anew."""
        ...

    @property
    def batch_size(self) -> int:
        """How many texts it takes at once."""
        ...

    @property
    def batch_characters(self) -> int:
        """How many characters it should be given at once, over all texts."""
        ...

    @property
    def width(self) -> int:
        """How many batches it works on at the same time."""
        ...

    def fitted(self, text: Clean, *, surely: bool = False) -> Clean:
        """As much of the beginning of a text as the model takes, by an estimate, or `surely` by the worst case."""
        ...

    def embed(self, texts: Sequence[Clean]) -> Sequence[Vector]:
        """One vector for each text. Raises `Unavailable` when the model is away, `BatchFailed` when it refuses."""
        ...

    def embed_query(self, texts: Sequence[Clean]) -> Sequence[Vector]:
        """The same for what somebody asks, which some models want put differently; within a search's time."""
        ...

    def probe(self) -> Vector:
        """The vector of the probe, made now. Raises as `embed` does."""
        ...

    @property
    def many(self) -> int:
        """From how many texts on it is worth it to embed ahead."""
        ...

    def ahead(self) -> AbstractContextManager[Ahead]:
        """Make ready to embed `many` texts beside other work, with the same bits. Raises as `embed` does."""
        ...
