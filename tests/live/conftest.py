"""One real Prefect server for the whole session, with a worker and the deployments, all in a temporary folder."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from prefect.settings import PREFECT_API_URL, PREFECT_HOME, temporary_settings

from deployments import stack
from deployments.processes import running
from deployments.server_api import Server

PATIENCE = 120.0


@dataclass(frozen=True)
class Host:
    """A host of Huginn: a Prefect server and the folder in which it and its worker keep everything."""

    server: Server
    folder: Path
    environment: dict[str, str]

    @property
    def config(self) -> Path:
        return self.folder / "huginn.toml"

    def kept_by_prefect(self) -> bytes:
        """Everything that Prefect has on disk, and what the worker printed."""
        return b"".join(path.read_bytes() for path in (self.folder / "prefect").rglob("*") if path.is_file())


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("host")
    (folder / "tmp").mkdir()
    port = stack.free_port(preferred=0)
    server = Server(f"http://127.0.0.1:{port}")
    environment = stack.environment(server, port, folder, folder / "huginn.toml")
    # A run of a schedule that falls into a test would do its work before it.
    environment["PREFECT_SERVER_SERVICES_SCHEDULER_ENABLED"] = "false"
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    with ExitStack() as held:
        process = held.enter_context(running("Prefect server", command, environment, folder / "server.log"))
        process.wait_until(server.is_up, PATIENCE)
        # The flows that tests run in this process talk to the same server.
        held.enter_context(temporary_settings({PREFECT_API_URL: server.api, PREFECT_HOME: folder / "prefect"}))
        setup = [sys.executable, "-m", "deployments.setup"]
        subprocess.run(setup, env=environment, cwd=stack.CHECKOUT, check=True, capture_output=True)
        yield Host(server, folder, environment)


@pytest.fixture(scope="session")
def worker(host: Host) -> Iterator[Host]:
    """The host with a real worker."""
    command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", stack.POOL, "--type", "process"]
    with running("worker", command, host.environment, host.folder / "worker.log") as process:
        process.wait_until(lambda: host.server.worker_is_online(stack.POOL), PATIENCE)
        yield host


def make_repository(folder: Path, files: dict[str, str]) -> Path:
    """A git repository with one commit."""
    folder.mkdir(parents=True)
    plain = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}

    def git(*arguments: str) -> None:
        subprocess.run(["git", "-C", str(folder), *arguments], env=plain, check=True, capture_output=True)

    git("init", "--quiet", "--initial-branch=main")
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    git("add", "--all")
    git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "--message=one")
    return folder
