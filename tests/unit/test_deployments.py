"""prefect.yaml, the Makefile and the local stack, as far as they can be looked at without starting anything."""

from __future__ import annotations

import http.server
import json
import re
import shutil
import socket
import subprocess
import threading
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from deployments import server_api, stack
from deployments.server_api import NoAnswer, Server
from huginn import settings

ROOT = Path(__file__).parents[2]


def test_every_deployment_names_a_flow_that_is_there_and_runs_one_at_a_time() -> None:
    deployments = yaml.safe_load((ROOT / "prefect.yaml").read_text(encoding="utf-8"))["deployments"]

    assert [deployment["name"] for deployment in deployments] == [
        "forge-refresh",
        "chat-refresh",
        "purge-window",
        "backfill",
        "room-rebuild",
    ]
    for deployment in deployments:
        path, _, function = deployment["entrypoint"].partition(":")
        flow = getattr(import_module(path.removesuffix(".py").replace("/", ".")), function)
        assert flow.name == deployment["name"]
        assert deployment["concurrency_limit"]["limit"] == 1
        assert deployment["work_pool"]["name"] == stack.POOL
        assert deployment["description"]
        assert deployment["tags"]
        assert all(field.get("description") for field in flow.parameters.properties.values()), "its form"
        assert set(deployment["parameters"]) == set(flow.parameters.properties) - set(flow.parameters.required)


@pytest.mark.parametrize("name", ["prefect.yaml", "Makefile", "requirements.lock", ".ci/run"])
def test_no_address_and_no_folder_of_one_machine_is_written_down(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")

    assert not re.search(r"https?://|--(extra-)?index|--find-links", text)
    assert not re.search(r"/(home|root|srv|opt|Users)/", text)


@pytest.mark.parametrize("folder", ["plain", "with blank", 'quote " and \\ backslash', "grüße"])
def test_the_settings_of_the_local_stack_name_this_checkout(tmp_path: Path, folder: str) -> None:
    checkout = tmp_path / folder
    path = checkout / ".huginn" / "local.toml"
    path.parent.mkdir(parents=True)

    stack.write_settings(path, checkout)

    loaded = settings.load(path, environment={})
    assert loaded.state == path.parent
    assert [(one.name, one.url) for one in loaded.forge.repos] == [("Huginn", str(checkout))]


def test_the_example_settings_can_be_loaded() -> None:
    loaded = settings.load(ROOT / "deployments" / "huginn.example.toml", environment={})

    assert [repository.name for repository in loaded.forge.repos] == ["Huginn", "Secrets of State"]


def test_the_local_stack_ignores_the_callers_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "https://prefect.example.org/api")
    monkeypatch.setenv("PREFECT_API_DATABASE_CONNECTION_URL", "postgresql://db.example.org/prefect")
    monkeypatch.setenv("HUGINN_STATE", "/elsewhere")

    environment = stack.environment(Server("http://127.0.0.1:4200"), 4200)

    assert "example.org" not in "".join(environment.values())
    assert "HUGINN_STATE" not in environment
    assert environment["PREFECT_API_URL"] == "http://127.0.0.1:4200/api"
    assert environment["PREFECT_SERVER_ANALYTICS_ENABLED"] == "false"
    assert Path(environment["PREFECT_HOME"]).is_relative_to(ROOT)


def test_another_port_is_taken_when_the_usual_one_is_in_use() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        assert stack.free_port(preferred=port) != port


def test_a_server_that_is_away_is_not_up_and_gives_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_api, "_PATIENCE_SECONDS", 0.0)
    server = Server("http://127.0.0.1:9")

    assert not server.is_up()
    with pytest.raises(NoAnswer, match="/flow_runs/r"):
        server.run_state("r")


def test_a_run_is_started_once_on_a_server_whose_database_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deployments.server_api.time.sleep", lambda _: None)
    keys: list[str] = []

    class Busy(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(200, {"id": "d"})

        def do_POST(self) -> None:
            keys.append(json.loads(self.rfile.read(int(self.headers["content-length"])))["idempotency_key"])
            self.answer(503 if len(keys) < 4 else 201, {"id": "r"})

        def answer(self, status: int, document: dict[str, str]) -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Busy) as busy:
        threading.Thread(target=busy.serve_forever, daemon=True).start()
        run = Server(f"http://127.0.0.1:{busy.server_port}").start_run("f", "d")
        busy.shutdown()

    assert run == "r"
    assert len(keys) == 4
    assert len(set(keys)) == 1, "without one key each try would start a run of its own"


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_a_python_that_is_too_old_or_missing_is_told(tmp_path: Path) -> None:
    old = tmp_path / "python-of-old"
    old.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    old.chmod(0o755)
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)

    result = subprocess.run(["make", "run", f"PYTHON={old}"], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert result.returncode != 0
    assert "is not Python 3.11 or newer" in result.stderr
    assert not (tmp_path / ".venv").exists()
