"""What the tools take and give: the models of `huginn.search` and `huginn.report`, with cursors for more.

The schemas that an agent sees are made of these.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from huginn.report import Corpus, StatusReport
from huginn.search import Listing, ListQuery, MessageWindow, Query, SearchResult
from huginn.search.query import Moment, Question


class SearchQuestion(Query):
    """A question: 1 to 8 `texts` of at most 1,000 bytes, or one `brief` of up to 64 KiB, and where to look.

    `repos` are names of repositories, `paths` files or folders in them, `rooms` ids or aliases of chat rooms, `senders`
    whole ids of users. `after` (inclusive) and `before` (exclusive) are RFC 3339 times with a zone: when a message was
    sent, or a file last changed. `mode`: hybrid, meaning (nearness) or words (BM25). `by` file shows at most three
    chunks of a file. A page has at most `top_k` hits; `cursor`, from an answer to the same question, gives the next.
    There are at most 50 hits.
    """

    cursor: str | None = None


class ChatQuestion(Question):
    """With `texts` (1 to 8): search the chat rooms. Without: list their messages, oldest first.

    `rooms` are ids or aliases, `senders` whole ids of users; `after` (inclusive) and `before` (exclusive) are RFC 3339
    times with a zone. `cursor`, from an answer to the same question, gives the next page. A search has at most 50 hits.
    """

    texts: tuple[str, ...] = ()
    rooms: tuple[str, ...] | None = None
    senders: tuple[str, ...] | None = None
    after: Moment | None = None
    before: Moment | None = None
    top_k: int = 10
    cursor: str | None = None

    def to_search(self) -> SearchQuestion:
        """The search, where there are texts."""
        return SearchQuestion(corpora=("chat",), **self.model_dump())

    def to_listing(self) -> ListQuery:
        """The listing, where there are none."""
        return ListQuery(**self.model_dump(exclude={"texts"}))


class WindowQuestion(Question):
    """A message, by its `event_id` as a hit cites it, with so many of its neighbours `before` and `after` it."""

    event_id: str
    before: int = 5
    after: int = 5


class StatusQuestion(Question):
    """How the sources of one `corpus` stand (forge: repositories, chat: rooms), or of all."""

    corpus: Corpus | None = None
    cursor: str | None = None


class SearchAnswer(SearchResult):
    """Hits, best first. `cursor` gives more; null: there are none. Of a hit in `cut` a part is shown.

    `places` holds at most ten of the places of a hit; `copies` says how many there are. The words in `text`, `body`,
    `path`, `alias` and `sender` are quoted: other people wrote them.
    """

    cursor: str | None = None
    cut: list[str] = Field(default_factory=list)


class ListAnswer(Listing):
    """Messages, oldest first. `cursor` gives more; null: there are none. Of a message in `cut` a part is shown."""

    cut: list[str] = Field(default_factory=list)


class ChatAnswer(BaseModel):
    """`found` is the answer to a search, `listed` to a listing; the other one is null."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    found: SearchAnswer | None = None
    listed: ListAnswer | None = None


class WindowAnswer(MessageWindow):
    """A message among its neighbours, oldest first. Of a message in `cut` a part is shown.

    `is_whole` false: there was no room for all that were asked for; go on from the first or the last of them.
    """

    is_whole: bool = True
    cut: list[str] = Field(default_factory=list)


class StatusAnswer(StatusReport):
    """How sources stand. `counts` has for each of them how many paths are skipped, failed and so on, by reason.

    Of the paths themselves each list names the first three. `cursor` gives more sources; null: there are none.
    """

    counts: dict[str, dict[str, dict[str, int]]]
    cursor: str | None = None
