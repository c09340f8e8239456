"""Refreshes and purges of one state folder in processes of their own, which start without loading anything anew."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

from huginn import scrub
from huginn.embed.wordllama import WordLlamaEmbedder
from huginn.errors import Busy
from huginn.index.payload import moment_of
from huginn.purging import Request, purge
from tests.support.chat_workspace import ChatWorkspace
from tests.support.model_homeserver import HOUR, START

A = "@a:example.org"
ROOM = "!garden:example.org"
FROM, TO = moment_of(START + HOUR), moment_of(START + 2 * HOUR)
SLOW_SECONDS = 0.15

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload([__name__, "huginn.chat.intake", "huginn.index.opening", "huginn.run"])


def workspace_at(root: Path, *, is_later: bool) -> ChatWorkspace:
    """A place with a room whose second hour says walrus; later more has been said, there and elsewhere."""
    workspace = ChatWorkspace.at(root)
    room = workspace.homeserver.new_room("garden")
    room.send(A, "heron before", START + HOUR - 1)
    for minutes in range(0, 60, 7):
        room.send(A, f"walrus {minutes}", START + HOUR + minutes * 60_000)
    room.send(A, "heron behind", START + 2 * HOUR)
    if is_later:
        for minutes in range(3, 60, 7):
            room.send(A, f"walrus of late {minutes}", START + HOUR + minutes * 60_000)
        for hours in range(3, 8):
            room.send(A, f"heron of late {hours}", START + hours * HOUR)
    return workspace


def refresh_slowly(root: Path, rules: Path) -> None:
    """Refresh the rooms with an embedder that takes its time; nothing is done where another writer is at work."""
    scrub.prepare(rules)
    embed = WordLlamaEmbedder.embed

    def slow(self: WordLlamaEmbedder, texts: list[scrub.Clean]) -> object:
        time.sleep(SLOW_SECONDS)
        return embed(self, texts)

    with patch.object(WordLlamaEmbedder, "embed", slow), suppress(Busy):
        workspace_at(root, is_later=True).refresh()


def purge_after(root: Path, rules: Path, seconds: float) -> None:
    """Purge the hour of the walrus, some time after the start."""
    scrub.prepare(rules)
    time.sleep(seconds)
    request = Request(ROOM, FROM, TO, "as was asked", "ann")
    purge(workspace_at(root, is_later=True).settings, request, dry_run=False, expect=1000, wait=30)


def all_at_once(*calls: tuple[Callable[..., None], tuple[object, ...]]) -> list[int | None]:
    """Run each in a process of its own, all at the same time; gives their exit codes."""
    started = [_processes.Process(target=call, args=arguments) for call, arguments in calls]
    for process in started:
        process.start()
    for process in started:
        process.join(60)
        process.kill()
    return [process.exitcode for process in started]
