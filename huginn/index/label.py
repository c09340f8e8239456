"""What a collection is: the label that is stored with it.

A label names the corpora, the embedder's identity and one fingerprint over the versions of all rules that shape
points. An index whose label differs from what the code and the settings say now must not be written to.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from huginn.embed.port import Identity


class Label(BaseModel):
    """The label of a collection; equal labels mean that points can be mixed.

    `scrub` stands apart from the other `rules`: what was stored under another one may hold what is masked now.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    corpora: str
    model: str
    digest: str
    dimensions: int
    rules: str
    scrub: str

    @property
    def identity(self) -> Identity:
        """The embedder's identity in this label."""
        return Identity(self.model, self.digest, self.dimensions)

    def differences(self, other: Label) -> list[str]:
        """The names of the fields in which `other` differs, each with both values."""
        mine, theirs = self.model_dump(), other.model_dump()
        return [f"{name} is {mine[name]}, not {theirs[name]}" for name in mine if mine[name] != theirs[name]]


def make_label(forge_name: str, identity: Identity, rules: Mapping[str, str], scrub: str) -> Label:
    """The label for the corpus set of this forge (chat is always part of it), a model, and the rules' versions."""
    fingerprint = hashlib.sha256(json.dumps(dict(rules), sort_keys=True).encode()).hexdigest()[:16]
    return Label(
        corpora=f"forge:{forge_name}+chat:rooms",
        model=identity.model,
        digest=identity.digest,
        dimensions=identity.dimensions,
        rules=fingerprint,
        scrub=scrub,
    )
