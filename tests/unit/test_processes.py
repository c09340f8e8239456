"""Processes end with the context that started them, and with all they have started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deployments.processes import Stopped, descendants, last_lines, running

# Starts a process in a session of its own, as a Prefect worker does with its flows, and ignores the wish to end.
PARENT = """
import signal, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print(child.pid, flush=True)
time.sleep(60)
"""


def lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{process}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_until_gone(process: int) -> None:
    deadline = time.monotonic() + 10
    while lives(process):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_what_a_process_has_started_in_another_session_ends_with_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with running("parent", [sys.executable, "-c", PARENT], os.environ, log) as process:
        process.wait_until(lambda: log.read_text().endswith("\n"), 20)
        child = int(log.read_text())
        assert child in descendants(os.getpid())

    wait_until_gone(child)


def test_an_error_ends_the_process_too(tmp_path: Path) -> None:
    others = descendants(os.getpid())  # the servers of other tests
    started: set[int] = set()

    def fail() -> None:
        with running("sleeper", ["sleep", "60"], os.environ, tmp_path / "log"):
            started.update(descendants(os.getpid()) - others)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert started
    for process in started:
        wait_until_gone(process)


def test_a_parent_that_is_killed_takes_along_all_that_was_started(tmp_path: Path) -> None:
    script = (
        "import os, pathlib, sys, time\n"
        "from deployments.processes import running, descendants\n"
        f"log, inner = pathlib.Path({str(tmp_path / 'log')!r}), {PARENT!r}\n"
        "with running('parent', [sys.executable, '-c', inner], os.environ, log) as process:\n"
        "    process.wait_until(lambda: log.read_text().endswith('\\n'), 20)\n"
        "    print(*descendants(os.getpid()), flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        children = [int(word) for word in parent.stdout.readline().split()]
        parent.send_signal(signal.SIGKILL)

    assert len(children) == 3, "the keeper, the process, and what that has started"
    for child in children:
        wait_until_gone(child)


def test_a_process_that_ends_too_early_is_told_with_its_log(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('no such thing'); raise SystemExit(3)"]
    with (
        pytest.raises(Stopped, match="the thing has ended with exit code 3") as caught,
        running("thing", command, os.environ, tmp_path / "log") as process,
    ):
        process.wait_until(lambda: False, 20)

    assert last_lines(caught.value.log) == "    no such thing"


def test_a_process_that_is_never_ready_is_given_up(tmp_path: Path) -> None:
    with (
        pytest.raises(Stopped, match="not ready after 0 s"),
        running("thing", ["sleep", "60"], os.environ, tmp_path / "log") as process,
    ):
        process.wait_until(lambda: False, 0.3)
