"""What may be asked: the Pydantic models of a search and of a listing.

Limits come first, then texts are trimmed and equal ones count once; every refusal comes before anything is embedded,
and names the field (`texts[2]`, `top_k`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    ValidationError,
    field_validator,
    model_validator,
)

from huginn.errors import Refused
from huginn.report import Corpus

MOST_TEXTS = 8
MOST_BYTES = 1000
MOST_BRIEF_BYTES = 1 << 16
MOST_HITS = 50
MOST_LISTED = 1000
MOST_CONTEXT = 50


class Mode(StrEnum):
    """How a text is held against the index."""

    HYBRID = "hybrid"
    MEANING = "meaning"
    WORDS = "words"


class By(StrEnum):
    """What the lists of several texts are fused over."""

    FILE = "file"
    CHUNK = "chunk"


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("lies outside the years 1 to 9999") from None


Moment = Annotated[AwareDatetime, AfterValidator(_in_utc)]
"""A time with a zone, kept in UTC."""


class Question(BaseModel):
    """Whose mistakes are told as `Refused`, naming the field."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            problem = error.errors(include_input=False, include_url=False)[0]
            field, *rest = problem["loc"] or ("query",)
            name = f"{field}{''.join(f'[{part}]' for part in rest)}"
            words = problem["msg"].removeprefix("Value error, ")
            raise Refused(name, words[:1].lower() + words[1:]) from None


class ListQuery(Question):
    """Which messages to list, oldest first. Raises `Refused` naming the field.

    `rooms` are ids or aliases, `senders` whole ids of users; None means all. `after` is inclusive, `before` exclusive.
    At most `top_k` messages make a page; `cursor` is what the page before gave, and goes on behind it.
    """

    rooms: tuple[str, ...] | None = None
    senders: tuple[str, ...] | None = None
    after: Moment | None = None
    before: Moment | None = None
    top_k: int = 50
    cursor: str | None = None

    @model_validator(mode="after")
    def _within_limits(self) -> Self:
        _check_names("rooms", self.rooms)
        _check_senders(self.senders)
        check_number("top_k", self.top_k, 1, MOST_LISTED)
        return self


class Query(Question):
    """A question: 1 to 8 texts of at most 1,000 bytes each, and where to look. Raises `Refused` naming the field.

    `brief` is a long text of up to 64 KiB, alone or beside up to seven texts: it is cut by meaning into as many texts
    as are left of the eight. `by` file: of several texts, files that rank well for more than one come first, each with
    its best chunk, and at most three chunks of a file are shown; a window of messages counts as a file. `by` chunk:
    every chunk is ranked for itself. One text in mode `meaning` or `words` is the engine's own list by either.

    `repos` are names of repositories as the settings have them; `paths` files, or folders for everything under them,
    from the root of a repository (`/src`, `./src` and `src/` are `src`); None anywhere means everywhere, and so does
    the root as a path. `rooms` are ids or aliases, `senders` whole ids of users. `after` is inclusive, `before`
    exclusive: for messages when they were sent, for files when they last changed. `fold`: equal texts in several places
    are one hit with all its places, and (by file) chunks that stand side by side one with their whole range.
    `context`: so many lines or messages around each hit, 0 to 50, come with it.
    """

    texts: tuple[str, ...] = ()
    brief: str | None = None
    mode: Mode = Mode.HYBRID
    by: By = By.FILE
    corpora: tuple[Corpus, ...] | None = None
    repos: tuple[str, ...] | None = None
    paths: tuple[str, ...] | None = None
    rooms: tuple[str, ...] | None = None
    senders: tuple[str, ...] | None = None
    after: Moment | None = None
    before: Moment | None = None
    top_k: int = 10
    fold: bool = True
    context: int = 0

    @field_validator("paths")
    @classmethod
    def _from_the_root(cls, paths: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if paths is None or not all(path.strip() for path in paths):
            return paths  # an empty name is refused with the limits
        within = tuple("/".join(part for part in path.split("/") if part not in ("", ".")) for path in paths)
        return within if all(within) else None

    @model_validator(mode="after")
    def _within_limits(self) -> Self:
        if not self.texts and self.brief is None:
            raise Refused("texts", "nothing is asked", next_step="give 1 to 8 texts")
        most = MOST_TEXTS if self.brief is None else MOST_TEXTS - 1
        if len(self.texts) > most:
            beside = "" if self.brief is None else " beside a brief"
            raise Refused("texts", f"{len(self.texts)} texts are too many{beside}", next_step=f"give 1 to {most}")
        for number, text in enumerate(self.texts):
            _check_text(f"texts[{number}]", text, MOST_BYTES)
        if self.brief is not None:
            _check_text("brief", self.brief, MOST_BRIEF_BYTES)
        check_number("top_k", self.top_k, 1, MOST_HITS)
        check_number("context", self.context, 0, MOST_CONTEXT)
        for name in ("corpora", "repos", "paths", "rooms"):
            _check_names(name, getattr(self, name))
        _check_senders(self.senders)
        self._check_corpora()
        return self

    def _check_corpora(self) -> None:
        """A filter that no corpus has which is asked would leave everything in, without a word."""
        filters: tuple[tuple[Corpus, str], ...] = (
            ("forge", "repos"), ("forge", "paths"), ("chat", "rooms"), ("chat", "senders"),
        )  # fmt: skip
        for corpus, name in filters:
            if getattr(self, name) is not None and corpus not in self.searched():
                raise Refused(
                    name, f"it is for the corpus {corpus}", next_step=f"leave it out, or ask {corpus} as well"
                )

    def searched(self) -> tuple[Corpus, ...]:
        """The corpora to ask: those given, else those that filters are given for, else all."""
        if self.corpora is not None:
            return self.corpora
        filtered: dict[Corpus, bool] = {
            "forge": self.repos is not None or self.paths is not None,
            "chat": self.rooms is not None or self.senders is not None,
        }
        return tuple(corpus for corpus, is_filtered in filtered.items() if is_filtered or not any(filtered.values()))

    def asked(self) -> dict[int, str]:
        """The texts to look for, trimmed, by the number of their first occurrence."""
        first: dict[str, int] = {}
        for number, text in enumerate(self.texts):
            first.setdefault(text.strip(), number)
        return {number: text for text, number in first.items()}


def check_number(field: str, number: int, least: int, most: int) -> None:
    """Refuse a number that is out of range."""
    if not least <= number <= most:
        raise Refused(field, f"{number} is out of range", next_step=f"give {least} to {most}")


def _check_names(field: str, names: Sequence[str] | None) -> None:
    """Refuse names that are empty or no text."""
    if names is not None and not all(name.strip() for name in names):
        raise Refused(field, "an empty name", next_step="leave it out to search everywhere")
    for number, name in enumerate(names or ()):
        _check_characters(f"{field}[{number}]", name)


def _check_senders(senders: Sequence[str] | None) -> None:
    _check_names("senders", senders)
    for number, sender in enumerate(senders or ()):
        if not sender.startswith("@") or ":" not in sender:
            raise Refused(
                f"senders[{number}]", "is no id of a user", next_step='give the whole id, such as "@ann:example.org"'
            )


def _check_text(field: str, text: str, most: int) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > most:
        raise Refused(field, f"{size} bytes are too many", next_step=f"give at most {most} bytes")
    if not text.strip():
        raise Refused(field, "is empty", next_step="leave it out, or write what to look for")
    _check_characters(field, text)


def _check_characters(field: str, text: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise Refused(field, "is no valid text (half a surrogate pair)", next_step="give it as UTF-8")
