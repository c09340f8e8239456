"""Embeds in a second process: this side starts it, hands it texts, and takes its answers. The other is `worker`.

Texts and vectors go through shared memory, a slot for each batch; on the pipes go only requests and acknowledgements,
so few and short that neither side can block the other. The rules that live here: an answer bears the ticket of its
request; the process must have the same model; if it ends, that is an embedder that is away. It is spawned, not forked:
it holds no shard, no lock and no connection. It ends when its requests do, so also when this process is killed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import IO, Any

import numpy as np

from huginn.embed.port import Answer, Culprit, Identity
from huginn.errors import Unavailable
from huginn.scrub import Clean

_SLOTS = 8
_SLOT_BYTES = 1 << 32  # addresses, not memory: a slot takes what is written to it
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from huginn.embed.worker import serve; serve(int(sys.argv[2]))"
)


class SecondProcess:
    """A process that embeds as `WordLlamaEmbedder` does, started with its first user and ended with its last."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity
        self._lock = threading.Lock()
        self._users = 0
        self._running: _Running | None = None

    @contextmanager
    def used(self) -> Iterator[_Running]:
        """Use it, from any thread: see `huginn.embed.port.Ahead`."""
        with self._lock:
            self._users += 1
            running = self._running = self._running or _Running(self._identity)
        try:
            yield running
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    running.close()
                    self._running = None


class _Running:
    """One process, and what it has been asked."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity
        self._lock = threading.Lock()
        self._memory = _shared_memory()
        self._process = _start(self._memory.fileno())
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._acknowledgements = self._process.stdin, self._process.stdout
        self._free = list(range(_SLOTS))
        self._asked: dict[int, tuple[int, int]] = {}  # slot and number of texts, by ticket
        self._done: dict[int, list[Answer] | Unavailable] = {}
        self._tickets = 0
        self._is_known = False

    def submit(self, texts: Sequence[Clean]) -> Callable[[], Sequence[Answer]]:
        """Hand over `texts`; waits only while all slots are taken."""
        written = [text.encode("utf-8", "surrogatepass") for text in texts]
        with self._lock:
            while not self._free:
                self._take_one()
            slot, ticket = self._free.pop(), self._tickets
            self._tickets += 1
            self._asked[ticket] = slot, len(texts)
            _write_all(self._memory.fileno(), b"".join(written), slot * _SLOT_BYTES)
            request = {"ticket": ticket, "at": slot * _SLOT_BYTES, "lengths": [len(each) for each in written]}
            try:
                self._requests.write(json.dumps(request).encode() + b"\n")
                self._requests.flush()
            except BrokenPipeError:
                raise self._ended() from None
        return partial(self._answers_to, ticket)

    def close(self) -> None:
        """End it, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        with suppress(BrokenPipeError):
            self._requests.close()
        self._acknowledgements.close()
        self._memory.close()

    def _answers_to(self, ticket: int) -> Sequence[Answer]:
        with self._lock:
            while ticket not in self._done:
                self._take_one()
            answers = self._done.pop(ticket)
        if isinstance(answers, Unavailable):
            raise answers
        return answers

    def _take_one(self) -> None:
        """Take the next acknowledgement, and copy its vectors out of the slot. Under the lock."""
        acknowledged = self._line()
        if not self._is_known:
            if acknowledged != {"digest": self._identity.digest}:
                raise Unavailable("embedder", "the model has changed since this run began", next_step="try again")
            self._is_known = True
            return
        ticket = acknowledged["ticket"]
        slot, count = self._asked.pop(ticket)
        if "away" in acknowledged:
            reason, next_step = acknowledged["away"]
            self._done[ticket] = Unavailable("embedder", reason, next_step=next_step)
        else:
            size = count * self._identity.dimensions * 4
            vectors = np.frombuffer(os.pread(self._memory.fileno(), size, slot * _SLOT_BYTES), dtype=np.float32)
            answers: list[Answer] = list(vectors.reshape(count, self._identity.dimensions))
            for place, reason in acknowledged["culprits"]:
                answers[place] = Culprit(reason)
            self._done[ticket] = answers
        self._free.append(slot)

    def _line(self) -> Any:
        line = self._acknowledgements.readline()
        if not line:
            raise self._ended()
        return json.loads(line)

    def _ended(self) -> Unavailable:
        return Unavailable(
            "embedder",
            f"the process that embeds has ended ({self._process.wait()})",
            next_step="try again; if it stays, look whether memory is short",
        )


def _start(memory: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _START, json.dumps(sys.path), str(memory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # an error's text might repeat what it was given
        pass_fds=(memory,),
    )


def _shared_memory() -> IO[bytes]:
    """Memory with a file's descriptor, gone with its last holder; where there is no such thing, a nameless file."""
    if sys.platform == "linux":
        return os.fdopen(os.memfd_create("huginn-embed"), "r+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


def _write_all(descriptor: int, content: bytes, at: int) -> None:
    while content:
        written = os.pwrite(descriptor, content, at)
        content, at = content[written:], at + written
