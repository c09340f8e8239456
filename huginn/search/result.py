"""What is answered: the Pydantic models of hits, of citations, of listed messages."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from huginn.report import Corpus
from huginn.search.query import ListQuery, Query


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Rank(_Model):
    """Which rank one of the texts gave a hit, and the scores of both sides; None: that side was not asked or has none.

    `text` is the number of the text in the query, from 0; the parts of a brief are numbered on from there. `rank`
    counts from 1; by file it is that of the file in the text's list of files, and the scores are those of the chunk.
    """

    text: int
    rank: int
    bm25: float | None = None
    cosine: float | None = None


class ForgeCitation(_Model):
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


class ChatCitation(_Model):
    """Where messages stand: the room (its id, and its alias if it has one), the first and the last of them, and when.

    `url` is the permalink of the first one.
    """

    kind: Literal["chat"] = "chat"
    room: str
    alias: str | None
    event_id: str
    last_event_id: str
    time: datetime
    end_time: datetime
    url: str


Citation = Annotated[ForgeCitation | ChatCitation, Field(discriminator="kind")]


class Message(_Model):
    """A message as it was indexed, or, where it is longer than a window, in a hit a part of it."""

    event_id: str
    sender: str
    time: datetime
    body: str


class Following(_Model):
    """The window that begins after a hit, in the same room within two hours: context, which nobody asked for."""

    citation: ChatCitation
    messages: list[Message]


class Around(_Model):
    """What stands right before and right after a hit, in order: lines of its file, or messages of its room."""

    lines_before: list[str] = Field(default_factory=list)
    lines_after: list[str] = Field(default_factory=list)
    messages_before: list[Message] = Field(default_factory=list)
    messages_after: list[Message] = Field(default_factory=list)


class Exact(_Model):
    """A name in the texts (an identifier, a code, a file, an id), and whether it stands anywhere to the letter."""

    name: str
    found: bool


class Hit(_Model):
    """One answer. `score` is the fused one: the sum over the texts of 1 / (60 + rank), by file of
    1 / (5 + rank); it is no similarity.

    `places` are all places where the very same text stands, the cited one first (at most 100 of them; `copies` says
    how many there are). Without folding it is the cited one alone. A hit of chat has its `messages`, of which only
    those inside the query's `after` and `before` are there, in `text` too, and what is `following`; `matched` is the
    event id of the one that has most in common with the texts, None where words do not tell.

    A hit may be joined from neighbours, chunks or windows side by side: `text` and `citation` then span all of them,
    `id` and `ranks` are of the best one. `around` is what the query's `context` asked for.
    """

    id: str
    score: float
    ranks: list[Rank]
    corpus: Corpus
    text: str
    citation: Citation
    places: list[Citation]
    copies: int = 1
    messages: list[Message] = Field(default_factory=list)
    following: Following | None = None
    matched: str | None = None
    around: Around | None = None


class SearchResult(_Model):
    """The answer: the query as it was asked (with secrets masked), the hits, best first, and the time it took.

    `parts` are the texts that the brief was cut into. `exact` tells of each name in the texts, at most 16, whether it
    stands to the letter in what was searched; where one does not, the hits are merely near it.
    """

    query: Query
    parts: list[str] = Field(default_factory=list)
    hits: list[Hit] = Field(default_factory=list)
    exact: list[Exact] = Field(default_factory=list)
    took_ms: float


class RoomMessage(Message):
    """A message whole, the room it stands in, and its permalink."""

    room: str
    alias: str | None
    url: str


class Listing(_Model):
    """A page of messages, oldest first; `cursor` goes on behind the last of them, None: there are no more."""

    query: ListQuery
    messages: list[RoomMessage] = Field(default_factory=list)
    cursor: str | None = None
    took_ms: float


class MessageWindow(_Model):
    """The message `event_id` among its neighbours in the same room, oldest first."""

    event_id: str
    room: str
    alias: str | None
    messages: list[RoomMessage]
    took_ms: float
