"""What a host that runs for months must stand: a worker that dies, runs that were missed, an upstream that hangs."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import cast

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State
from prefect.flow_engine import run_flow
from prefect.states import Scheduled
from prefect.workers.process import ProcessWorker

import flows.writer
import huginn.chat.client
from flows.chat_refresh import chat_refresh
from flows.forge_refresh import forge_refresh
from flows.writer import WRITER_LIMIT
from huginn import settings
from huginn.chat.client import Patience
from huginn.checkpoints import Checkpoints
from huginn.lock import holder
from huginn.status import status
from tasks.forge import refresh_source
from tests.live.conftest import PATIENCE, Host, make_repository
from tests.live.test_forge_refresh import FLOW
from tests.support.tls import make_certificate

pytestmark = pytest.mark.slow


def until(condition: Callable[[], object], seconds: float = PATIENCE) -> float:
    """Wait for it; how many seconds it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() < began + seconds, "it did not come"
        time.sleep(0.2)
    return time.monotonic() - began


@contextmanager
def server(answer: bytes = b"", context: ssl.SSLContext | None = None) -> Iterator[str]:
    """An address that takes every connection, and gives `answer`, or, if there is none, never says a word."""
    kept: list[socket.socket] = []

    def serve() -> None:
        with suppress(OSError):  # closed
            while True:
                connection, _ = listening.accept()
                if context:
                    connection = context.wrap_socket(connection, server_side=True)
                kept.append(connection)
                if answer:
                    connection.recv(1 << 16)
                    connection.sendall(answer)
                    connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
    for connection in kept:
        connection.close()


def write(folder: Path, repositories: dict[str, str], *, seconds: int = 600, more: str = "") -> Path:
    """Settings with a state of their own."""
    tables = "".join(f'[[forge.repos]]\nname = "{name}"\nurl = "{url}"\n' for name, url in repositories.items())
    path = folder / "huginn.toml"
    path.write_text(
        f'state = "state"\n{more}[index]\nmin_free_bytes = 0\n[forge]\ntimeout_seconds = {seconds}\n{tables}', "utf-8"
    )
    return path


@pytest.fixture
def apart(host: Host) -> tuple[str, str]:
    """A work pool that no other worker serves, and the id of the deployment there."""
    pool = f"apart-{uuid.uuid4().hex[:6]}"
    template = ProcessWorker.get_default_base_job_template()
    host.server.ask("/work_pools/", {"name": pool, "type": "process", "base_job_template": template})
    known = host.server.ask(f"/deployments/name/{FLOW}/{FLOW}")
    copied = {name: known[name] for name in ("flow_id", "entrypoint", "path", "pull_steps", "parameters")}
    return pool, host.server.ask("/deployments/", {"name": pool, "work_pool_name": pool, **copied})["id"]


