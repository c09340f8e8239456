"""What may be asked and what is answered: the Pydantic models of a search.

Limits come first, then texts are trimmed and equal ones count once; every refusal comes before anything is embedded,
and names the field (`texts[2]`, `top_k`).
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from huginn.errors import Refused
from huginn.report import Corpus

MOST_TEXTS = 8
MOST_BYTES = 1000
MOST_HITS = 50


class Mode(StrEnum):
    """How a text is held against the index."""

    HYBRID = "hybrid"
    MEANING = "meaning"
    WORDS = "words"


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Query(_Model):
    """A question: 1 to 8 texts of at most 1,000 bytes each, and where to look. Raises `Refused` naming the field.

    `repos` are names of repositories as the settings have them; `paths` files, or folders for everything under them,
    from the root of a repository (`/src`, `./src` and `src/` are `src`); None anywhere means everywhere, and so does
    the root as a path. `fold`: equal texts in several places are one hit with all its places.
    """

    texts: tuple[str, ...]
    mode: Mode = Mode.HYBRID
    corpora: tuple[Corpus, ...] | None = None
    repos: tuple[str, ...] | None = None
    paths: tuple[str, ...] | None = None
    top_k: int = 10
    fold: bool = True

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            problem = error.errors(include_input=False, include_url=False)[0]
            field, *rest = problem["loc"] or ("query",)
            name = f"{field}{''.join(f'[{part}]' for part in rest)}"
            raise Refused(name, problem["msg"][:1].lower() + problem["msg"][1:]) from None

    @field_validator("paths")
    @classmethod
    def _from_the_root(cls, paths: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if paths is None or not all(path.strip() for path in paths):
            return paths  # an empty name is refused with the limits
        within = tuple("/".join(part for part in path.split("/") if part not in ("", ".")) for path in paths)
        return within if all(within) else None

    @model_validator(mode="after")
    def _within_limits(self) -> Self:
        if not self.texts:
            raise Refused("texts", "nothing is asked", next_step="give 1 to 8 texts")
        if len(self.texts) > MOST_TEXTS:
            raise Refused("texts", f"{len(self.texts)} texts are too many", next_step=f"give 1 to {MOST_TEXTS}")
        for number, text in enumerate(self.texts):
            _check_text(f"texts[{number}]", text)
        if not 1 <= self.top_k <= MOST_HITS:
            raise Refused("top_k", f"{self.top_k} is out of range", next_step=f"give 1 to {MOST_HITS}")
        for name in ("corpora", "repos", "paths"):
            values = getattr(self, name)
            if values is not None and not all(value.strip() for value in values):
                raise Refused(name, "an empty name", next_step="leave it out to search everywhere")
            for number, value in enumerate(values or ()):
                _check_characters(f"{name}[{number}]", value)
        return self

    def asked(self) -> dict[int, str]:
        """The texts to look for, trimmed, by the number of their first occurrence."""
        first: dict[str, int] = {}
        for number, text in enumerate(self.texts):
            first.setdefault(text.strip(), number)
        return {number: text for text, number in first.items()}


class Rank(_Model):
    """Which rank one of the texts gave a hit, and the scores of both sides; None: that side was not asked or has none.

    `text` is the number of the text in the query, from 0; `rank` counts from 1.
    """

    text: int
    rank: int
    bm25: float | None = None
    cosine: float | None = None


class Citation(_Model):
    """Where a text stands: path and lines (from 1, both included) in the repository at the commit that last changed it.

    `time` is that commit's; `url` is made by the repository's `web` template, if the settings have one.
    """

    kind: Literal["forge"] = "forge"
    repo: str
    commit: str
    time: datetime
    path: str
    start_line: int
    end_line: int
    url: str | None = None


class Hit(_Model):
    """One answer. `score` is the fused one: the sum over the texts of 1 / (60 + rank); it is no similarity.

    `places` are all places where the very same text stands, the cited one first (at most 100 of them; `copies` says
    how many there are). Without folding it is the cited one alone.
    """

    id: str
    score: float
    ranks: list[Rank]
    corpus: Corpus
    text: str
    citation: Citation
    places: list[Citation]
    copies: int = 1


class SearchResult(_Model):
    """The answer: the query as it was asked (with secrets masked), the hits, best first, and the time it took."""

    query: Query
    hits: list[Hit] = Field(default_factory=list)
    took_ms: float


def _check_text(field: str, text: str) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MOST_BYTES:
        raise Refused(field, f"{size} bytes are too many", next_step=f"give at most {MOST_BYTES} bytes")
    if not text.strip():
        raise Refused(field, "is empty", next_step="leave it out, or write what to look for")
    _check_characters(field, text)


def _check_characters(field: str, text: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise Refused(field, "is no valid text (half a surrogate pair)", next_step="give it as UTF-8")
