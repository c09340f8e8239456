"""Plans carried out: what must disappear goes first, whatever becomes of the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from huginn.apply import Tally, carry_out
from huginn.checkpoints import Checkpoints, Ledger
from huginn.embed.away import Away
from huginn.embed.port import Embedder, Identity, Vector
from huginn.errors import Unavailable
from huginn.index.port import Index, Place
from huginn.parts import Parts
from huginn.plan import Plan, WantedPoint, plan
from huginn.scrub import Clean
from huginn.settings import Settings
from tests.support.points import make_index
from tests.unit.test_plan import wanted_point

IDENTITY = Identity("test-model", "sha256:0", 4)


class Lengths(Away):
    """An embedder that is there: the vector of a text is its length. It keeps what the index held at its last call."""

    def embed(self, texts: Sequence[Clean]) -> Sequence[Vector]:
        self.held = held(self.index)
        return [np.array([len(text), 1, 0, 0], dtype=np.float32) for text in texts]


def held(index: Index) -> set[str]:
    return {point.id for point in index.stored(Place())}
