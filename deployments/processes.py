"""Processes that must not outlive the one that starts them.

In: a command and the file for its output. Out: a process in a group of its own, which ends, with all it has started,
when the context ends, however that happens; on Linux it is also told to end when its parent is killed.
A Prefect worker starts its flows in sessions of their own, so ending its group is not enough: the descendants are
looked up while the worker still lives.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_GRACE_SECONDS = 10.0
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class Stopped(Exception):
    """A process that should go on has ended, or a command has failed; `log` tells why."""

    def __init__(self, what: str, log: Path) -> None:
        self.log = log
        super().__init__(what)


class Process:
    """A process that runs beside this one."""

    def __init__(self, name: str, popen: subprocess.Popen[bytes], log: Path) -> None:
        self.name = name
        self.log = log
        self._popen = popen

    def check(self) -> None:
        """Raise `Stopped` if the process has failed."""
        if self._popen.poll():
            raise Stopped(f"the {self.name} has ended with exit code {self._popen.returncode}", self.log)

    def wait_until(self, condition: Callable[[], bool], seconds: float) -> None:
        """Ask `condition` again and again until it says yes; `Stopped` if the process fails or `seconds` pass."""
        deadline = time.monotonic() + seconds
        while not condition():
            self.check()
            if time.monotonic() > deadline:
                raise Stopped(f"the {self.name} is not ready after {seconds:.0f} s", self.log)
            time.sleep(0.2)

    def finish(self, seconds: float) -> None:
        """Wait for the process to end well; `Stopped` if it does not."""
        self.wait_until(lambda: self._popen.poll() == 0, seconds)

    def end(self) -> None:
        """End the process and everything that it has started: first by asking, then by force."""
        started = descendants(self._popen.pid)
        _signal(self._popen.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(_GRACE_SECONDS)
        for process in {self._popen.pid, *started}:
            _signal(process, signal.SIGKILL)
        self._popen.wait()


@contextmanager
def running(name: str, command: Sequence[str], environment: Mapping[str, str], log: Path) -> Iterator[Process]:
    """Start `command` in a group of its own, and end it with the context."""
    with log.open("wb") as output:
        popen = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_end_with_parent,
        )
    process = Process(name, popen, log)
    try:
        yield process
    finally:
        process.end()


def descendants(ancestor: int) -> set[int]:
    """The ids of all processes that `ancestor` has started, directly or not."""
    children: dict[int, list[int]] = defaultdict(list)
    for process, parent in _parents():
        children[parent].append(process)
    found: set[int] = set()
    ahead = [ancestor]
    while ahead:
        new = set(children[ahead.pop()]) - found
        found |= new
        ahead.extend(new)
    return found


def last_lines(log: Path, count: int = 15) -> str:
    """The end of a log, for a person to see what went wrong."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return "\n".join(f"    {line}" for line in lines[-count:])


def _parents() -> Iterator[tuple[int, int]]:
    """Every process with its parent. From /proc where there is one: small systems have no `ps`."""
    if not Path("/proc/self/stat").exists():
        listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
        for line in listing.splitlines():
            process, parent = line.split()
            yield int(process), int(parent)
        return
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with suppress(FileNotFoundError, ProcessLookupError):
                # The name, in brackets, may hold blanks and brackets itself; the parent is the second word after it.
                yield int(folder.name), int((folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])


def _signal(process: int, number: signal.Signals) -> None:
    """Send a signal to the process, and to its group if it leads one."""
    with suppress(ProcessLookupError, PermissionError):
        if os.getpgid(process) == process:
            os.killpg(process, number)
        else:
            os.kill(process, number)


def _end_with_parent() -> None:
    """In the new process: ask the kernel to end it when its parent is gone, even by SIGKILL."""
    if _libc is not None:
        # By force: a worker that is asked to end while its server ends as well waits for the server for ever.
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
