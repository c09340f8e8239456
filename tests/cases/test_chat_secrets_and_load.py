"""The chat halves of SEC-01 and SCL-01: no secret gets in anywhere, and a long room costs what is new in it."""

from __future__ import annotations

import base64
import json
import logging
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import pytest

from huginn.embed.checked import probe_text
from huginn.embed.wordllama import WordLlamaEmbedder
from huginn.errors import Unavailable
from huginn.index.embedded import EmbeddedWriter
from tests.cases.test_text_and_secret_cases import make_secrets
from tests.support.chat_workspace import ChatWorkspace
from tests.support.faults import Killed
from tests.support.recorded_room import RecordedHomeserver, workspace_of

CASES = Path(__file__).parent
MESSAGES = 5000
MOST_POINTS = 256


@pytest.mark.parametrize("seed", ["huginn-cases", "second", "third"])
def test_sec_01_what_is_secret_in_a_room_gets_in_nowhere(
    tmp_path: Path, seed: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    make_secrets(tmp_path, seed)
    capfd.readouterr()
    chat = (tmp_path / "chat.json").read_text()
    events: list[Any] = json.loads(chat)
    bodies = json.dumps([event["content"] for event in events])
    values = [entry["value"] for entry in json.loads((tmp_path / "secrets.json").read_text())]
    secrets = [value for value in values if value in bodies]
    assert len(secrets) == 5
    workspace = ChatWorkspace.at(tmp_path)
    room = workspace.homeserver.new_room("garden", ["@ada:example.org", "@bo:example.org"])
    for number, event in enumerate(events):
        room.add(
            event["type"], event["sender"], event["content"], event["origin_server_ts"], event_id=event["event_id"]
        )
        if number == 3:
            workspace.refresh()  # an edit that brings a secret comes in the same reading, and one by one
    sent: list[str] = []
    embed = WordLlamaEmbedder.embed

    def spy(self: WordLlamaEmbedder, texts: Any) -> Any:
        sent.extend(texts)
        return embed(self, texts)

    away = Unavailable("embedder", "is away")
    with patch.object(WordLlamaEmbedder, "embed", side_effect=away):
        failed = workspace.refresh()
    with patch.object(WordLlamaEmbedder, "embed", spy):
        report = workspace.refresh()
        questions = [event["content"]["body"] for event in events]
        answers = [workspace.search(text, corpora=("chat",)).model_dump_json() for text in questions]
    fresh = workspace.fresh().filled()
    (whole,) = ChatWorkspace.refresh(workspace.fresh("once more")).sources

    assert failed.outcome == "failed"
    assert workspace.points() == fresh.points()
    stored = [path.read_bytes().decode("latin-1") for path in (tmp_path / "state").rglob("*") if path.is_file()]
    told = [one.model_dump_json() for one in (failed, report)]
    seen = "\n".join(
        [workspace.texts(), *_tables(workspace), *stored, *told, *sent, *answers, caplog.text, *capfd.readouterr()]
    )
    for secret in secrets:
        for form in (secret, secret[:12], base64.b64encode(secret.encode()).decode().rstrip("=")):
            assert form not in seen
    texts = workspace.texts()
    for word in ("chat1", "chat2", "chat4", "chat5", "chat6"):
        assert f"keepword-{word}" in texts
    assert "keepword-chat3" not in texts, "it has been edited"
    assert "please delete after use" in texts
    assert sum(whole.masked.values()) == len(secrets)


def _tables(workspace: ChatWorkspace) -> list[str]:
    """Every row of every table of the checkpoint store."""
    (file,) = workspace.settings.state.glob("checkpoints*.duckdb")
    with duckdb.connect(str(file), read_only=True) as db:
        names = [name for (name,) in db.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        rows = [repr(db.execute(f'SELECT * FROM "{name}"').fetchall()) for name in names]
    assert any("$s5" in row for row in rows), "this is not where ids are kept"
    return rows


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The messages of a long room, at a tenth of the case."""
    return make_load(tmp_path_factory.mktemp("load"), MESSAGES)


def make_load(folder: Path, messages: int) -> Path:
    options = ["--files", "0", "--messages", str(messages), "--big-mb", "0"]
    (folder / "files").mkdir(parents=True)
    subprocess.run([sys.executable, str(CASES / "scl_01" / "make.py"), str(folder), *options], check=True)
    return folder / "chat.jsonl"


def test_scl_01_a_long_room_is_written_in_small_pieces_and_read_once(tmp_path: Path, load: Path) -> None:
    file = tmp_path / "chat.jsonl"
    lines = load.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:-1]))
    workspace = workspace_of(tmp_path / "state-of-it", file)
    homeserver: Any = workspace.homeserver
    written: list[int] = []
    upsert = EmbeddedWriter.upsert

    def spy(self: EmbeddedWriter, points: Any) -> Any:
        written.append(len(points))
        return upsert(self, points)

    with patch.object(EmbeddedWriter, "upsert", spy):
        (first,) = workspace.refresh().sources
    assert (first.outcome, first.messages, sum(written)) == ("ok", MESSAGES - 1, first.chunks)
    assert max(written) <= MOST_POINTS
    assert homeserver.asked[:3] == [0, 1000, 2000]

    homeserver.asked.clear()
    (second,) = workspace.refresh().sources
    assert (second.outcome, second.embedded, homeserver.asked) == ("unchanged", 0, [])

    file.write_text("".join(lines))
    (third,) = workspace.refresh().sources
    assert homeserver.asked == [MESSAGES - 1, MESSAGES]
    assert (third.messages, third.embedded) == (1, 1)

    for number in (0, 1002, 2499, 4998):
        word = f"msg{number:06}"
        hits = workspace.search(word, corpora=("chat",)).hits
        assert word in hits[0].text, word
    assert any(re.search(r"\bw0001\b", hit.text) for hit in workspace.search("w0001", corpora=("chat",)).hits[:1])


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_scl_01_a_run_that_was_killed_embeds_again_only_what_was_in_flight(
    tmp_path: Path, load: Path, share: float
) -> None:
    workspace = workspace_of(tmp_path / "state-of-it", load)
    assert isinstance(workspace.homeserver, RecordedHomeserver)
    workspace.homeserver.page = 100
    embedded: list[str] = []
    limit = 10**9
    embed = WordLlamaEmbedder.embed

    def spy(self: WordLlamaEmbedder, texts: Any) -> Any:
        if len(embedded) + len(texts) > limit:
            raise Killed
        embedded.extend(text for text in texts if text != probe_text())
        return embed(self, texts)

    with patch.object(WordLlamaEmbedder, "embed", spy):
        whole = workspace_of(tmp_path / "whole", load)
        whole.refresh()
        texts, limit = set(embedded), round(share * len(embedded))
        embedded.clear()
        with pytest.raises(Killed):
            workspace.refresh()
        before, limit = set(embedded), 10**9
        embedded.clear()
        (source,) = workspace.refresh().sources

    assert len(before) > 0.5 * share * len(texts)
    assert len(embedded) == source.embedded < len(texts)
    of_a_day = len(texts) * 24 * 60 / MESSAGES + 1  # windows: a day is embedded and written at once
    assert len(before & set(embedded)) <= of_a_day
    assert workspace.points() == whole.points()


@pytest.mark.slow
def test_scl_01_four_times_the_messages_take_no_more_memory(tmp_path: Path, load: Path) -> None:
    peaks = []
    for name, file in (("one", load), ("four", make_load(tmp_path / "more", 4 * MESSAGES))):
        command = [sys.executable, "-m", "tests.support.recorded_room", str(tmp_path / name), str(file)]
        told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        assert told["outcome"] == "ok"
        peaks.append(told["peak_kib"])
    one, four = peaks
    assert four < 1 << 20
    assert four < one + (64 << 10)
