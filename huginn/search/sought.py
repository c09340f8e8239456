"""What is sought in an open index, and what is found there: what passes to the process that holds a shard and back.

Both are data. Texts are scrubbed and embedded, names looked up; what is found is as the index holds it, not yet cited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from huginn import scrub
from huginn.embed.port import Vector
from huginn.index.port import Payload, Place
from huginn.index.wire import place_from_wire, vector_from_wire, vector_to_wire
from huginn.report import Corpus
from huginn.scrub import Clean
from huginn.search.query import By, Mode
from huginn.search.result import Exact, Rank


@dataclass(frozen=True)
class Asked:
    """A text as it is asked: scrubbed, and its vector unless only words are asked."""

    text: Clean
    vector: Vector | None


@dataclass(frozen=True)
class Sought:
    """What a query comes to at an index; the rest as in `huginn.search.query.Query`."""

    asked: Sequence[Asked]
    places: Mapping[Corpus, Place]
    mode: Mode
    by: By
    top_k: int
    fold: bool
    senders: Sequence[str] | None
    after: datetime | None
    before: datetime | None

    def to_wire(self) -> dict[str, Any]:
        """As JSON, for `huginn.index.wire`."""
        asked = [
            {"text": str(each.text), "vector": None if each.vector is None else vector_to_wire(each.vector)}
            for each in self.asked
        ]
        return {**vars(self), "asked": asked, "places": {corpus: vars(place) for corpus, place in self.places.items()}}

    @classmethod
    def from_wire(cls, message: Mapping[str, Any]) -> Sought:
        """The same again. Raises `KeyError`, `TypeError`, `ValueError` for what is none."""
        moments = {name: datetime.fromisoformat(message[name]) for name in ("after", "before") if message[name]}
        made = {
            "asked": [
                Asked(
                    scrub.from_our_process(each["text"]),
                    None if each["vector"] is None else vector_from_wire(each["vector"]),
                )
                for each in message["asked"]
            ],
            "places": {corpus: place_from_wire(place) for corpus, place in message["places"].items()},
            "mode": Mode(message["mode"]),
            "by": By(message["by"]),
        }
        return cls(**{**message, **moments, **made})


@dataclass(frozen=True)
class Found:
    """A hit as the index holds it. `ranks`: by the texts' places in `Sought.asked`.

    `payloads`: of the points it is made of, in the order of their lines or times: one, or neighbours side by side.
    `best`: which of them was ranked, `id` is its.
    `copies`: what a citation takes of every point with the same text, this one included, where texts are folded.
    `following`: the window of messages that comes next, if there is one.
    """

    id: str
    score: float
    ranks: Sequence[Rank]
    payloads: Sequence[Payload]
    best: int
    copies: Sequence[Payload]
    following: Payload | None

    @property
    def payload(self) -> Payload:
        """That of the point that was ranked."""
        return self.payloads[self.best]

    def to_wire(self) -> dict[str, Any]:
        """As JSON, for `huginn.index.wire`."""
        return {**vars(self), "ranks": [rank.model_dump() for rank in self.ranks]}

    @classmethod
    def from_wire(cls, message: Mapping[str, Any]) -> Found:
        """The same again."""
        return cls(**{**message, "ranks": [Rank.model_validate(rank) for rank in message["ranks"]]})


@dataclass(frozen=True)
class Page:
    """What is found, best first, and of each name in the texts whether it stands anywhere to the letter."""

    found: Sequence[Found]
    exact: Sequence[Exact]

    def to_wire(self) -> dict[str, Any]:
        """As JSON, for `huginn.index.wire`."""
        return {
            "found": [found.to_wire() for found in self.found],
            "exact": [exact.model_dump() for exact in self.exact],
        }

    @classmethod
    def from_wire(cls, message: Mapping[str, Any]) -> Page:
        """The same again."""
        return cls(
            [Found.from_wire(found) for found in message["found"]],
            [Exact.model_validate(exact) for exact in message["exact"]],
        )
