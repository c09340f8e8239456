"""Search with citations: `from huginn.search import Query, search`."""

from huginn.search.answer import search
from huginn.search.query import Citation, Hit, Mode, Query, Rank, SearchResult

__all__ = ["Citation", "Hit", "Mode", "Query", "Rank", "SearchResult", "search"]
