"""One run of the forge corpus: what the flow and the command line share.

In: settings, which sources, whether dry. Out: a `RunReport`. A run holds the writer's lock and the index from its
opening to its end. Its sources are refreshed one by one or side by side by whoever drives it: each is independent.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from huginn import scrub
from huginn.checkpoints import Checkpoints
from huginn.embed import open_embedder
from huginn.embed.away import reachable
from huginn.embed.probe import Witnessed, carry_witness, take_note_of_software
from huginn.errors import HuginnError, Refused, Unavailable, unforeseen
from huginn.forge.folder import mirror_folder, sweep
from huginn.forge.listing import RefusedSource, Source, list_sources
from huginn.forge.mirror import Mirror
from huginn.forge.parts import Parts
from huginn.forge.sync import refresh
from huginn.index.opening import Opened, labels, open_for_refresh
from huginn.index.port import Place
from huginn.lock import writer_lock
from huginn.rebuild import outlook, settle
from huginn.report import Rebuild, RunReport, SourceOutcome, SourceReport, now, run_outcome
from huginn.rules import current_label
from huginn.settings import Settings

FLOW = "forge-refresh"
_INDEX_WAIT_SECONDS = 30.0  # a search may hold the embedded shard for a moment


@dataclass
class Run:
    """A run that is open. `sources` are the names of what it will refresh, refused ones included."""

    id: str
    sources: Sequence[str]
    flow: str
    dry_run: bool
    started: datetime
    _settings: Settings
    _asked: Sequence[str]
    _listed: dict[str, Source | RefusedSource]
    _parts: Parts
    _opened: Opened
    notes: Sequence[str] = ()
    _unavailable: set[str] = field(default_factory=set)

    @property
    def rebuild(self) -> Rebuild | None:
        """What this run builds anew beside the index in use, if it does."""
        return outlook(self._opened)

    def refresh(self, name: str) -> SourceReport:
        """Refresh one source. What is wrong with it alone is in the report; `Unavailable` is raised: retrying may help.

        May be called from several threads, for different sources.
        """
        source = self._listed[name]
        if isinstance(source, RefusedSource):
            return SourceReport(source=name, corpus="forge", outcome=SourceOutcome.REFUSED, reason=source.reason)
        try:
            return refresh(source, mirror_of(self._settings, source), self._parts, dry_run=self.dry_run)
        except Unavailable:
            raise
        except HuginnError as error:
            return self.failed(name, error)
        except OSError as error:
            return self.failed(name, HuginnError(f"the system says: {error.strerror or type(error).__name__}"))
        except Exception as error:  # a defect of ours in one source must not take the others' reports with it
            return self.failed(name, unforeseen(error, next_step="please report this defect"))

    def failed(self, name: str, error: HuginnError) -> SourceReport:
        """The report of a source that is given up after `error`; its cursor has not moved."""
        if isinstance(error, Unavailable) and error.part != "upstream":
            self._unavailable.add(error.part)
        cursor = self._parts.ledger.cursor(name).position
        return SourceReport(
            source=name,
            corpus="forge",
            outcome=SourceOutcome.FAILED,
            reason=str(error),
            cursor={"before": cursor, "after": cursor},
        )

    def finish(self, reports: Sequence[SourceReport]) -> RunReport:
        """Forget the sources that have left the settings, keep the journal, and tell what was done.

        Nothing may be written afterwards: a large index may get a graph, on a copy, which then takes its place.
        """
        sources = list(reports)
        if not self.dry_run:
            sources += [self._forget(name) for name in self._left()]
            self._sweep_mirrors()
        rebuild = self.rebuild if self.dry_run else settle(self._opened, self._parts.checkpoints)
        report = RunReport(
            run=self.id,
            flow=self.flow,
            outcome=run_outcome(sources),
            dry_run=self.dry_run,
            started=self.started,
            finished=now(),
            unavailable=sorted(self._unavailable),
            notes=list(self.notes),
            rebuild=rebuild,
            sources=sources,
        )
        if self.dry_run:
            return report
        self._parts.checkpoints.record(report, self._asked)
        note = self._opened.build_graph()
        return report.model_copy(update={"notes": [*report.notes, note], "finished": now()}) if note else report

    def _left(self) -> list[str]:
        """The sources that are known but no longer in the settings. An empty list in the settings forgets nothing."""
        if not self._listed:
            return []
        known = self._parts.points.keys() | self._parts.ledger.cursors.keys()
        for other in self._parts.others():
            known |= other.sources("forge").keys()
        return sorted(known - self._listed.keys())

    def _forget(self, name: str) -> SourceReport:
        checkpoints = self._parts.checkpoints
        before = self._parts.ledger.cursor(name).position
        removed = []
        for index in (self._parts.index, *self._parts.others()):
            checkpoints.begin(index.id, "forge", name)
            ids = [point.id for point in index.stored(Place(corpus="forge", sources=[name]), ["source"])]
            writer = index.writer("forge", name)
            writer.remove(ids)
            checkpoints.forget(writer.acknowledge())
            removed.append(len(ids))
        return SourceReport(
            source=name,
            corpus="forge",
            outcome=SourceOutcome.FORGOTTEN,
            reason="no longer in the settings",
            cursor={"before": before},
            removed=removed[0],
        )

    def _sweep_mirrors(self) -> None:
        """Delete the mirrors of sources that have left or moved; they are caches. Not while an address is in doubt."""
        sources = list(self._listed.values())
        if not sources or any(isinstance(source, RefusedSource) for source in sources):
            return
        root = self._settings.mirrors
        sweep(root, [mirror_folder(root, each.name, each.address) for each in sources if isinstance(each, Source)])


@contextmanager
def open_run(
    settings: Settings,
    *,
    flow: str = FLOW,
    only: Sequence[str] = (),
    dry_run: bool = False,
    wait: float = 0.0,
    rebuild: bool = False,
) -> Iterator[Run]:
    """Open a run over all sources of the forge corpus, or those named in `only`.

    `rebuild`: build an index of other rules or another model anew, also where the settings say to ask first.

    Raises `Busy` when another writer does not end within `wait` seconds, `Refused` for a name in `only` that the
    settings do not know, `Unavailable` when the index, the checkpoint store or the disk cannot be used.
    """
    listed = {source.name: source for source in list_sources(settings)}
    names = _chosen(listed, only)
    started = now()
    with writer_lock(settings.state, flow, wait=wait):
        scrub.prepare(settings.state / "cache")
        embedder = reachable(open_embedder(settings.embedder), labels(settings))
        checkpoints = Checkpoints(settings.state)
        label = current_label(settings, embedder.identity)
        with open_for_refresh(settings, label, wait=_INDEX_WAIT_SECONDS, rebuild=rebuild) as opened:
            index = opened.target
            ledger = checkpoints.ledger(index.id, "forge")
            carry = opened.with_vectors_of(label.identity)
            if not dry_run:
                carry_witness(carry, index)
            notes = take_note_of_software(embedder, index, is_kept=not dry_run)
            parts = Parts(
                index,
                Witnessed(embedder, index),
                checkpoints,
                ledger,
                index.sources("forge"),
                carry=carry,
                others=opened.all_others,
            )
            yield Run(
                uuid.uuid4().hex, names, flow, dry_run, started, settings, tuple(only), listed, parts, opened, notes
            )


def work_done_since(settings: Settings, flow: str, moment: datetime, only: Sequence[str] = ()) -> str | None:
    """The id of a run of this flow that began after `moment`, covered `only` (or all) and went well; else None."""
    checkpoints = Checkpoints(settings.state)
    return checkpoints.done_since(flow, moment, only) if checkpoints.store.exists() else None


def _chosen(listed: dict[str, Source | RefusedSource], only: Sequence[str]) -> list[str]:
    unknown = sorted(set(only) - listed.keys())
    if unknown:
        known = ", ".join(listed) or "none"
        raise Refused("only", f"the settings have no source {unknown[0]!r}", next_step=f"they have: {known}")
    return [name for name in listed if not only or name in only]


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
