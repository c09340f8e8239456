"""Work on several sources at once, most of whose time is spent on waiting for remotes.

In: a function and what to call it with. Out: its results, in the same order. On Ctrl-C the process ends at once:
threads within git or the engine cannot be stopped one by one, and a run may be killed at any point (it is mended by
the next one).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

from huginn.cli import terminal
from huginn.cli.exits import ExitCode

_WORKERS = 4

Result = TypeVar("Result")


def side_by_side(
    function: Callable[[str], Result], names: Sequence[str], done: Callable[[str], None] = lambda _name: None
) -> list[Result]:
    """Call `function` with each of `names`, a few at a time; `done` is told each name that is through."""
    pool = ThreadPoolExecutor(_WORKERS)
    try:
        try:
            futures = [pool.submit(function, name) for name in names]
            for future in as_completed(futures):
                future.result()
                done(names[futures.index(future)])
        except Exception:  # not on Ctrl-C, which must not wait
            pool.shutdown(cancel_futures=True)
            raise
        pool.shutdown()
        return [future.result() for future in futures]
    except KeyboardInterrupt:
        from huginn.forge.process import end_all

        pool.shutdown(wait=False, cancel_futures=True)  # what has not begun must not start another git
        end_all()
        terminal.write("\nhuginn: stopped\n", sys.stderr)
        os._exit(ExitCode.INTERRUPTED)
