"""Sources that lose most of their points at once: nothing is held back, but nobody shall overlook it."""

from __future__ import annotations

from collections.abc import Sequence

from huginn.parts import Parts
from huginn.report import SourceOutcome, SourceReport

_TELLS_ITSELF = (SourceOutcome.FORGOTTEN, SourceOutcome.REFUSED)


def with_losses(reports: Sequence[SourceReport], parts: Parts, *, dry_run: bool) -> list[SourceReport]:
    """The reports of a run, with a note in each whose source has lost more than half of its points (dry: would).

    Of a source that was forgotten or is out of scope the outcome says it; of one that was emptied first another note.
    """
    now = {} if dry_run or not reports else parts.index.sources(reports[0].corpus)
    told = []
    for report in reports:
        before = parts.points.get(report.source, 0)
        drift = report.drift
        after = before + drift.missing - drift.foreign if dry_run else now.get(report.source, 0)
        if after * 2 < before and report.outcome not in _TELLS_ITSELF and report.source not in parts.emptied:
            verb = "would lose" if dry_run else "has lost"
            note = f"it {verb} {before - after} of its {before} points at once: see whether upstream is as it should be"
            report = report.model_copy(update={"notes": [*report.notes, note]})
        told.append(report)
    return told
