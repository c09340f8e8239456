"""Stands in for `huginn.search` and `huginn.status`: gives what a test has prepared, and keeps what was asked."""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, Self

import pytest
from pydantic import BaseModel

from huginn.errors import HuginnError, Refused
from huginn.report import IndexStatus, StatusReport
from huginn.settings import Settings


class Citation(BaseModel):
    kind: Literal["forge"] = "forge"
    repo: str = "heron"
    commit: str = "0123456789abcdef0123456789abcdef01234567"
    time: datetime = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
    path: str = "docs/nest.md"
    start_line: int = 10
    end_line: int = 42
    url: str | None = None


class Rank(BaseModel):
    text: int = 0
    rank: int = 1
    bm25: float | None = 3.5
    cosine: float | None = 0.25


class Hit(BaseModel):
    id: str = "7b0d3a52-0000-5000-8000-000000000000"
    score: float = 0.5
    ranks: list[Rank] = [Rank()]
    corpus: str = "forge"
    text: str = "Herons nest in reeds."
    citation: Citation = Citation()
    places: list[Citation] = [Citation()]


class Query(BaseModel):
    texts: list[str]
    mode: str = "hybrid"
    corpora: list[str] | None = None
    repos: list[str] = []
    paths: list[str] = []
    top_k: int = 10
    fold: bool = True

    @classmethod
    def checked(cls, **values: Any) -> Self:
        query = cls(**values)
        if not 1 <= query.top_k <= 50:
            raise Refused("top_k", f"is {query.top_k}, and must be between 1 and 50")
        return query


class SearchResult(BaseModel):
    query: Query
    hits: list[Hit]
    took_ms: float = 12.0


@dataclass
class Prepared:
    """What the stand-ins answer, and what they were asked."""

    hits: list[Hit] = field(default_factory=list)
    report: StatusReport = field(
        default_factory=lambda: StatusReport(sources=[], index=IndexStatus(label=None, points=None), embedder=None)
    )
    error: HuginnError | None = None
    asked: list[Any] = field(default_factory=list)

    def search(self, settings: Settings, query: Query) -> SearchResult:
        self.asked.append(query)
        if self.error is not None:
            raise self.error
        return SearchResult(query=query, hits=self.hits)

    def status(self, settings: Settings, max_age: timedelta | None) -> StatusReport:
        self.asked.append(max_age)
        if self.error is not None:
            raise self.error
        return self.report


def install(monkeypatch: pytest.MonkeyPatch) -> Prepared:
    """Put the stand-ins in the place of the real modules."""
    prepared = Prepared()
    search = types.ModuleType("huginn.search")
    status = types.ModuleType("huginn.status")
    vars(search).update(Query=Query, search=prepared.search)
    vars(status).update(status=prepared.status)
    monkeypatch.setitem(sys.modules, "huginn.search", search)
    monkeypatch.setitem(sys.modules, "huginn.status", status)
    return prepared
