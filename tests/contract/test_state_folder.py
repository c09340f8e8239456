"""A state folder through the years: backups put back, moved to another host, an older release's, a full disk."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import duckdb
import pytest

from huginn import store as stores
from huginn.checkpoints import Checkpoints
from huginn.errors import Unavailable
from huginn.index.payload import moment_of
from huginn.purging import lift
from huginn.store import MIGRATIONS, Store
from tests.support.chat_workspace import ChatWorkspace
from tests.support.git import Repository
from tests.support.model_homeserver import HOUR, START, ModelRoom
from tests.support.workspace import Workspace, outcomes

A = "@a:example.org"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "one.git")
    repository.commit({"heron.md": "a heron in the water\n", "osprey.md": "an osprey above it\n"})
    return repository


@pytest.fixture
def forge(tmp_path: Path, repository: Repository) -> Workspace:
    workspace = Workspace(tmp_path, {"one": repository.path})
    workspace.refresh()
    return workspace


@pytest.fixture
def chat(tmp_path: Path) -> ChatWorkspace:
    return ChatWorkspace.at(tmp_path)


@pytest.fixture
def garden(chat: ChatWorkspace) -> ModelRoom:
    """A room with a message an hour: heron, then walrus, quince, osprey."""
    room = chat.homeserver.new_room("garden")
    for hour, word in enumerate(("heron", "walrus", "quince", "osprey")):
        room.send(A, word, START + hour * HOUR)
    chat.refresh()
    return room


def purge_hour(workspace: ChatWorkspace, room: ModelRoom, hour: int) -> str:
    start = START + hour * HOUR
    return workspace.purge(room.id, moment_of(start), moment_of(start + HOUR)).purge or ""


def put_back(names: tuple[str, ...], source: Path, target: Path) -> None:
    for name in names:
        there = target / name
        shutil.rmtree(there) if there.is_dir() else there.unlink(missing_ok=True)
        shutil.copytree(source / name, there) if (source / name).is_dir() else shutil.copy(source / name, there)


def built_fresh(workspace: Workspace) -> dict[str, tuple[object, ...]]:
    fresh = workspace.fresh()
    fresh.refresh()
    return fresh.points()


STORE = ("checkpoints.duckdb", "checkpoints.stamp")


@pytest.mark.parametrize(
    "names",
    [("index",), STORE, STORE[:1], ("purges.jsonl",), ("index", *STORE), ("index", *STORE, "purges.jsonl")],
    ids=" ".join,
)
def test_whatever_is_put_back_from_a_backup_revives_no_purge_and_undoes_no_lift(
    chat: ChatWorkspace, garden: ModelRoom, names: tuple[str, ...]
) -> None:
    lifted = purge_hour(chat, garden, 2)
    state, backup = chat.settings.state, chat.copy("backup").settings.state
    lift(chat.settings, lifted, "a mistake", "bob")
    purge_hour(chat, garden, 1)
    garden.send(A, "marmalade", START + 5 * HOUR)
    chat.refresh()
    record = (state / "purges.jsonl").read_bytes()
    expected = chat.fresh().filled().points()
    assert expected == chat.points()

    put_back(names, backup, state)
    if {*STORE[:1], "purges.jsonl"} <= set(names):  # both copies of the record are older: the newest file comes with it
        (state / "purges.jsonl").write_bytes(record)
    chat.refresh()
    assert "walrus" not in chat.texts()
    chat.backfill()
    assert chat.points() == expected
    assert sorted((state / "purges.jsonl").read_bytes().splitlines()) == sorted(record.splitlines())


def test_a_copy_that_is_taken_while_nobody_writes_goes_on_elsewhere_and_embeds_nothing(
    chat: ChatWorkspace, garden: ModelRoom, forge: Workspace, repository: Repository
) -> None:
    """As the how-to says, to the letter."""
    chat.refresh()
    before = chat.points()
    elsewhere = forge.root / "elsewhere"
    elsewhere.mkdir()
    state = forge.settings.state
    copy = ["cp", "-a", "--sparse=always", str(state), str(elsewhere / "state")]
    subprocess.run(["flock", str(state / "writer.lock"), *copy], check=True)
    shutil.rmtree(elsewhere / "state" / "mirrors")
    shutil.rmtree(state)

    there = Workspace(elsewhere, {"one": repository.path})
    report = there.refresh()
    assert outcomes(report) in ([("one", "ok")], [("one", "unchanged")])
    rooms = ChatWorkspace(elsewhere, {}, homeserver=chat.homeserver).refresh()
    assert outcomes(rooms) == [(garden.id, "unchanged")]
    assert sum(source.embedded for source in (*report.sources, *rooms.sources)) == 0
    assert there.points() == before
    repository.commit({"quince.md": "quince\n"})
    assert there.refresh_one().embedded == 1


def test_of_the_purge_record_alone_everything_is_built_anew_without_what_was_purged(
    chat: ChatWorkspace, garden: ModelRoom
) -> None:
    purge_hour(chat, garden, 1)
    before = chat.points()
    state, record = chat.settings.state, (chat.settings.state / "purges.jsonl").read_bytes()
    shutil.rmtree(state)
    state.mkdir()
    (state / "purges.jsonl").write_bytes(record)
    chat.refresh()
    assert chat.points() == before
    assert "walrus" not in chat.texts()


@pytest.mark.parametrize("known", [len(MIGRATIONS) - 1, len(MIGRATIONS) - 2])
def test_the_store_of_an_older_release_is_taken_over_with_its_cursors(
    forge: Workspace, repository: Repository, known: int
) -> None:
    path = forge.settings.state / "checkpoints.duckdb"
    newer = path.rename(path.with_name("newer.duckdb"))
    with patch.object(stores, "MIGRATIONS", MIGRATIONS[:known]), Store(path).transaction():
        pass
    with duckdb.connect(path) as db:
        db.execute(f"ATTACH '{newer}' AS newer")
        tables = "SELECT table_name FROM duckdb_tables() WHERE database_name = ?"
        held = db.execute(tables, ["checkpoints"]).fetchall()
        assert len(held) < len(db.execute(tables, ["newer"]).fetchall()), "else it is as new as it gets"
        for (table,) in held:
            if table != "migrations":
                db.execute(f"INSERT INTO {table} SELECT * FROM newer.{table}")
    newer.unlink()
    before = forge.points()

    assert outcomes(forge.refresh()) == [("one", "unchanged")]
    repository.commit({"heron.md": "another heron\n"})
    assert forge.refresh_one().embedded == 1
    assert forge.points() == built_fresh(forge)
    assert forge.points() != before


def test_two_writers_that_start_at_once_leave_what_one_would(tmp_path: Path, repository: Repository) -> None:
    many: dict[str | bytes, bytes | str | None] = {f"file{number}.md": f"heron {number}\n" * 40 for number in range(60)}
    repository.commit(many)
    workspace = Workspace(tmp_path, {"one": repository.path})
    settings = tmp_path / "huginn.toml"
    repos = f'[[forge.repos]]\nname = "one"\nurl = "{repository.path}"\n'
    settings.write_text(f'state = "state"\n[forge]\nname = "Test"\n{repos}[index]\nmin_free_bytes = 0\n')
    command = [sys.executable, "-m", "huginn.cli", "--config", str(settings), "refresh", "--json"]
    started = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)]
    codes = sorted(process.wait(120) for process in started)
    assert codes in ([0, 0], [0, 4])
    assert workspace.points() == built_fresh(workspace)
    assert outcomes(workspace.refresh()) == [("one", "unchanged")]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of four megabytes, where this account may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_checkpoint_store_on_a_full_disk_is_told_and_goes_on_when_there_is_room(small_disk: Path) -> None:
    checkpoints = Checkpoints(small_disk)
    before = checkpoints.begin("index-1", "forge", "one")
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):  # until the disk is full
        while True:
            file.write(bytes(4096))
    failures = []
    for number in range(200):
        try:
            checkpoints.begin("index-1", "forge", f"source {number}")
        except Unavailable as error:
            failures.append(str(error))
    assert failures, "else the disk was never full"
    assert all("cannot be used" in failure and "mend that" in failure for failure in failures)
    filler.unlink()
    again = Checkpoints(small_disk)
    assert again.ledger("index-1", "forge").cursor("one").revision == before.revision
    assert again.begin("index-1", "forge", "another").is_open


def test_a_disk_that_fills_up_in_the_middle_moves_no_cursor_and_the_next_run_mends_it(
    forge: Workspace, repository: Repository
) -> None:
    repository.commit({"quince.md": "quince\n", "heron.md": None})
    full = Unavailable("disk", "0 MiB are free where the index is kept", next_step="make room")
    with patch("huginn.index.embedded.require_space", side_effect=full):
        report = forge.refresh_one()
    assert (report.outcome, report.cursor.before == report.cursor.after) == ("failed", True)
    assert "make room" in (report.reason or "")
    forge.refresh()
    assert forge.points() == built_fresh(forge)
