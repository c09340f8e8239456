"""A flow whose worker has died ends itself: its lock, its slot and its run must not wait for a work nobody follows.

A worker that is killed leaves its flows alive, in sessions of their own. So a thread looks whether the parent of this
process is still the one it was. The signal of the kernel for it (PR_SET_PDEATHSIG) would not do: it comes when the
*thread* that started the process ends.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import cache

import prefect.runtime

from huginn.forge.process import end_all

LOOK_EVERY_SECONDS = 2.0
GRACE_SECONDS = 20.0
"""How long the flow may take to unwind, and to tell a busy server that it has crashed, before it is killed."""


@cache
def end_with_worker() -> None:
    """From now on end this process when its parent has ended. For runs of deployments alone: they have a worker."""
    if prefect.runtime.deployment.id is not None:
        threading.Thread(target=_watch, args=(os.getppid(),), name="orphan", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_EVERY_SECONDS)
    # As `prefect flow-run cancel` ends it: Prefect lets the flow unwind and marks the run as crashed.
    os.kill(os.getpid(), signal.SIGTERM)
    end_all()  # or a task that waits for git would be waited for
    time.sleep(GRACE_SECONDS)
    # A task that blocks holds the process: the kernel frees the lock, and what was open is compared by the next run.
    end_all()
    os.kill(os.getpid(), signal.SIGKILL)
