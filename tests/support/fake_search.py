"""Stands in for a search and a status: gives what a test has prepared, and keeps what was asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from huginn.errors import HuginnError
from huginn.report import IndexStatus, StatusReport
from huginn.search import Exact, ForgeCitation, Hit, Query, Rank, SearchResult
from huginn.settings import Settings


def citation(**values: Any) -> ForgeCitation:
    """A citation, with what a test does not care about filled in."""
    usual = {
        "repo": "heron",
        "commit": "0123456789abcdef0123456789abcdef01234567",
        "time": datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC),
        "path": "docs/nest.md",
        "start_line": 10,
        "end_line": 42,
    }
    return ForgeCitation.model_validate({**usual, **values})


def hit(**values: Any) -> Hit:
    """A hit, with what a test does not care about filled in."""
    usual = {
        "id": "7b0d3a52-0000-5000-8000-000000000000",
        "score": 0.5,
        "ranks": [Rank(text=0, rank=1, bm25=3.5, cosine=0.25)],
        "corpus": "forge",
        "text": "Herons nest in reeds.",
        "citation": citation(),
        "places": [citation()],
    }
    return Hit.model_validate({**usual, **values})


@dataclass
class Prepared:
    """What the stand-ins answer, and what they were asked."""

    hits: list[Hit] = field(default_factory=list)
    exact: list[Exact] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    report: StatusReport = field(
        default_factory=lambda: StatusReport(sources=[], index=IndexStatus(label=None, points=None), embedder=None)
    )
    error: HuginnError | None = None
    asked: list[Any] = field(default_factory=list)

    def search(self, settings: Settings, query: Query) -> SearchResult:
        """Answer with the hits, or raise the error."""
        self.asked.append(query)
        if self.error is not None:
            raise self.error
        return SearchResult(query=query, parts=self.parts, hits=self.hits, exact=self.exact, took_ms=12.0)

    def status(self, settings: Settings, *, max_age: timedelta | None = None) -> StatusReport:
        """Answer with the report, or raise the error."""
        self.asked.append(max_age)
        if self.error is not None:
            raise self.error
        return self.report


def install(monkeypatch: pytest.MonkeyPatch) -> Prepared:
    """Put the stand-ins in the place of the real functions."""
    prepared = Prepared()
    monkeypatch.setattr("huginn.search.search", prepared.search)
    monkeypatch.setattr("huginn.status.status", prepared.status)
    return prepared
