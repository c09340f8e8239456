"""The local stack: a Prefect server, a worker and the deployments, all of whose state lies in `.huginn`.

In: this checkout. Out: a running server for as long as the context lasts. The rule that lives here: nothing outside
the checkout is read as settings or written, nothing is sent anywhere, and a second stack beside a running one is the
same one, because two servers on one database would do all work twice.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import click

from deployments.processes import Process, Stopped, running
from deployments.server_api import Server

CHECKOUT = Path(__file__).resolve().parent.parent
STATE = CHECKOUT / ".huginn"
LOGS = STATE / "logs"
SETTINGS = STATE / "local.toml"
POOL = "huginn"
PATIENCE_SECONDS = 120.0
"""How long a step may take before something must be wrong. A refresh may take as long as it needs."""


@contextlib.contextmanager
def step(what: str) -> Iterator[None]:
    """Tell a step and how long it took."""
    began = time.monotonic()
    word = "not done"
    click.echo(f"  {what} … ", nl=False)
    try:
        yield
        word = f"{time.monotonic() - began:.1f} s"
    finally:
        click.echo(word)


@dataclass(frozen=True)
class Stack:
    """A server, and the processes of it that this one has started: none if the stack is that of another process."""

    server: Server
    processes: tuple[Process, ...] = ()

    def check(self) -> None:
        """Raise `Stopped` if a process that should go on has ended."""
        for process in self.processes:
            process.check()


@contextlib.contextmanager
def local_stack() -> Iterator[Stack]:
    """The stack that runs already, or a new one."""
    for folder in (LOGS, STATE / "tmp"):
        folder.mkdir(parents=True, exist_ok=True)
    with (STATE / "local.lock").open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield Stack(_running_already(lock))
            return
        lock.truncate(0)
        write_settings()
        # Runs that a start before this one left behind would hold up the new one: those that are late, and those
        # that were cut off, whose slot is held until its lease ends. Index and journal are not Prefect's, and stay.
        shutil.rmtree(STATE / "prefect", ignore_errors=True)
        port = free_port()
        server = Server(f"http://127.0.0.1:{port}")
        with _started(server, port) as stack:
            lock.write(server.page)
            lock.flush()
            yield stack


def _running_already(lock: TextIO) -> Server:
    """The server of the process that holds the lock; its address is written when it is ready."""
    click.echo("  Another 'make run' is up already: its server and worker are used.")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        lock.seek(0)
        page = lock.read().strip()
        if page:
            return Server(page)
        time.sleep(0.5)
    raise Stopped("another 'make run' has begun, and is not ready; end it and start again", LOGS / "server.log")


@contextlib.contextmanager
def _started(server: Server, port: int) -> Iterator[Stack]:
    """Start the server, the set-up and the worker, and end them with the context."""
    env = environment(server, port)
    prefect = [sys.executable, "-m", "prefect"]
    with contextlib.ExitStack() as processes:
        with step(f"Prefect server on port {port}"):
            command = [*prefect, "server", "start", "--host", "127.0.0.1", "--port", str(port)]
            process = processes.enter_context(running("Prefect server", command, env, LOGS / "server.log"))
            process.wait_until(server.is_up, PATIENCE_SECONDS)
        with step("work pool, limit and deployments"):
            command = [sys.executable, "-m", "deployments.setup"]
            setup = processes.enter_context(running("set-up", command, env, LOGS / "setup.log"))
            setup.wait_until(lambda: server.has_pool(POOL), PATIENCE_SECONDS)
            # The worker starts while the deployments are made: both take five seconds, mostly for imports.
            command = [*prefect, "worker", "start", "--pool", POOL, "--type", "process"]
            worker = processes.enter_context(running("worker", command, env, LOGS / "worker.log"))
            setup.finish(PATIENCE_SECONDS)
        with step("worker"):
            worker.wait_until(lambda: server.worker_is_online(POOL), PATIENCE_SECONDS)
        yield Stack(server, (process, worker))


def environment(server: Server, port: int, state: Path = STATE, config: Path = SETTINGS) -> dict[str, str]:
    """The environment of server, set-up and worker: all they keep lies in `state`, nothing is sent anywhere."""
    return own_environment(config) | {
        "DO_NOT_TRACK": "1",
        "PREFECT_API_URL": server.api,
        "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
        "PREFECT_HOME": str(state / "prefect"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        # The page asks this port for its data; with --port alone it stays blank.
        "PREFECT_SERVER_API_PORT": str(port),
        # Leases then survive a restart of the server.
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
        "PREFECT_WORKER_QUERY_SECONDS": "2",
        # The worker makes a folder for each run, which stays behind when it is killed.
        "TMPDIR": str(state / "tmp"),
    }


def own_environment(config: Path = SETTINGS) -> dict[str, str]:
    """The caller's environment with the settings of this stack instead of those for Prefect and Huginn in it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "HUGINN_"))}
    return kept | {"HUGINN_CONFIG": str(config), "PYTHONPATH": str(CHECKOUT), "PYTHONUNBUFFERED": "1"}


def write_settings(path: Path = SETTINGS, repository: Path = CHECKOUT) -> None:
    """Write the settings of the local stack: one repository, this checkout itself."""
    # A JSON string is a TOML string.
    checkout = json.dumps(str(repository), ensure_ascii=False)
    text = f'state = "."\n\n[forge]\nname = "local"\n\n[[forge.repos]]\nname = "Huginn"\nurl = {checkout}\n'
    path.write_text(f"# Written anew by each 'make run'.\n{text}", encoding="utf-8")


def free_port(preferred: int = 4200) -> int:
    """A port of the loopback interface that is free: Prefect's usual one, or any."""
    for port in (preferred, 0):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return int(probe.getsockname()[1])
    raise OSError("no port of the loopback interface is free")