@pytest.fixture
def doomed(host: Host, apart: tuple[str, str], tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The only worker of the pool, which may be killed."""
    environment = {**host.environment, "HUGINN_CONFIG": str(tmp_path / "huginn.toml")}
    command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", apart[0], "--type", "process"]
    with (tmp_path / "worker.log").open("wb") as log:
        worker = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            yield worker
        finally:
            worker.kill()
            worker.wait()


def test_a_flow_whose_worker_has_died_ends_itself_and_frees_lock_and_slot(
    host: Host, apart: tuple[str, str], doomed: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    worker = doomed
    with server() as silent:
        write(tmp_path, {"silent": f"https://{silent}/x.git"}, seconds=600)
        run = host.server.start_run(FLOW, apart[0])
        until(lambda: holder(tmp_path / "state"))
        flow = int((holder(tmp_path / "state") or "").split()[1].strip(","))
        until(lambda: host.server.run_state(run).type == "RUNNING")
        assert os.getsid(flow) != os.getsid(worker.pid), "a worker that dies would take its flow along"

        worker.send_signal(signal.SIGKILL)
        worker.wait()
        time.sleep(1)
        assert Path(f"/proc/{flow}").exists(), "it would have ended anyway"
        took = until(lambda: not Path(f"/proc/{flow}").exists(), seconds=30)

        assert took < 30
        assert holder(tmp_path / "state") is None
        state = host.server.run_state(run)
        assert state.type == "CRASHED", state
        with get_client(sync_client=True) as client:
            assert client.read_global_concurrency_limit_by_name(WRITER_LIMIT).active_slots == 0


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Flows run in this process, which has no worker, by the settings of the test, and try again at once."""
    monkeypatch.setenv("HUGINN_CONFIG", str(tmp_path / "huginn.toml"))
    monkeypatch.setattr(flows.writer, "end_with_worker", lambda: None)
    monkeypatch.setattr(refresh_source, "retry_delay_seconds", [0.1, 0.1, 0.1])


def test_of_runs_that_were_missed_one_does_the_work_and_the_others_end_at_once(
    host: Host, apart: tuple[str, str], here: None, tmp_path: Path
) -> None:
    write(tmp_path, {"birds": str(make_repository(tmp_path / "birds", {"nest.md": "herons nest in reeds\n"}))})

    def missed(minutes: int) -> FlowRun:
        """A run of the schedule whose time has passed while no worker was there."""
        moment = datetime.now(UTC) - timedelta(minutes=minutes)
        with get_client(sync_client=True) as client:
            return client.create_flow_run_from_deployment(uuid.UUID(apart[1]), state=Scheduled(scheduled_time=moment))

    runs = [missed(minutes) for minutes in (45, 30, 15)]
    states = [cast("State", run_flow(forge_refresh, flow_run=run, return_type="state")) for run in runs]

    assert {state.type for state in states} == {"COMPLETED"}
    assert ["has done this work since" in (state.message or "") for state in states] == [False, True, True]
    with Checkpoints(tmp_path / "state").store.transaction() as db:
        assert db.execute("SELECT count(*) FROM runs").fetchall() == [(1,)]


LIMIT = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3600\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_a_remote_that_hangs_or_limits_does_not_hold_the_others(
    host: Host, here: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificate, context = make_certificate(tmp_path)
    monkeypatch.setenv("GIT_SSL_CAINFO", str(certificate))
    repositories = {f"bird{number}": str(make_repository(tmp_path / f"{number}", {"a.md": "x\n"})) for number in (1, 2)}
    with server() as silent, server(LIMIT, context) as limiting:
        # As many as are refreshed side by side, and first in the list.
        others = {f"a{number}": f"https://{silent}/{number}.git" for number in range(4)}
        others["limited"] = f"https://{limiting}/x.git"
        write(tmp_path, others | repositories, seconds=1)
        state = forge_refresh(return_state=True)

    assert (state.message or "").startswith("5 of 7 sources failed. ")
    told = {source.source: source for source in status(settings.load()).sources}
    assert {name for name, source in told.items() if source.last_success} == repositories.keys()
    assert "429" in (told["limited"].reason or "")
    assert "1 s" in (told["a0"].reason or "")
    assert holder(tmp_path / "state") is None


@pytest.mark.parametrize("answer", [b"", LIMIT], ids=["hangs", "limits"])
def test_a_homeserver_that_hangs_or_limits_does_not_hold_the_repositories(
    host: Host, here: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: bytes
) -> None:
    monkeypatch.setattr(huginn.chat.client, "Patience", partial(Patience, attempts=2, seconds=2.0))
    monkeypatch.setenv("HUGINN_CHAT_TOKEN", "no-real-token")
    birds = {"birds": str(make_repository(tmp_path / "birds", {"a.md": "x\n"}))}
    with server(answer) as homeserver:
        chat = f'[chat]\nhomeserver = "http://{homeserver}"\nuser = "@huginn:example.org"\ntimeout_seconds = 1\n'
        write(tmp_path, birds, more=chat)
        began = time.monotonic()
        state = chat_refresh(return_state=True)
        assert time.monotonic() < began + 15
        assert state.is_failed()
        assert (state.message or "").startswith("homeserver: 127.0.0.1:")
        assert forge_refresh(return_state=True).is_completed()
