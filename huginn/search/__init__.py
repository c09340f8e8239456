"""Search with citations: `from huginn.search import Query, search`."""

from huginn.search.query import Citation, Hit, Mode, Query, Rank, SearchResult
from huginn.search.search import search

__all__ = ["Citation", "Hit", "Mode", "Query", "Rank", "SearchResult", "search"]
