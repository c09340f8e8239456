"""A place to try the whole of it in: settings, refreshes, and all that the index holds afterwards."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from huginn.errors import Refused, Unavailable
from huginn.index.embedded import EmbeddedIndex
from huginn.index.opening import open_for_search
from huginn.index.port import Place
from huginn.report import RunReport, SourceReport
from huginn.run import open_run
from huginn.search import ForgeCitation, Hit, Query, SearchResult, search
from huginn.settings import Settings


@dataclass
class Workspace:
    """A state folder and the settings for it; `repos` are addresses by name."""

    root: Path
    repos: Mapping[str, Path | str]
    branch: str | None = None
    exclude: tuple[str, ...] = ()
    index_settings: Mapping[str, Any] = field(default_factory=dict)
    embedder: Mapping[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> Settings:
        repos = [{"name": name, "url": str(url), "branch": self.branch} for name, url in self.repos.items()]
        forge: dict[str, Any] = {"name": "Test", "repos": repos, "exclude": self.exclude}
        return Settings.model_validate(
            {
                "state": self.root / "state",
                "forge": forge,
                "embedder": dict(self.embedder),
                "index": {"min_free_bytes": 0, **self.index_settings},
            },
            context={"folder": self.root},
        )

    def refresh(self, *only: str, **options: bool) -> RunReport:
        """Refresh one source after the other, as a driver does."""
        with open_run(self.settings, only=only, **options) as run:  # type: ignore[arg-type] # flags of a run
            return run.finish([self._one(run, name) for name in run.sources])

    def backfill(self, *only: str, **options: bool) -> RunReport:
        """Compare with the whole of what upstream says."""
        return self.refresh(*only, compare_all=True, **options)

    def start_over(self, *only: str) -> RunReport:
        """Take sources in from the beginning, after their points are gone."""
        return self.refresh(*only, start_over=True)

    def refresh_one(self, *, dry_run: bool = False) -> SourceReport:
        """Refresh, and the report of the only source."""
        (report,) = self.refresh(dry_run=dry_run).sources
        return report

    @staticmethod
    def _one(run: Any, name: str) -> SourceReport:
        try:
            return run.refresh(name)  # type: ignore[no-any-return] # a run, or a stand-in for one
        except (Unavailable, Refused) as error:
            return run.failed(name, error)  # type: ignore[no-any-return]

    @contextmanager
    def index(self) -> Any:
        """The index, for reading."""
        index = open_for_search(self.settings, wait=5)
        try:
            yield index
        finally:
            index.close()

    def points(self) -> dict[str, tuple[object, ...]]:
        """All points whole, to be held against another build: payload and vector, by id."""
        index: EmbeddedIndex
        with self.index() as index:
            stored = list(index.stored(Place()))
            shas = sorted({str(point.payload["embedded_sha256"]) for point in stored})
            vectors = index.vectors(shas)
        return {
            point.id: (
                dict(point.payload),
                vectors[str(point.payload["embedded_sha256"])].tobytes() if point.has_vector else None,
            )
            for point in stored
        }

    def payloads(self) -> list[dict[str, Any]]:
        """The payloads of all points, by path and line."""
        with self.index() as index:
            found = [dict(point.payload) for point in index.stored(Place())]
        return sorted(found, key=lambda payload: (payload["source"], payload["path"], payload["start_line"]))

    def search(self, *texts: str, **options: Any) -> SearchResult:
        return search(self.settings, Query(texts=texts, **options))

    def paths_with(self, word: str) -> list[str]:
        """The paths that a search by words finds for a word."""
        return sorted({cited(hit).path for hit in self.search(word, mode="words", top_k=50).hits})

    def lose_checkpoints(self) -> None:
        for path in self.settings.state.glob("checkpoints*"):
            path.unlink()

    def lose_mirrors(self) -> None:
        shutil.rmtree(self.settings.mirrors, ignore_errors=True)

    def fresh(self, name: str = "fresh") -> Workspace:
        """The same settings with an empty state, for a build from nothing."""
        root = self.root / name
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        return Workspace(root, self.repos, self.branch, self.exclude, self.index_settings, self.embedder)


def cited(hit: Hit) -> ForgeCitation:
    """Where a hit in a repository stands."""
    assert hit.citation.kind == "forge"
    return hit.citation


def outcomes(report: RunReport) -> Sequence[tuple[str, str]]:
    """What became of each source."""
    return [(source.source, source.outcome.value) for source in report.sources]
