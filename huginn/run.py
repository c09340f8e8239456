"""One run over a corpus: what the flows and the command line share.

In: settings, which sources, whether dry. Out: a `RunReport`. A run holds the writer's lock and the index from its
opening to its end. Its sources are refreshed one by one or side by side by whoever drives it: each is independent.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from huginn import scrub
from huginn.chat.purge import remove_purged, rewrite_marked
from huginn.checkpoints import Checkpoints
from huginn.embed import open_embedder
from huginn.embed.away import reachable
from huginn.embed.probe import Witnessed, carry_witness, take_note_of_software, witness_of
from huginn.errors import HuginnError, Refused, Unavailable, unforeseen
from huginn.forge.intake import ForgeIntake
from huginn.index.opening import Opened, labels, open_for_refresh
from huginn.lock import writer_lock
from huginn.losses import with_losses
from huginn.parts import Parts
from huginn.progress import Progress
from huginn.purges import PurgeRecord, standing
from huginn.rebuild import outlook, settle
from huginn.report import Corpus, Rebuild, RunReport, SourceOutcome, SourceReport, now, run_outcome
from huginn.rules import current_label
from huginn.settings import Settings

FLOWS: dict[Corpus, str] = {"forge": "forge-refresh", "chat": "chat-refresh"}
BACKFILL = "backfill"
REBUILD = "rebuild"
_INDEX_WAIT_SECONDS = 30.0  # a search may hold the embedded shard for a moment


class Intake(Protocol):
    """What a corpus brings to a run."""

    @property
    def corpus(self) -> Corpus:
        """Which corpus it is."""
        ...

    def begin(self, parts: Parts, *, dry_run: bool) -> Sequence[str]:
        """The names of the sources to look at in this run; what has to disappear comes first."""
        ...

    def refresh(self, name: str) -> SourceReport:
        """Bring one source up to date. Raises what is wrong with it. May be called from several threads."""
        ...

    def end(self, reports: Sequence[SourceReport]) -> list[SourceReport]:
        """After all sources of a run that writes: what there is to forget and to note; more reports."""
        ...

    def close(self) -> None:
        """Let go of what upstream was asked with."""
        ...


@dataclass
class Run:
    """A run that is open. `sources` are the names of what it will refresh, refused ones included.

    `progress` tells how far the sources are that are at work; it may be read at any time, from any thread.
    """

    id: str
    sources: Sequence[str]
    flow: str
    dry_run: bool
    started: datetime
    _asked: Sequence[str]
    _intake: Intake
    _parts: Parts
    _opened: Opened
    notes: Sequence[str] = ()
    progress: Progress = field(default_factory=Progress)
    _unavailable: set[str] = field(default_factory=set)

    @property
    def rebuild(self) -> Rebuild | None:
        """What this run builds anew beside the index in use, if it does."""
        return outlook(self._opened)

    def refresh(self, name: str) -> SourceReport:
        """Refresh one source. What is wrong with it alone is in the report; `Unavailable` is raised: retrying may help.

        May be called from several threads, for different sources.
        """
        try:
            with self.progress.at_work_on(name):
                return self._after_emptying(self._intake.refresh(name))
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
        return self._after_emptying(
            SourceReport(
                source=name,
                corpus=self._intake.corpus,
                outcome=SourceOutcome.FAILED,
                reason=str(error),
                cursor={"before": cursor, "after": None if name in self._parts.emptied else cursor},
            )
        )

    def finish(self, reports: Sequence[SourceReport]) -> RunReport:
        """Forget the sources that have left, keep the journal, and tell what was done.

        Nothing may be written afterwards: a large index may get a graph, on a copy, which then takes its place.
        """
        sources = with_losses(reports, self._parts, dry_run=self.dry_run)
        if not self.dry_run:
            sources += self._intake.end(reports)
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
        notes = [note for note in (self._rewrite_marked(), self._opened.build_graph()) if note]
        return report.model_copy(update={"notes": [*report.notes, *notes], "finished": now()}) if notes else report

    def _rewrite_marked(self) -> str | None:
        """Finish what a purge of words from all files has left; gives what is in the way of it."""
        try:
            rewrite_marked(self._opened.open_ones())
        except Unavailable as error:
            return str(error)
        return None

    def _after_emptying(self, report: SourceReport) -> SourceReport:
        """The report of a source with the points counted that went before it was taken in anew."""
        gone = self._parts.emptied.get(report.source)
        if gone is None:
            return report
        told: dict[str, object] = {"removed": report.removed + gone}
        if report.outcome in (SourceOutcome.FAILED, SourceOutcome.UNREAD):
            told["notes"] = [*report.notes, f"all {gone} points of it are gone; the next refresh takes it in again"]
        return report.model_copy(update=told)


@contextmanager
def open_run(
    settings: Settings,
    *,
    corpus: Corpus = "forge",
    flow: str | None = None,
    only: Sequence[str] = (),
    dry_run: bool = False,
    wait: float = 0.0,
    rebuild: bool = False,
    compare_all: bool = False,
    start_over: bool = False,
) -> Iterator[Run]:
    """Open a run over all sources of a corpus, or those named in `only`. `flow`: its name in the journal.

    `rebuild`: build an index of other rules or another model anew, also where the settings say to ask first, and where
    the model gives other vectors than before under the same digest. `compare_all` and `start_over`: see
    `huginn.parts.Parts`; `start_over` is for sources that are named in `only`.

    Raises `Busy` when another writer does not end within `wait` seconds, `Refused` for a name in `only` that the
    settings do not know, `Unavailable` when the index, the checkpoint store, the disk or the homeserver cannot be used.
    """
    flow = flow or FLOWS[corpus]
    if start_over and not only:
        raise Refused("only", "nothing is named to be taken in from the beginning", next_step="name the sources")
    started = now()
    with closing(_intake(settings, corpus, only)) as intake, writer_lock(settings.state, flow, wait=wait):
        scrub.prepare(settings.state / "cache")
        embedder = reachable(open_embedder(settings.embedder), labels(settings))
        checkpoints = Checkpoints(settings.state)
        record = PurgeRecord(settings.state, checkpoints.store)
        purged = standing(record.entries() if dry_run else record.reconcile())
        label = current_label(settings, embedder.identity)
        asked = witness_of(embedder) if rebuild else None
        with open_for_refresh(settings, label, wait=_INDEX_WAIT_SECONDS, rebuild=asked) as opened:
            index = opened.target
            carry = opened.with_vectors_of(label.identity)
            if not dry_run:
                carry_witness(carry, index)
                if purged.spans:  # a purge may have been cut off, or an older index put back
                    remove_purged([index, *opened.all_others()], purged, checkpoints)
            notes = take_note_of_software(embedder, index, is_kept=not dry_run)
            parts = Parts(
                index,
                Witnessed(embedder, index),
                checkpoints,
                checkpoints.ledger(index.id, corpus),
                index.sources(corpus),
                carry=carry,
                others=opened.all_others,
                purged=purged,
                compare_all=compare_all,
                start_over=start_over and not dry_run,
            )
            names = intake.begin(parts, dry_run=dry_run)
            yield Run(
                uuid.uuid4().hex,
                names,
                flow,
                dry_run,
                started,
                tuple(only),
                intake,
                parts,
                opened,
                notes,
                parts.progress,
            )


def work_done_since(settings: Settings, flow: str, moment: datetime, only: Sequence[str] = ()) -> str | None:
    """The id of a run of this flow that began after `moment`, covered `only` (or all) and went well; else None."""
    checkpoints = Checkpoints(settings.state)
    return checkpoints.done_since(flow, moment, only) if checkpoints.store.exists() else None


def _intake(settings: Settings, corpus: Corpus, only: Sequence[str]) -> Intake:
    if corpus == "forge":
        return ForgeIntake(settings, only)
    from huginn.chat.intake import ChatIntake  # noqa: PLC0415 - the Matrix client takes half a second to load

    return ChatIntake(settings, only)
