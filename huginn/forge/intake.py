"""The forge corpus in a run: which repositories there are, how one is refreshed, and which have left."""

from __future__ import annotations

from collections.abc import Sequence

from huginn.errors import Refused
from huginn.forge.discovery import discover, key_of
from huginn.forge.folder import mirror_folder, sweep
from huginn.forge.found import end_failing, keep_listing
from huginn.forge.listing import RefusedSource, Source, list_all
from huginn.forge.mirror import Mirror
from huginn.forge.sync import refresh
from huginn.forget import empty, forget, known_sources
from huginn.parts import Parts
from huginn.report import Corpus, SourceOutcome, SourceReport
from huginn.settings import Settings


class ForgeIntake:
    """See `huginn.run.Intake`. Raises `Refused` for a name in `only` that nobody lists.

    A place that could not be asked what it lists is among the sources of the run, and comes out `unread`: the
    repositories that it listed before are refreshed, and nothing is forgotten.
    """

    corpus: Corpus = "forge"

    def __init__(self, settings: Settings, only: Sequence[str]) -> None:
        self._settings = settings
        of_settings = {repository.name for repository in settings.forge.repos}
        self._discovered = discover(settings, is_asking=not only or not of_settings.issuperset(only))
        listing = list_all(settings, self._discovered)
        self._listed = {source.name: source for source in listing.sources}
        self._clashes = listing.clashes
        self._names = [*_chosen(self._listed, only), *self._discovered.failed]

    def begin(self, parts: Parts, *, dry_run: bool) -> Sequence[str]:
        """The names of the repositories to refresh, refused ones included."""
        self._parts, self._dry_run = parts, dry_run
        if parts.start_over:
            empty(parts, "forge", [name for name in self._names if isinstance(self._listed.get(name), Source)])
        return self._names

    def refresh(self, name: str) -> SourceReport:
        """Refresh one repository. Raises what is wrong with it."""
        if name in self._discovered.failed:
            reason = self._discovered.failed[name]
            return SourceReport(source=name, corpus="forge", outcome=SourceOutcome.UNREAD, reason=reason)
        source = self._listed[name]
        if isinstance(source, RefusedSource):
            return SourceReport(source=name, corpus="forge", outcome=SourceOutcome.REFUSED, reason=source.reason)
        report = refresh(source, mirror_of(self._settings, source), self._parts, dry_run=self._dry_run)
        clashes = self._clashes.get(name, [])
        return report.model_copy(update={"notes": [*report.notes, *clashes]}) if clashes else report

    def end(self, reports: Sequence[SourceReport]) -> list[SourceReport]:
        """Forget what has left the settings; delete the mirrors that nobody needs any more."""
        well = {report.source for report in reports if report.is_well}
        waiting = {old for old, new in self._discovered.renamed.items() if new in self._listed and new not in well}
        forgotten = [self._forget(name) for name in self._left() if name not in waiting]
        self._keep_listings(waiting)
        self._sweep_mirrors()
        return forgotten

    def close(self) -> None:
        """Nothing is held."""

    def _left(self) -> list[str]:
        """The sources that are known, and that nobody lists any more. An empty list forgets nothing, nor does one of
        which a part could not be read.
        """
        if not self._listed or not self._discovered.is_complete:
            return []
        return sorted(known_sources(self._parts, "forge") - self._listed.keys())

    def _keep_listings(self, waiting: set[str]) -> None:
        """Note what was listed. A repository whose new name is not taken in yet stays noted under the old one."""
        store = self._parts.checkpoints.store
        for place in self._discovered.places:
            if place.now is not None and place.now != place.before:
                old = {one.id: one for one in place.before if one.name in waiting}
                keep_listing(store, place.discover, [old.get(one.id, one) for one in place.now])
        listed = [key_of(number) for number, place in enumerate(self._discovered.places) if place.now is not None]
        if listed:
            end_failing(store, listed)

    def _forget(self, name: str) -> SourceReport:
        new = self._discovered.renamed.get(name)
        return SourceReport(
            source=name,
            corpus="forge",
            outcome=SourceOutcome.FORGOTTEN,
            reason=f"it is called {new} now" if new else "no longer in the settings",
            cursor={"before": self._parts.ledger.cursor(name).position},
            removed=forget(self._parts, "forge", name),
        )

    def _sweep_mirrors(self) -> None:
        """Delete the mirrors of sources that have left or moved; they are caches. Not while an address is in doubt."""
        sources = list(self._listed.values())
        in_doubt = not self._discovered.is_complete or any(isinstance(source, RefusedSource) for source in sources)
        if not sources or in_doubt:
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
