"""One repository, from what upstream says to what the index holds. Reads like a table of contents.

Listing -> mirror -> diff -> read -> chunk -> plan -> write. The cursor is marked open before the first write and
closed on the index's receipt; a run that is cut off in between is mended by the next, which then compares everything.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from huginn.checkpoints import Advance, Cursor, Ledger
from huginn.errors import HuginnError
from huginn.forge.apply import FileTally, apply, rehearse
from huginn.forge.gather import Look, gather
from huginn.forge.listing import Source
from huginn.forge.mirror import Mirror
from huginn.parts import Parts
from huginn.report import CursorMove, SourceOutcome, SourceReport


class SourceGone(HuginnError):
    """The remote has nothing where there was something: that is no deletion, somebody has to look."""


def refresh(source: Source, mirror: Mirror, parts: Parts, *, dry_run: bool = False) -> SourceReport:
    """Bring the index level with the repository. Raises `Unavailable`, `BranchGone`, `SourceGone`."""
    began = time.monotonic()
    cursor = parts.ledger.cursor(source.name)
    tip = mirror.tip()
    if tip is None:
        return _no_commits(source, cursor, parts, began)
    if _is_trusted(source, mirror, cursor, parts) and cursor.position == tip.commit:
        return _unchanged(source, cursor, parts, began)
    commit = mirror.fetch(tip)
    compare_all = not _is_trusted(source, mirror, cursor, parts)
    look = gather(mirror, source.name, parts.index, commit, cursor.position, compare_all=compare_all)
    if dry_run:
        tally = rehearse(source, mirror, look, parts)
        return _report(source, cursor, look, tally, _expected(source, look, tally, parts.ledger), began)
    parts.opened.add(source.name)
    intent = parts.checkpoints.begin(parts.index.id, "forge", source.name)
    tally, receipt = apply(source, mirror, look, parts)
    advance = Advance(
        position=commit,
        fingerprint=_fingerprint(source, mirror),
        seen=len(look.entries),
        items=tally.items,
        looked_at=None if look.whole else tally.looked_at,
    )
    ledger = parts.checkpoints.advance(intent, advance, receipt)
    return _report(source, cursor, look, tally, ledger, began)


def _fingerprint(source: Source, mirror: Mirror) -> str:
    """Of all that decides what is stored, beside the commit: settings, and where a shallow history is cut off."""
    return f"{source.fingerprint}{mirror.boundary()}"


def _is_trusted(source: Source, mirror: Mirror, cursor: Cursor, parts: Parts) -> bool:
    """Whether the cursor says truly what the index holds: closed, of these settings, and as many points."""
    return (
        not cursor.is_open
        and not parts.compare_all
        and source.name not in parts.opened
        and cursor.fingerprint == _fingerprint(source, mirror)
        and cursor.points == parts.points.get(source.name, 0)
    )


def _no_commits(source: Source, cursor: Cursor, parts: Parts, began: float) -> SourceReport:
    if cursor.position is not None or parts.points.get(source.name, 0):
        raise SourceGone(
            f"{source.address.shown} holds no branch any more",
            next_step="push it again, or take the repository out of the settings to have it forgotten",
        )
    return SourceReport(
        source=source.name,
        corpus="forge",
        outcome=SourceOutcome.UNCHANGED,
        reason="no commits yet",
        seconds=time.monotonic() - began,
    )


def _unchanged(source: Source, cursor: Cursor, parts: Parts, began: float) -> SourceReport:
    return SourceReport(
        source=source.name,
        corpus="forge",
        outcome=SourceOutcome.UNCHANGED,
        cursor=CursorMove(before=cursor.position, after=cursor.position),
        seconds=time.monotonic() - began,
        **_sums(source, cursor.seen, parts.ledger),
    )


def _report(source: Source, cursor: Cursor, look: Look, tally: FileTally, ledger: Ledger, began: float) -> SourceReport:
    return SourceReport(
        source=source.name,
        corpus="forge",
        outcome=SourceOutcome.OK,
        cursor=CursorMove(before=cursor.position, after=ledger.cursor(source.name).position),
        rewritten=look.rewritten,
        seconds=time.monotonic() - began,
        **tally.told,
        **_sums(source, len(look.entries), ledger),
    )


def _sums(source: Source, seen: int, ledger: Ledger) -> dict[str, Any]:
    """How many places there are of each kind: seen = stored + skipped + failed."""
    skipped = ledger.reasons(source.name, "skipped")
    failed = sum(ledger.reasons(source.name, "failed").values())
    return {
        "seen": seen,
        "stored": seen - sum(skipped.values()) - failed,
        "skipped": dict(sorted(skipped.items())),
        "failed": failed,
        "words_only": sum(ledger.reasons(source.name, "words_only").values()),
        "shortened": sum(ledger.reasons(source.name, "shortened").values()),
    }


def _expected(source: Source, look: Look, tally: FileTally, ledger: Ledger) -> Ledger:
    """For a rehearsal: the items that were found in a whole look, else those known from before."""
    if not look.whole:
        return ledger
    counts = Counter[tuple[str, str]]((item.kind, item.reason) for item in tally.items.values())
    return Ledger({source.name: ledger.cursor(source.name)}, {source.name: counts})
