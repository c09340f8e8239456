"""How far each source has been taken in, and what runs have done. Owns when a cursor moves.

Words: a *cursor* is worth (position, fingerprint of the settings that matter) in the index with one random id. An
*intent* is a cursor that has been marked open, durably, before the first write to its source; only `advance` closes
it, on an index's receipt, if nobody else has moved it since (compare and set). Whoever finds a cursor open, of other
settings or of another index, or with another number of points than the index holds, compares the whole source.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

import duckdb

from huginn.errors import HuginnError
from huginn.index.port import Receipt
from huginn.report import Corpus, ItemStatus, RunOutcome, RunReport, SourceOutcome, now
from huginn.store import Store

ItemKind = Literal["skipped", "failed", "words_only", "shortened"]
_KEEP_RUNS = timedelta(days=90)


class CursorMoved(HuginnError):
    """Somebody else has moved this cursor since the intent: two writers, or a store put back in the middle."""


@dataclass(frozen=True)
class Cursor:
    """How far a source has been taken in. `points` and `seen`: what the index and the source held then."""

    position: str | None = None
    fingerprint: str | None = None
    points: int | None = None
    seen: int = 0
    is_open: bool = False
    revision: int = 0


@dataclass(frozen=True)
class Item:
    """A place of a source that is skipped, failed, stored by its words alone, or shortened for the model, and why."""

    kind: ItemKind
    reason: str


@dataclass(frozen=True)
class Advance:
    """Where a cursor goes: the new position and what was found about the places that were looked at.

    `looked_at` None: the whole source was looked at. `items` are those of the places looked at that need a word.
    """

    position: str
    fingerprint: str
    seen: int
    items: Mapping[str, Item]
    looked_at: Iterable[str] | None


@dataclass(frozen=True)
class Ledger:
    """What the store says about all sources of one corpus in one index, read in one transaction."""

    cursors: Mapping[str, Cursor]
    counts: Mapping[str, Mapping[tuple[str, str], int]] = field(default_factory=dict)

    def cursor(self, source: str) -> Cursor:
        """The cursor of a source; an empty one if there is none."""
        return self.cursors.get(source, Cursor())

    def reasons(self, source: str, kind: ItemKind) -> dict[str, int]:
        """How many places of a source are of this kind, by reason."""
        return {reason: n for (of_kind, reason), n in self.counts.get(source, {}).items() if of_kind == kind}


@dataclass(frozen=True)
class SourceState:
    """How a source has fared: its last success, and since when and why it fails."""

    last_success: datetime | None = None
    failing_since: datetime | None = None
    reason: str | None = None


class Checkpoints:
    """The checkpoint store of a state folder."""

    def __init__(self, state: Path) -> None:
        self.store = Store(state / "checkpoints.duckdb")

    def ledger(self, index_id: str, corpus: Corpus) -> Ledger:
        """All cursors of a corpus in this index, and its skipped and failed places counted by reason.

        Cursors of a store that was put back from a backup are all given as open: nobody knows what was written since.
        """
        with self.store.transaction() as db:
            is_in_step = self.store.is_in_step(db)
            rows = db.execute(
                "SELECT source, position, fingerprint, points, seen, is_open, revision FROM cursors "
                "WHERE index_id = ? AND corpus = ?",
                [index_id, corpus],
            ).fetchall()
            counted = db.execute(
                "SELECT source, kind, reason, count(*) FROM items WHERE index_id = ? AND corpus = ? GROUP BY ALL",
                [index_id, corpus],
            ).fetchall()
        counts: dict[str, dict[tuple[str, str], int]] = {}
        for source, kind, reason, number in counted:
            counts.setdefault(source, {})[kind, reason] = number
        cursors = {row[0]: Cursor(*row[1:]) for row in rows}
        if not is_in_step:
            cursors = {source: replace(cursor, is_open=True) for source, cursor in cursors.items()}
        return Ledger(cursors, counts)

    def begin(self, index_id: str, corpus: Corpus, source: str) -> Cursor:
        """Mark the cursor of a source open, durably, and return it as it stands now: the intent."""
        with self.store.transaction(stamped=True) as db:
            row = db.execute(
                "INSERT INTO cursors VALUES (?, ?, ?, NULL, NULL, NULL, 0, true, 1) "
                "ON CONFLICT DO UPDATE SET is_open = true, revision = revision + 1 "
                "RETURNING position, fingerprint, points, seen, is_open, revision",
                [index_id, corpus, source],
            ).fetchone()
        assert row is not None
        return Cursor(*row)

    def advance(self, intent: Cursor, new: Advance, receipt: Receipt) -> Ledger:
        """Close the intent at a new position, on the receipt for its source; the source's ledger as it is then.

        Raises `CursorMoved` when somebody else has moved the cursor since the intent.
        """
        key = [receipt.index_id, receipt.corpus, receipt.source]
        with self.store.transaction(stamped=True) as db:
            row = db.execute(
                "UPDATE cursors SET position = ?, fingerprint = ?, points = ?, seen = ?, is_open = false, "
                "revision = revision + 1 WHERE index_id = ? AND corpus = ? AND source = ? AND revision = ? AND is_open "
                "RETURNING position, fingerprint, points, seen, is_open, revision",
                [new.position, new.fingerprint, receipt.points, new.seen, *key, intent.revision],
            ).fetchone()
            if row is None:
                raise CursorMoved(
                    f"the cursor of {receipt.source} has been moved by somebody else", next_step="refresh again"
                )
            _keep_items(db, key, new)
            counted = db.execute(
                "SELECT kind, reason, count(*) FROM items WHERE index_id = ? AND corpus = ? AND source = ? "
                "GROUP BY ALL",
                key,
            ).fetchall()
        counts = {(kind, reason): number for kind, reason, number in counted}
        return Ledger({receipt.source: Cursor(*row)}, {receipt.source: counts})

    def forget(self, receipt: Receipt) -> None:
        """Drop all that is kept about a source, after its points are gone."""
        key = [receipt.index_id, receipt.corpus, receipt.source]
        with self.store.transaction(stamped=True) as db:
            db.execute("DELETE FROM cursors WHERE index_id = ? AND corpus = ? AND source = ?", key)
            db.execute("DELETE FROM items WHERE index_id = ? AND corpus = ? AND source = ?", key)
            if receipt.corpus == "chat":
                db.execute("DELETE FROM known_events WHERE index_id = ? AND room = ?", key[::2])
            db.execute("DELETE FROM sources WHERE corpus = ? AND source = ?", key[1:])

    def items(self, index_id: str, corpus: Corpus, kind: ItemKind) -> dict[str, list[ItemStatus]]:
        """The places of one kind, by source."""
        with self.store.transaction() as db:
            rows = db.execute(
                "SELECT source, item, reason, since FROM items WHERE index_id = ? AND corpus = ? AND kind = ? "
                "ORDER BY source, item",
                [index_id, corpus, kind],
            ).fetchall()
        found: dict[str, list[ItemStatus]] = {}
        for source, item, reason, since in rows:
            found.setdefault(source, []).append(ItemStatus(item=item, reason=reason, since=since))
        return found

    def states(self, corpus: Corpus) -> dict[str, SourceState]:
        """How each source of a corpus has fared."""
        with self.store.transaction() as db:
            rows = db.execute(
                "SELECT source, last_success, failing_since, reason FROM sources WHERE corpus = ?", [corpus]
            ).fetchall()
        return {row[0]: SourceState(*row[1:]) for row in rows}

    def record(self, report: RunReport, asked: Sequence[str]) -> None:
        """Keep a run in the journal, and how each of its sources fared. `asked`: the sources named, none for all."""
        kept = [source for source in report.sources if source.outcome is not SourceOutcome.UNCHANGED]
        outcome = report.outcome.value
        document = report.model_copy(update={"sources": kept}).model_dump_json()
        with self.store.transaction() as db:
            _keep_states(db, report)
            db.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)",
                [report.run, report.flow, json.dumps(list(asked)), report.started, report.finished, outcome, document],
            )
            db.execute("DELETE FROM runs WHERE finished < ?", [report.finished - _KEEP_RUNS])

    def done_since(self, flow: str, moment: datetime, asked: Sequence[str]) -> str | None:
        """The id of a run of this flow that began after `moment`, covered what is asked and went well."""
        with self.store.transaction() as db:
            rows = db.execute(
                "SELECT run, asked FROM runs WHERE flow = ? AND started > ? AND outcome = ? ORDER BY started",
                [flow, moment, RunOutcome.OK.value],
            ).fetchall()
        for run, covered in rows:
            names = set(json.loads(covered))
            if not names or (asked and set(asked) <= names):
                return str(run)
        return None


def _keep_items(db: duckdb.DuckDBPyConnection, key: list[str], new: Advance) -> None:
    """The items of a source after a look: those not looked at stay, and a word that stays keeps its date."""
    where = "WHERE index_id = ? AND corpus = ? AND source = ?"
    before = {
        item: Item(kind, reason)
        for item, kind, reason in db.execute(f"SELECT item, kind, reason FROM items {where}", key).fetchall()
    }
    looked_at = before.keys() if new.looked_at is None else before.keys() & set(new.looked_at)
    gone = [item for item in looked_at if new.items.get(item) != before[item]]
    added = [item for item in new.items if new.items[item] != before.get(item)]
    db.execute(f"DELETE FROM items {where} AND item IN (SELECT unnest(?::VARCHAR[]))", [*key, gone])
    db.execute(
        "INSERT INTO items SELECT ?, ?, ?, unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), ?",
        [*key, added, [new.items[item].kind for item in added], [new.items[item].reason for item in added], now()],
    )


def _keep_states(db: duckdb.DuckDBPyConnection, report: RunReport) -> None:
    """How each source has fared. Of one that was forgotten or is out of scope nothing is kept here."""
    kept = [source for source in report.sources if source.outcome is not SourceOutcome.FORGOTTEN]
    well = [source for source in kept if source.is_well and source.outcome is not SourceOutcome.REFUSED]
    db.execute(
        "INSERT OR REPLACE INTO sources SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), ?, NULL, NULL",
        [[source.corpus for source in well], [source.source for source in well], report.finished],
    )
    for source in kept:
        if not source.is_well:
            db.execute(
                "INSERT INTO sources VALUES (?, ?, NULL, ?, ?) ON CONFLICT DO UPDATE SET "
                "failing_since = coalesce(failing_since, excluded.failing_since), reason = excluded.reason",
                [source.corpus, source.source, report.finished, source.reason],
            )
