"""What Prometheus is told: of every source, flow and host, in its text format, and by ids alone."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from huginn.chat.notes import RoomNote, RoomNotes, upstream_of
from huginn.checkpoints import Checkpoints
from huginn.cli.exits import ExitCode
from huginn.logs import JsonLines
from huginn.metrics import metrics
from huginn.report import RunOutcome, RunReport, SourceOutcome, SourceReport, now
from huginn.settings import Settings, load
from tests.support.command_line import CommandLine
from tests.support.git import Repository
from tests.support.workspace import Workspace

ROOT = Path(__file__).parents[2]
LINE = re.compile(r'(\w+)(?:\{((?:\w+="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (-?[0-9.e+-]+)')
SETTINGS = """
[[forge.repos]]
name = "birds"
url = "birds.git"
[chat]
homeserver = "https://matrix.example.org"
user = "@huginn:example.org"
"""


def samples(text: str) -> dict[tuple[str, str], float]:
    """Every sample by name and labels; fails at a line that Prometheus would not read."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("# "):
            match = LINE.fullmatch(line)
            assert match, line
            found[match[1], match[2] or ""] = float(match[3])
    return found


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "huginn.toml").write_text(SETTINGS)
    return load(tmp_path / "huginn.toml", environment={})


def record(settings: Settings, outcome: RunOutcome, source: SourceOutcome, ago: timedelta) -> float:
    """A run of two minutes in the journal; when it ended."""
    ended = now() - ago
    birds = SourceReport(source="birds", corpus="forge", outcome=source, reason="secret words")
    started = ended - timedelta(minutes=2)
    report = RunReport(
        run=str(ago), flow="forge-refresh", outcome=outcome, started=started, finished=ended, sources=[birds]
    )
    Checkpoints(settings.state).record(report, ())
    return ended.timestamp()


def test_before_anything_has_run_all_is_told_to_be_nothing(settings: Settings) -> None:
    told = samples(metrics(settings))
    birds = 'corpus="forge",source="birds"'
    assert told["huginn_source_last_success_timestamp_seconds", birds] == 0
    assert told["huginn_index_points", ""] == 0
    assert told["huginn_open_intents", 'corpus="forge"'] == 0
    assert told["huginn_disk_free_bytes", ""] > 0
    assert not settings.state.exists()


def test_each_flow_tells_its_last_run_and_each_source_its_last_success(settings: Settings) -> None:
    well = record(settings, RunOutcome.OK, SourceOutcome.OK, timedelta(hours=3))
    failed = record(settings, RunOutcome.FAILED, SourceOutcome.FAILED, timedelta(hours=1))
    text = metrics(settings)
    told = samples(text)
    flow, birds = 'flow="forge-refresh"', 'corpus="forge",source="birds"'
    assert told["huginn_run_duration_seconds", flow] == pytest.approx(120)
    assert told["huginn_run_finished_timestamp_seconds", flow] == pytest.approx(failed)
    assert told["huginn_run_last_success_timestamp_seconds", flow] == pytest.approx(well)
    outcomes = {name: told["huginn_run_outcome", f'{flow},outcome="{name}"'] for name in ("ok", "partial", "failed")}
    assert outcomes == {"ok": 0, "partial": 0, "failed": 1}
    assert told["huginn_source_last_success_timestamp_seconds", birds] == pytest.approx(well)
    assert told["huginn_source_failing_since_timestamp_seconds", birds] == pytest.approx(failed)
    assert "secret words" not in text


def test_a_room_out_of_scope_is_told_as_refused_and_never_as_stale(settings: Settings) -> None:
    assert settings.chat is not None
    notes = RoomNotes(Checkpoints(settings.state).store, upstream_of(settings.chat), "index")
    notes.note(RoomNote('!out"\\\n', "bridged", "m.bridge", "$event", None, False, "r", now()))
    told = samples(metrics(settings))
    room = 'corpus="chat",source="!out\\"\\\\\\n"'
    assert told["huginn_source_refused", room] == 1
    assert ("huginn_source_last_success_timestamp_seconds", room) not in told


