"""Search with citations, and reading chat: `from huginn.search import Query, search, open_index`."""

from huginn.search.answer import search
from huginn.search.listing import list_messages
from huginn.search.opened import OpenIndex, open_index
from huginn.search.query import By, ListQuery, Mode, Query
from huginn.search.result import (
    Around,
    ChatCitation,
    Citation,
    Exact,
    Following,
    ForgeCitation,
    Hit,
    Listing,
    Message,
    MessageWindow,
    Rank,
    RoomMessage,
    SearchResult,
)
from huginn.search.window import show_window

__all__ = [
    "Around",
    "By",
    "ChatCitation",
    "Citation",
    "Exact",
    "Following",
    "ForgeCitation",
    "Hit",
    "ListQuery",
    "Listing",
    "Message",
    "MessageWindow",
    "Mode",
    "OpenIndex",
    "Query",
    "Rank",
    "RoomMessage",
    "SearchResult",
    "list_messages",
    "open_index",
    "search",
    "show_window",
]
