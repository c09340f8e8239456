"""The port to what makes vectors of texts.

Words: an *identity* is what a collection of vectors belongs to (name of the model, digest of its weights,
dimensions; never an address). A *culprit* is a text for which the model gives no usable vector.
In: `Clean` texts. Out: one vector for each, in order, as float32, or a culprit's reason.
"""

from __future__ import annotations

from collections.abc import Sequence
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


class BatchFailed(Exception):
    """The model could not embed this batch, and some text in it may be why. Carries no text."""


class Embedder(Protocol):
    """Something that makes vectors. May be called from several threads."""

    @property
    def identity(self) -> Identity:
        """Name, digest and dimensions of the model. Raises `Unavailable` when that cannot be told now."""
        ...

    @property
    def batch_size(self) -> int:
        """How many texts it takes at once."""
        ...

    def embed(self, texts: Sequence[Clean]) -> Sequence[Vector]:
        """One vector for each text. Raises `Unavailable` when the model is away, `BatchFailed` when it refuses."""
        ...