def test_counts_are_those_of_the_index_and_an_intent_that_is_open_is_told(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "remote.git")
    repository.commit({"nest.md": "herons nest in reeds\n", "bird.bin": b"\x00\x01", "other.bin": b"\x00\x02"})
    workspace = Workspace(tmp_path, {"birds": repository.path})
    workspace.refresh()
    birds = 'corpus="forge",source="birds"'
    told = samples(metrics(workspace.settings))
    assert told["huginn_source_points", birds] == told["huginn_index_points", ""] == 1
    assert told["huginn_source_skipped", f'{birds},reason="binary"'] == 2
    assert told["huginn_source_failed", birds] == 0
    assert told["huginn_open_intents", 'corpus="forge"'] == 0
    with workspace.index() as index:
        Checkpoints(workspace.settings.state).begin(index.id, "forge", "birds")
    assert samples(metrics(workspace.settings))["huginn_open_intents", 'corpus="forge"'] == 1


def test_a_host_of_ollama_that_does_not_answer_is_out_of_service_and_its_path_is_not_told(tmp_path: Path) -> None:
    (tmp_path / "huginn.toml").write_text(
        '[embedder]\nkind = "ollama"\nmodel = "m"\nurls = ["http://127.0.0.1:9/hidden-path"]\n'
    )
    text = metrics(load(tmp_path / "huginn.toml", environment={}))
    assert samples(text)["huginn_embedder_host_in_service", 'host="127.0.0.1:9"'] == 0
    assert "hidden-path" not in text


def expressions() -> Iterator[tuple[str, str]]:
    groups = yaml.safe_load((ROOT / "deployments" / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    for group in groups:
        for rule in group["rules"]:
            assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
            assert re.fullmatch(r"\d+[mh]", rule.get("for", "1m"))
            assert rule["labels"]["severity"] in ("info", "warning", "critical")
            assert rule["annotations"].keys() == {"summary", "description"}
            yield rule["alert"], rule["expr"]


def test_every_metric_of_an_alert_is_one_that_is_told(settings: Settings) -> None:
    told = set(re.findall(r"^# TYPE (\w+) gauge$", metrics(settings), re.MULTILINE))
    used = {name: set(re.findall(r"huginn_\w+", expression)) for name, expression in expressions()}
    assert len(used) >= 6
    for name, names in used.items():
        assert names, name
        assert names <= told, name


def test_the_command_puts_the_file_in_place_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    huginn = CommandLine(tmp_path, capsys)
    huginn.settings(SETTINGS)
    file = tmp_path / "huginn.prom"
    file.write_text("old")
    reader = file.open()  # whoever reads the old file meanwhile goes on reading it, whole
    assert huginn("status", "--metrics", str(file)).code == ExitCode.WELL
    assert reader.read() == "old"
    reader.close()
    assert ("huginn_index_points", "") in samples(file.read_text())
    assert [path.name for path in tmp_path.glob("huginn.*")] in (
        ["huginn.prom", "huginn.toml"],
        ["huginn.toml", "huginn.prom"],
    )
    assert huginn("status", "--metrics", str(tmp_path / "nowhere" / "x.prom")).code == ExitCode.AWAY


def test_a_log_line_is_one_json_object_and_an_exception_in_it_keeps_its_words() -> None:
    try:
        raise ValueError("words of a file")
    except ValueError:
        record = logging.LogRecord("huginn.x", logging.WARNING, "", 0, "two\nlines %s", ("\u202e",), sys.exc_info())
    record.ids = {"source": "birds"}
    line = JsonLines().format(record)
    told = json.loads(line)
    assert [place.partition(":")[0] for place in told.pop("passed")] == ["test_metrics.py"]
    assert told.pop("time").endswith("+00:00")
    assert told == {
        "level": "warning",
        "logger": "huginn.x",
        "message": "two\nlines \u202e",
        "source": "birds",
        "exception": "ValueError",
    }
    assert line.isascii()
    assert "\n" not in line


def test_prefect_logs_json_by_the_setting_that_the_deployments_have() -> None:
    code = (
        "import logging; from prefect.logging.configuration import setup_logging; setup_logging();"
        "logging.getLogger('prefect.flow_runs').info('birds: %s', 'ok');"
        "logging.getLogger('huginn.flows').warning('of the worker alone')"
    )
    unit = (ROOT / "deployments" / "systemd" / "huginn-worker.service").read_text(encoding="utf-8")
    setting = dict(re.findall(r"^Environment=(PREFECT_LOGGING_\w+)=(\S+)$", unit, re.MULTILINE))
    setting["PREFECT_LOGGING_TO_API_ENABLED"] = "false"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env={**os.environ, **setting}, cwd=ROOT, capture_output=True, text=True, check=True)
    told = [json.loads(line) for line in done.stderr.splitlines()]
    assert [(line["level"], line["message"]) for line in told] == [
        ("info", "birds: ok"),
        ("warning", "of the worker alone"),
    ]
