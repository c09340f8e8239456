"""The documents in which a run and the state of the sources are told: the JSON interface of the command line.

Pydantic models, kept stable: a field is added, never renamed or given another meaning. They hold ids and counts
only, never text of a file or a message.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Corpus = Literal["forge", "chat"]


class SourceOutcome(StrEnum):
    """What a run did with one source."""

    OK = "ok"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    REFUSED = "refused"
    UNREAD = "unread"
    FORGOTTEN = "forgotten"


class RunOutcome(StrEnum):
    """What became of a whole run: `partial` when some sources failed and the others are done."""

    OK = "ok"
    PARTIAL = "partial"
    FAILED = "failed"
    REFUSED = "refused"
    BUSY = "busy"


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CursorMove(_Document):
    """Where the cursor of a source stood before the run and stands after it; None: nowhere yet."""

    before: str | None = None
    after: str | None = None


class Drift(_Document):
    """How the index differed from upstream at the places that were looked at; in a backfill these are all places.

    `missing` points were wanted and not there, `stale` ones there with another text or payload, `foreign` ones there
    and wanted by nobody. What came upstream since the last refresh counts like what was lost.
    """

    missing: int = 0
    stale: int = 0
    foreign: int = 0


class SourceReport(_Document):
    """What a run did with one source.

    `seen`, `stored`, `skipped`, `failed`, `words_only` and `shortened` count places (paths) of the source as it is now,
    whether or not this run touched them: `seen` is the sum of `stored`, `skipped` and `failed`. All other counts are of
    this run. `words_only` are stored places of which a text has no vector, because the embedder refuses it; `shortened`
    those of which a text is too long for the embedder: only its beginning is found by meaning.

    Of a room, whose `source` is its id and whose `name` its alias, all counts are of this run: `messages` that are new
    or have another text now, `edits` and `redactions` that came in, and events that were skipped.

    `notes` are what somebody should read although nothing failed, such as that most of its points are gone.
    """

    source: str
    corpus: Corpus
    name: str | None = None
    outcome: SourceOutcome
    reason: str | None = None
    cursor: CursorMove = CursorMove()
    rewritten: bool = False
    seen: int = 0
    stored: int = 0
    skipped: dict[str, int] = Field(default_factory=dict)
    failed: int = 0
    words_only: int = 0
    shortened: int = 0
    messages: int = 0
    edits: int = 0
    redactions: int = 0
    chunks: int = 0
    embedded: int = 0
    reused: int = 0
    written: int = 0
    updated: int = 0
    removed: int = 0
    masked: dict[str, int] = Field(default_factory=dict)
    drift: Drift = Drift()
    notes: list[str] = Field(default_factory=list)
    seconds: float = 0.0

    @property
    def is_well(self) -> bool:
        """Whether nobody has to look at this source. To refuse a room is the rule at work, a repository a mistake."""
        well = (SourceOutcome.OK, SourceOutcome.UNCHANGED, SourceOutcome.FORGOTTEN)
        return self.outcome in well or (self.corpus == "chat" and self.outcome is SourceOutcome.REFUSED)


class Rebuild(_Document):
    """An index that is built anew beside the old one: why, from how much, and how far it is.

    `carried`: vectors of equal texts are taken over, because the model is the same. `waiting` are the sources of the
    old index that are not yet in the new one; when there is none, the new one is put into use (`switched`). `counts`
    has the number of points of each source, in the old index and in the new.
    """

    differences: list[str]
    points: int
    carried: bool
    switched: bool = False
    waiting: list[str] = Field(default_factory=list)
    counts: dict[str, tuple[int, int]] = Field(default_factory=dict)

    def told(self) -> str:
        """How it stands, in a sentence for a person."""
        if self.switched:
            return "the index was built anew, and the new one is in use"
        if self.waiting:
            left = f"{len(self.waiting)} of {len(self.counts)} sources ({', '.join(self.waiting[:3])})"
            return f"the new index is not complete: the old one goes on answering until it holds {left} too"
        cost = "vectors of equal texts are carried over" if self.carried else "all texts are embedded anew"
        why = "; ".join(self.differences)
        return (
            f"the index is built anew beside the old one, which goes on answering ({why}): {self.points} points, {cost}"
        )


class RunReport(_Document):
    """What a run did: one entry per source.

    `dry_run`: the counts are of what would be done; nothing was written. `unavailable`: the parts that were away
    (`embedder`, `index`, `disk`, `checkpoints`), on which sources have failed. `rebuild`: an index is built anew.
    `notes`: what is worth knowing, and no fault.
    """

    run: str
    flow: str
    outcome: RunOutcome
    reason: str | None = None
    dry_run: bool = False
    started: datetime
    finished: datetime
    unavailable: list[str] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    rebuild: Rebuild | None = None
    sources: list[SourceReport] = Field(default_factory=list)


def run_outcome(sources: list[SourceReport]) -> RunOutcome:
    """The outcome of a run from those of its sources: all well, some of them, or none."""
    well = sum(source.is_well for source in sources)
    if well == len(sources):
        return RunOutcome.OK
    return RunOutcome.PARTIAL if well else RunOutcome.FAILED


def as_one(flow: str, reports: Sequence[RunReport]) -> RunReport:
    """Several runs, one for each corpus, told as one. The last tells how the index stands."""
    sources = [source for report in reports for source in report.sources]
    told = {
        "flow": flow,
        "started": reports[0].started,
        "sources": sources,
        "outcome": run_outcome(sources),
        "unavailable": sorted({part for report in reports for part in report.unavailable}),
        "notes": list(dict.fromkeys(note for report in reports for note in report.notes)),
    }
    return reports[-1].model_copy(update=told)


class ItemStatus(_Document):
    """One place of a source that is skipped, failed, stored by its words alone or shortened: why, and since when."""

    item: str
    reason: str
    since: datetime


class SourceStatus(_Document):
    """How a source stands: `stale` means its last success is older than was asked for (`--max-age`).

    Of a room, `source` is its id and `name` its alias. One that is `out_of_scope` must not be read, for this `reason`:
    nothing of it is held, and it is never stale.
    """

    source: str
    corpus: Corpus
    name: str | None = None
    out_of_scope: bool = False
    cursor: str | None
    points: int | None
    last_success: datetime | None
    age_s: float | None
    stale: bool
    failing_since: datetime | None
    reason: str | None
    skipped: list[ItemStatus] = Field(default_factory=list)
    failed: list[ItemStatus] = Field(default_factory=list)
    words_only: list[ItemStatus] = Field(default_factory=list)
    shortened: list[ItemStatus] = Field(default_factory=list)


class IndexStatus(_Document):
    """The index in use: its label (see `huginn.index.label`) and how many points it holds; None: there is none yet."""

    label: dict[str, object] | None
    points: int | None


class EmbedderStatus(_Document):
    """The embedder that the settings name: model, digest of its weights, dimensions of its vectors."""

    model: str
    digest: str
    dimensions: int


class StatusReport(_Document):
    """How everything stands, from the checkpoint store and the index: nothing is fetched for it."""

    sources: list[SourceStatus]
    index: IndexStatus
    embedder: EmbedderStatus | None


def now() -> datetime:
    """The time now, in UTC."""
    return datetime.now(UTC)
