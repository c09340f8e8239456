"""One running git process.

In go arguments, an environment and a time limit; out comes what git writes, piece by piece. Rules that live here: no
read waits longer than the limit, and leaving the `with` block ends the process together with all its children.

GitPython is not used for this: it starts every process with the caller's whole environment (a stray GIT_DIR included),
kills by listing children instead of by process group, has no time limit while reading, and puts the command into its
exceptions.
"""

from __future__ import annotations

import os
import resource
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

_KEPT_COMPLAINT_BYTES = 8_192
_TIME_TO_CLEAN_UP = 2.0


_running: set[Process] = set()


def end_all() -> None:
    """End every git that runs, for a program that is about to end without leaving its `with` blocks."""
    processes = list(_running)
    for process in processes:
        process.ask_to_end()
    patience = time.monotonic() + _TIME_TO_CLEAN_UP
    while time.monotonic() < patience and any(not process.has_ended() for process in processes):
        time.sleep(0.002)


class GitFailed(Exception):
    """Git ended with an error or wrote something unexpected. `words`: what it said, made harmless; never a command."""

    def __init__(self, words: str) -> None:
        self.words = words
        super().__init__(words or "git ended without a word")


class GitTimedOut(Exception):
    """Git did not end within its time limit and was killed."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"git took longer than {seconds:g} s")


class Process:
    """A git process in a session of its own: without a terminal, and killed as a whole."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        *,
        seconds: float,
        asked: bool = False,
        held: Sequence[int] = (),
        memory: int | None = None,
    ) -> None:
        """Start git.

        `asked`: requests are written to it later. `held`: descriptors that it and its children keep open. `memory`:
        bytes that it may take (where the system can limit a process that runs).
        """
        self._seconds = seconds
        self.allow_more_time()
        self._popen = subprocess.Popen(
            ["git", *arguments],
            stdin=subprocess.PIPE if asked else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            env=environment,
            start_new_session=True,
            pass_fds=tuple(held),
            bufsize=0,
        )
        assert self._popen.stdout is not None
        assert self._popen.stderr is not None
        if memory is not None and sys.platform == "linux":
            # It may have ended already, or a stricter limit may hold.
            with suppress(ProcessLookupError, PermissionError):
                resource.prlimit(self._popen.pid, resource.RLIMIT_DATA, (memory, memory))
        self._output = self._popen.stdout.fileno()
        self._complaints = self._popen.stderr.fileno()
        self._complaint = b""
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._output, selectors.EVENT_READ)
        self._selector.register(self._complaints, selectors.EVENT_READ)
        _running.add(self)

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def allow_more_time(self) -> None:
        """Begin the time limit anew, for a process that answers many requests."""
        self._deadline = time.monotonic() + self._seconds

    def read(self, size: int = 1 << 16) -> bytes:
        """Return the next bytes that git has written, at most `size`, or nothing at its end."""
        while self._output in self._selector.get_map():
            for descriptor in self._ready(self._time_left()):
                if descriptor == self._complaints:
                    self._take_complaint()
                    continue
                piece = os.read(self._output, size)
                if not piece:
                    self._selector.unregister(self._output)
                return piece
        return b""

    def write(self, request: bytes) -> None:
        """Send a request that is short enough for the pipe to take at once."""
        assert self._popen.stdin is not None
        self._popen.stdin.write(request)

    def wait(self) -> int:
        """Wait for the end of a process whose output has been read, and return its exit code."""
        while self._popen.poll() is None:
            # A child may hold the descriptor open after git has ended, so git itself is looked at as well.
            if self._complaints not in self._selector.get_map():
                self._wait_for_exit()
            else:
                for _ in self._ready(min(self._time_left(), 0.05), only=self._complaints):
                    self._take_complaint()
        while self._ready(0, only=self._complaints):
            self._take_complaint()
        return self._popen.returncode

    @property
    def complaint(self) -> bytes:
        """The end of what git has written as errors."""
        return self._complaint

    def close(self) -> None:
        """End git and its children, if they are still there, and let go of every descriptor."""
        if self._popen.returncode is None:
            self.ask_to_end()
            patience = time.monotonic() + _TIME_TO_CLEAN_UP
            while not self.has_ended() and time.monotonic() < patience:
                time.sleep(0.002)
            os.killpg(self._popen.pid, signal.SIGKILL)  # its children too
            self._popen.wait()
        _running.discard(self)
        self._selector.close()
        for stream in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
            if stream is not None:
                stream.close()

    def ask_to_end(self) -> None:
        """Let git end by itself: a fetch takes its locks and half-written files away."""
        if self._popen.returncode is None:
            with suppress(ProcessLookupError):  # its own thread has reaped it just now
                os.killpg(self._popen.pid, signal.SIGTERM)

    def has_ended(self) -> bool:
        """Tell whether git has ended. It is not reaped, so that its number still stands for its group."""
        if self._popen.returncode is not None:
            return True
        try:
            return os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:  # its own thread has reaped it just now
            return True

    def _ready(self, seconds: float, only: int | None = None) -> list[int]:
        if not self._selector.get_map():
            return []
        descriptors = [key.fd for key, _ in self._selector.select(seconds)]
        return [descriptor for descriptor in descriptors if only is None or descriptor == only]

    def _take_complaint(self) -> None:
        piece = os.read(self._complaints, 1 << 16)
        if not piece:
            self._selector.unregister(self._complaints)
        self._complaint = (self._complaint + piece)[-_KEPT_COMPLAINT_BYTES:]

    def _time_left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise GitTimedOut(self._seconds)
        return left

    def _wait_for_exit(self) -> None:
        try:
            self._popen.wait(self._time_left())
        except subprocess.TimeoutExpired:
            raise GitTimedOut(self._seconds) from None
