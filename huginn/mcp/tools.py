"""The four tools: arguments in, a document and its text out. They read, and nothing else.

Each document is bounded in bytes; more is to be had by its cursor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from huginn.errors import Refused
from huginn.mcp import bounded
from huginn.mcp.cursors import cursor_of, short, shown_before
from huginn.mcp.models import (
    ChatAnswer,
    ChatQuestion,
    ListAnswer,
    SearchAnswer,
    SearchQuestion,
    StatusAnswer,
    StatusQuestion,
    WindowAnswer,
    WindowQuestion,
)
from huginn.mcp.quoted import Quoting
from huginn.report import ItemStatus, SourceStatus
from huginn.search import OpenIndex, Query
from huginn.search.listing import cursor_behind
from huginn.search.query import MOST_HITS, check_number
from huginn.status import status

_MOST_NEIGHBOURS = 100
_MOST_LISTED = 200
_KINDS = ("skipped", "failed", "words_only", "shortened")
_NAMED = 3


@dataclass(frozen=True)
class Tool:
    """A tool: what it is called, what it takes and gives, and what does its work."""

    name: str
    title: str
    description: str
    question: type[BaseModel]
    answer: type[BaseModel]
    ask: Callable[[OpenIndex, Any], tuple[BaseModel, str]]

    def __call__(self, index: OpenIndex, arguments: Mapping[str, Any]) -> tuple[BaseModel, str]:
        """The document and its text. Raises what `huginn.search` raises, and `Refused` for the arguments."""
        return self.ask(index, self.question(**arguments))


def _search(index: OpenIndex, question: SearchQuestion) -> tuple[SearchAnswer, str]:
    answer = _found(index, question)
    return answer, Quoting().search(answer)


def _chat_search(index: OpenIndex, question: ChatQuestion) -> tuple[ChatAnswer, str]:
    if question.texts:
        found = _found(index, question.to_search())
        return ChatAnswer(found=found), Quoting().search(found)
    listed = _listed(index, question)
    return ChatAnswer(listed=listed), Quoting().listing(listed)


def _chat_window(index: OpenIndex, question: WindowQuestion) -> tuple[WindowAnswer, str]:
    for name in ("before", "after"):
        check_number(name, getattr(question, name), 0, _MOST_NEIGHBOURS)
    window = index.show_window(question.event_id, before=question.before, after=question.after)
    whole = [bounded.cut_message(message) for message in window.messages]
    messages = bounded.around(whole, window.event_id)
    answer = WindowAnswer(
        **{**dict(window), "messages": messages},
        is_whole=len(messages) == len(whole),
        cut=[cut.event_id for cut, message in zip(whole, window.messages, strict=True) if cut != message],
    )
    return answer, Quoting().window(answer)


def _status(index: OpenIndex, question: StatusQuestion) -> tuple[StatusAnswer, str]:
    report = status(index.settings)
    shown = set(shown_before(question, question.cursor))
    wanted = [source for source in report.sources if question.corpus in (None, source.corpus)]
    left = [source for source in wanted if short(source.source) not in shown]
    page = bounded.fitting(map(_first_items, left))
    names = {short(source.source) for source in page}
    answer = StatusAnswer(
        **{**dict(report), "sources": page},
        counts={source.source: _counts(source) for source in left[: len(page)]},
        cursor=cursor_of(question, sorted(shown | names)) if len(page) < len(left) else None,
    )
    return answer, Quoting().status(answer)


def _found(index: OpenIndex, question: SearchQuestion) -> SearchAnswer:
    """A page of hits. What was shown is asked for again, with as many more: ranks may have moved meanwhile."""
    shown = shown_before(question, question.cursor)
    query = Query(**question.model_dump(exclude={"cursor"}))
    depth = min(MOST_HITS, len(shown) + query.top_k)
    result = index.search(query.model_copy(update={"top_k": depth}))
    new = [hit for hit in result.hits if short(hit.id) not in shown][: query.top_k]
    cut = [bounded.cut_hit(hit) for hit in new]
    page = bounded.fitting(cut)
    is_last = not page or len(shown) + len(page) >= MOST_HITS or (len(page) == len(new) and _is_all(result.hits, depth))
    names = [*shown, *(short(hit.id) for hit in page)]
    told = result.query.model_copy(update={"top_k": query.top_k})
    return SearchAnswer(
        **{**dict(result), "query": told, "hits": page},
        cursor=None if is_last else cursor_of(question, names),
        cut=[hit.id for hit, whole in zip(page, new, strict=False) if _is_cut(hit, whole)],
    )


def _is_all(hits: list[Any], depth: int) -> bool:
    """Whether a deeper search would find nothing more. Windows that were joined count as one, so they do not tell."""
    return len(hits) < depth and all(hit.corpus == "forge" for hit in hits)


def _is_cut(shown: Any, whole: Any) -> bool:
    return any(getattr(shown, name) != getattr(whole, name) for name in ("text", "messages", "following"))


def _listed(index: OpenIndex, question: ChatQuestion) -> ListAnswer:
    query = question.to_listing()
    check_number("top_k", query.top_k, 1, _MOST_LISTED)
    listing = index.list_messages(query)
    cut = [bounded.cut_message(message) for message in listing.messages]
    page = bounded.fitting(cut)
    cursor = listing.cursor if len(page) == len(cut) else cursor_behind(page[-1], query)
    return ListAnswer(
        **{**dict(listing), "messages": page, "cursor": cursor},
        cut=[one.event_id for one, whole in zip(page, listing.messages, strict=False) if one != whole],
    )


def _first_items(source: SourceStatus) -> SourceStatus:
    return source.model_copy(update={kind: getattr(source, kind)[:_NAMED] for kind in _KINDS})


def _counts(source: SourceStatus) -> dict[str, dict[str, int]]:
    items: dict[str, list[ItemStatus]] = {kind: getattr(source, kind) for kind in _KINDS}
    return {kind: dict(Counter(item.reason for item in of_kind)) for kind, of_kind in items.items() if of_kind}


TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "search",
            "Search code and chat",
            "Search the team's git repositories and chat rooms, by meaning and by words. Gives citations (repository, "
            "commit, path and lines; or room, event and time) with the text as it was indexed.",
            SearchQuestion,
            SearchAnswer,
            _search,
        ),
        Tool(
            "chat_search",
            "Search or list chat",
            "Search the team's chat rooms, or, without texts, list their messages in order of time.",
            ChatQuestion,
            ChatAnswer,
            _chat_search,
        ),
        Tool(
            "chat_window",
            "Read around a message",
            "Show a chat message among its neighbours in the same room.",
            WindowQuestion,
            WindowAnswer,
            _chat_window,
        ),
        Tool(
            "status",
            "How fresh the index is",
            "Tell how each repository and room stands: when it was last taken in, what was skipped or failed, and why.",
            StatusQuestion,
            StatusAnswer,
            _status,
        ),
    )
}


def tool_of(name: str) -> Tool:
    """The tool of that name. Raises `Refused` if there is none."""
    if name not in TOOLS:
        raise Refused("tool", "there is none of that name", next_step=f"there are: {', '.join(TOOLS)}")
    return TOOLS[name]
