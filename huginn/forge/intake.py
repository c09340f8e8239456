"""The forge corpus in a run: which repositories there are, how one is refreshed, and which have left."""

from __future__ import annotations

from collections.abc import Sequence

from huginn.errors import Refused
from huginn.forge.folder import mirror_folder, sweep
from huginn.forge.listing import RefusedSource, Source, list_sources
from huginn.forge.mirror import Mirror
from huginn.forge.sync import refresh
from huginn.forget import empty, forget, known_sources
from huginn.parts import Parts
from huginn.report import Corpus, SourceOutcome, SourceReport
from huginn.settings import Settings


class ForgeIntake:
    """See `huginn.run.Intake`. Raises `Refused` for a name in `only` that the settings do not have."""

    corpus: Corpus = "forge"

    def __init__(self, settings: Settings, only: Sequence[str]) -> None:
        self._settings = settings
        self._listed = {source.name: source for source in list_sources(settings)}
        self._names = _chosen(self._listed, only)

    def begin(self, parts: Parts, *, dry_run: bool) -> Sequence[str]:
        """The names of the repositories to refresh, refused ones included."""
        self._parts, self._dry_run = parts, dry_run
        if parts.start_over:
            empty(parts, "forge", [name for name in self._names if isinstance(self._listed[name], Source)])
        return self._names

    def refresh(self, name: str) -> SourceReport:
        """Refresh one repository. Raises what is wrong with it."""
        source = self._listed[name]
        if isinstance(source, RefusedSource):
            return SourceReport(source=name, corpus="forge", outcome=SourceOutcome.REFUSED, reason=source.reason)
        return refresh(source, mirror_of(self._settings, source), self._parts, dry_run=self._dry_run)

    def end(self, reports: Sequence[SourceReport]) -> list[SourceReport]:
        """Forget what has left the settings; delete the mirrors that nobody needs any more."""
        forgotten = [self._forget(name) for name in self._left()]
        self._sweep_mirrors()
        return forgotten

    def close(self) -> None:
        """Nothing is held."""

    def _left(self) -> list[str]:
        """The sources that are known but no longer in the settings. An empty list in the settings forgets nothing."""
        return sorted(known_sources(self._parts, "forge") - self._listed.keys()) if self._listed else []

    def _forget(self, name: str) -> SourceReport:
        return SourceReport(
            source=name,
            corpus="forge",
            outcome=SourceOutcome.FORGOTTEN,
            reason="no longer in the settings",
            cursor={"before": self._parts.ledger.cursor(name).position},
            removed=forget(self._parts, "forge", name),
        )

    def _sweep_mirrors(self) -> None:
        """Delete the mirrors of sources that have left or moved; they are caches. Not while an address is in doubt."""
        sources = list(self._listed.values())
        if not sources or any(isinstance(source, RefusedSource) for source in sources):
            return
        root = self._settings.mirrors
        sweep(root, [mirror_folder(root, each.name, each.address) for each in sources if isinstance(each, Source)])


def mirror_of(settings: Settings, source: Source) -> Mirror:
    """The mirror of a source, in the folder of mirrors."""
    return Mirror(
        mirror_folder(settings.mirrors, source.name, source.address),
        source.address,
        branch=source.branch,
        token=source.token,
        username=source.username,
        timeout=settings.forge.timeout_seconds,
    )


def _chosen(listed: dict[str, Source | RefusedSource], only: Sequence[str]) -> list[str]:
    unknown = sorted(set(only) - listed.keys())
    if unknown:
        known = ", ".join(listed) or "none"
        raise Refused("only", f"the settings have no source {unknown[0]!r}", next_step=f"they have: {known}")
    return [name for name in listed if not only or name in only]
