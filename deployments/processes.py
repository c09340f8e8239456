"""Processes that do not outlive the one that starts them.

In: a command and the file for its output. Out: the process, which ends with all it has started when the context ends,
and also when the process of the context is killed. For that a keeper stands between the two (this file as a program):
it ends its command when its standard input ends, which the kernel sees to in every case.
A Prefect worker starts its flows in sessions of their own, so ending its group is not enough: the keeper looks up
the descendants while the worker still lives.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_GRACE_SECONDS = 10.0


class Stopped(Exception):
    """A process that should go on has ended, or a command has failed; `log` tells why."""

    def __init__(self, what: str, log: Path) -> None:
        self.log = log
        super().__init__(what)


class Process:
    """A process that runs beside this one, seen through its keeper."""

    def __init__(self, name: str, keeper: subprocess.Popen[bytes], log: Path) -> None:
        self.name = name
        self.log = log
        self._keeper = keeper

    def check(self) -> None:
        """Raise `Stopped` if the process has failed."""
        if self._keeper.poll():
            raise Stopped(f"the {self.name} has ended with exit code {self._keeper.returncode}", self.log)

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
        self.wait_until(lambda: self._keeper.poll() == 0, seconds)


@contextmanager
def running(name: str, command: Sequence[str], environment: Mapping[str, str], log: Path) -> Iterator[Process]:
    """Run `command` beside this process, and end it with the context."""
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [sys.executable, __file__, *command],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C in a terminal reaches whole groups; the order of ending is ours.
        ) as keeper,  # Its context closes the input, which makes the keeper end its command, and waits for that.
    ):
        yield Process(name, keeper, log)


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


def keep(command: Sequence[str]) -> int:
    """Run `command` until it ends or the standard input does; returns its exit code."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True) as process:
        while process.poll() is None:
            if select.select([sys.stdin], [], [], 0.1)[0]:
                _end(process)
        return process.returncode if process.returncode >= 0 else 128 - process.returncode


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and everything that it has started: first by asking, then by force."""
    started = descendants(process.pid)
    _signal(process.pid, signal.SIGTERM)
    # A worker that is asked to end while its server ends as well waits for the server for ever.
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_SECONDS)
    for one in {process.pid, *started}:
        _signal(one, signal.SIGKILL)
    process.wait()


def _signal(process: int, number: signal.Signals) -> None:
    """Send a signal to the group that the process leads, or to the process alone if it leads none."""
    with suppress(ProcessLookupError, PermissionError):
        try:
            os.killpg(process, number)
        except ProcessLookupError:
            os.kill(process, number)


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


if __name__ == "__main__":
    sys.exit(keep(sys.argv[1:]))
