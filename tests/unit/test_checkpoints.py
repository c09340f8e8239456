"""When a cursor moves, and what becomes of a store that is lost, broken, held or too new."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from huginn.checkpoints import Advance, Checkpoints, Cursor, CursorMoved, Item
from huginn.errors import Refused, Unavailable
from huginn.index.port import RECEIPT_KEY, Receipt
from huginn.report import RunOutcome, RunReport, SourceOutcome, SourceReport, now
from huginn.store import MIGRATIONS, Store

INDEX = "index-1"


def receipt(source: str = "a", points: int = 3, index_id: str = INDEX) -> Receipt:
    return Receipt(index_id, "forge", source, points, RECEIPT_KEY)


def advance(position: str = "c1", items: dict[str, Item] | None = None, looked_at: list[str] | None = None) -> Advance:
    return Advance(position, "settings", 5, items or {}, looked_at)


def run_report(outcome: RunOutcome = RunOutcome.OK, *sources: SourceReport) -> RunReport:
    moment = now()
    return RunReport(
        run=f"run-{moment.timestamp()}", flow="f", outcome=outcome, started=moment, finished=moment, sources=[*sources]
    )


def source_report(outcome: SourceOutcome, reason: str | None = None) -> SourceReport:
    return SourceReport(source="a", corpus="forge", outcome=outcome, reason=reason)


@pytest.fixture
def checkpoints(tmp_path: Path) -> Checkpoints:
    return Checkpoints(tmp_path)


def test_begin_marks_the_cursor_open_durably_and_advance_closes_it(checkpoints: Checkpoints, tmp_path: Path) -> None:
    intent = checkpoints.begin(INDEX, "forge", "a")
    seen = Checkpoints(tmp_path).ledger(INDEX, "forge").cursor("a")
    assert seen.is_open
    assert seen.position is None
    checkpoints.advance(intent, advance("c1"), receipt())
    assert Checkpoints(tmp_path).ledger(INDEX, "forge").cursor("a") == Cursor("c1", "settings", 3, 5, False, 2)
    checkpoints.begin(INDEX, "forge", "a")
    again = checkpoints.ledger(INDEX, "forge").cursor("a")
    assert (again.position, again.is_open) == ("c1", True)


def test_a_cursor_that_somebody_else_moved_is_not_moved_again(checkpoints: Checkpoints) -> None:
    mine = checkpoints.begin(INDEX, "forge", "a")
    theirs = checkpoints.begin(INDEX, "forge", "a")
    checkpoints.advance(theirs, advance("theirs"), receipt())
    with pytest.raises(CursorMoved):
        checkpoints.advance(mine, advance("mine"), receipt())
    assert checkpoints.ledger(INDEX, "forge").cursor("a").position == "theirs"


def test_a_cursor_that_was_not_opened_does_not_move(checkpoints: Checkpoints) -> None:
    with pytest.raises(CursorMoved):
        checkpoints.advance(Cursor(), advance(), receipt())


def test_a_cursor_of_another_index_is_none(checkpoints: Checkpoints) -> None:
    checkpoints.advance(checkpoints.begin(INDEX, "forge", "a"), advance(), receipt())
    assert checkpoints.ledger("index-2", "forge").cursor("a") == Cursor()


def test_a_word_about_a_place_keeps_its_date_while_it_stays(checkpoints: Checkpoints) -> None:
    first = {"a.bin": Item("skipped", "binary"), "b.bin": Item("skipped", "binary"), "c": Item("skipped", "size")}
    checkpoints.advance(checkpoints.begin(INDEX, "forge", "a"), advance(items=first), receipt())
    (before,) = (items["a"] for items in [checkpoints.items(INDEX, "forge", "skipped")])
    second = {"a.bin": Item("skipped", "binary"), "b.bin": Item("skipped", "size")}
    ledger = checkpoints.advance(
        checkpoints.begin(INDEX, "forge", "a"), advance("c2", second, ["a.bin", "b.bin", "d"]), receipt()
    )
    after = checkpoints.items(INDEX, "forge", "skipped")["a"]
    assert [(item.item, item.reason) for item in after] == [("a.bin", "binary"), ("b.bin", "size"), ("c", "size")]
    assert after[0].since == before[0].since
    assert after[1].since > before[1].since
    assert after[2].since == before[2].since
    assert ledger.reasons("a", "skipped") == {"binary": 1, "size": 2}
    checkpoints.advance(checkpoints.begin(INDEX, "forge", "a"), advance("c3", {}), receipt())
    assert checkpoints.items(INDEX, "forge", "skipped") == {}


def test_forgetting_drops_all_that_is_kept_of_a_source(checkpoints: Checkpoints) -> None:
    checkpoints.advance(checkpoints.begin(INDEX, "forge", "a"), advance(items={"x": Item("failed", "why")}), receipt())
    checkpoints.record(run_report(RunOutcome.FAILED, source_report(SourceOutcome.FAILED, "why")), [])
    checkpoints.forget(receipt(points=0))
    assert checkpoints.ledger(INDEX, "forge").cursors == {}
    assert checkpoints.items(INDEX, "forge", "failed") == {}
    assert checkpoints.states("forge") == {}


def test_the_journal_tells_last_success_and_since_when_it_fails(checkpoints: Checkpoints) -> None:
    good = run_report(RunOutcome.OK, source_report(SourceOutcome.UNCHANGED))
    checkpoints.record(good, [])
    bad = run_report(RunOutcome.FAILED, source_report(SourceOutcome.FAILED, "first"))
    checkpoints.record(bad, [])
    checkpoints.record(run_report(RunOutcome.FAILED, source_report(SourceOutcome.FAILED, "second")), [])
    state = checkpoints.states("forge")["a"]
    assert (state.last_success, state.failing_since, state.reason) == (good.finished, bad.finished, "second")
    checkpoints.record(run_report(RunOutcome.OK, source_report(SourceOutcome.OK)), [])
    assert checkpoints.states("forge")["a"].failing_since is None


def test_work_is_done_only_by_a_later_run_that_went_well_and_covered_it(checkpoints: Checkpoints) -> None:
    start = now() - timedelta(seconds=1)
    checkpoints.record(run_report(RunOutcome.PARTIAL), [])
    assert checkpoints.done_since("f", start, []) is None
    some = run_report()
    checkpoints.record(some, ["a", "b"])
    assert checkpoints.done_since("f", start, []) is None
    assert checkpoints.done_since("f", start, ["c"]) is None
    assert checkpoints.done_since("f", start, ["a"]) == some.run
    checkpoints.record(run_report(), [])
    assert checkpoints.done_since("f", start, []) is not None
    assert checkpoints.done_since("g", start, []) is None
    assert checkpoints.done_since("f", now(), []) is None


@pytest.mark.parametrize("content", [b"garbage" * 1000, b"", b"\x00" * 8192])
def test_a_broken_store_is_refused_with_what_to_do_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "checkpoints.duckdb"
    path.write_bytes(content)
    with pytest.raises(Refused, match=r"checkpoints: .*damaged.*move it away"):
        Checkpoints(tmp_path).ledger(INDEX, "forge")
    assert path.read_bytes() == content


def test_a_cut_store_is_refused(tmp_path: Path) -> None:
    Checkpoints(tmp_path).begin(INDEX, "forge", "a")
    path = tmp_path / "checkpoints.duckdb"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(Refused, match="damaged"):
        Checkpoints(tmp_path).ledger(INDEX, "forge")


@pytest.mark.parametrize("place", [4096, 8192, 12288, 16384, 100000])
def test_a_store_with_damage_inside_is_refused_at_once(tmp_path: Path, place: int) -> None:
    Checkpoints(tmp_path).begin(INDEX, "forge", "a")
    path = tmp_path / "checkpoints.duckdb"
    content = bytearray(path.read_bytes())
    content[place : place + 64] = bytes(range(64))
    path.write_bytes(content)
    began = time.monotonic()
    with contextlib.suppress(Refused):  # not every block is read
        Checkpoints(tmp_path).ledger(INDEX, "forge")
    assert time.monotonic() - began < 10  # the wait for a holder is longer


def test_what_a_lost_store_left_behind_is_no_obstacle(checkpoints: Checkpoints, tmp_path: Path) -> None:
    hold = (
        "import duckdb, os, sys; c = duckdb.connect(sys.argv[1]); c.execute('CREATE TABLE x (y INTEGER)'); os._exit(0)"
    )
    checkpoints.begin(INDEX, "forge", "a")
    subprocess.run([sys.executable, "-c", hold, str(checkpoints.store.path)], check=True)
    assert checkpoints.store.path.with_name("checkpoints.duckdb.wal").exists()
    checkpoints.store.path.unlink()
    assert Checkpoints(tmp_path).ledger(INDEX, "forge").cursors == {}


def test_a_store_from_a_backup_gives_its_cursors_as_open(checkpoints: Checkpoints, tmp_path: Path) -> None:
    checkpoints.advance(checkpoints.begin(INDEX, "forge", "a"), advance("c1"), receipt())
    backup = checkpoints.store.path.read_bytes()
    assert not checkpoints.ledger(INDEX, "forge").cursor("a").is_open
    checkpoints.advance(checkpoints.begin(INDEX, "forge", "a"), advance("c2"), receipt())
    checkpoints.store.path.write_bytes(backup)
    assert Checkpoints(tmp_path).ledger(INDEX, "forge").cursor("a").is_open


def test_a_store_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path / "checkpoints.duckdb")
    with store.transaction() as db:
        db.execute("INSERT INTO migrations VALUES (?)", [len(MIGRATIONS) + 1])
    with pytest.raises(Refused, match="newer release"), Store(store.path).transaction():
        pass


def test_a_transaction_that_raises_leaves_nothing(checkpoints: Checkpoints) -> None:
    def fail() -> None:
        with checkpoints.store.transaction() as db:
            db.execute("INSERT INTO sources VALUES ('forge', 'a', NULL, NULL, NULL)")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert checkpoints.states("forge") == {}


def test_a_store_that_was_killed_while_it_was_made_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "checkpoints.draft").write_bytes(b"half")
    (tmp_path / "checkpoints.draft.wal").write_bytes(b"half")
    assert Checkpoints(tmp_path).begin(INDEX, "forge", "a").is_open


def test_threads_take_turns(checkpoints: Checkpoints) -> None:
    failures: list[BaseException] = []

    def work(source: str) -> None:
        try:
            for _ in range(5):
                checkpoints.advance(checkpoints.begin(INDEX, "forge", source), advance(), receipt(source))
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=work, args=(f"s{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(checkpoints.ledger(INDEX, "forge").cursors) == 4


def test_another_process_that_holds_the_file_is_waited_for(checkpoints: Checkpoints) -> None:
    checkpoints.begin(INDEX, "forge", "a")
    hold = "import duckdb, sys, time; c = duckdb.connect(sys.argv[1]); print('held', flush=True); time.sleep(1)"
    with subprocess.Popen([sys.executable, "-c", hold, str(checkpoints.store.path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert checkpoints.ledger(INDEX, "forge").cursor("a").is_open


def test_a_holder_that_does_not_let_go_is_told(checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints.begin(INDEX, "forge", "a")
    monkeypatch.setattr("huginn.store._WAIT_SECONDS", 0.1)

    def locked(path: Path) -> None:
        raise duckdb.IOException('Could not set lock on file "x": Conflicting lock is held')

    monkeypatch.setattr("huginn.database.attach", locked)
    with pytest.raises(Unavailable, match="another process holds"):
        checkpoints.ledger(INDEX, "forge")


def test_ctrl_c_within_a_transaction_is_ctrl_c_and_writes_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "checkpoints.duckdb")
    with store.transaction() as db:
        db.execute("CREATE TABLE kept (number INTEGER)")

    def take_long() -> None:
        with store.transaction() as db:
            db.execute("INSERT INTO kept VALUES (1)")
            db.execute("SET threads = 1")
            threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT]).start()
            db.execute("SELECT count(*) FROM range(1000000000) numbers(n) WHERE hash(n) = 1").fetchall()
            time.sleep(10)  # on a machine that is as fast as that the signal comes here

    with pytest.raises(KeyboardInterrupt):
        take_long()
    with store.transaction() as db:
        assert db.execute("SELECT * FROM kept").fetchall() == []
