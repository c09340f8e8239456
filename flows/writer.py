"""One writer at a time, as Prefect sees it: the global concurrency limit `huginn-writer`.

The limit makes the queue visible and keeps flows from waiting for each other inside; the guarantee is the file lock
that `huginn.run` takes, which holds for the command line as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from prefect.concurrency.asyncio import ConcurrencySlotAcquisitionError
from prefect.concurrency.sync import concurrency

from flows.orphan import end_with_worker
from huginn.errors import Refused

WRITER_LIMIT = "huginn-writer"

LOCK_WAIT_SECONDS = 600.0
"""How long a flow that has its turn waits for a writer outside of Prefect, such as `huginn refresh`."""


@contextmanager
def writers_turn() -> Iterator[None]:
    """Wait for the turn to write and hold it. A holder that died gives it up when its lease of five minutes ends."""
    end_with_worker()
    with ExitStack() as held:
        try:
            # Without `strict` a limit that is missing would let everybody pass. A renewal that fails, because the
            # Prefect server is away for a while, must not end hours of work: the file lock still holds.
            held.enter_context(concurrency(WRITER_LIMIT, strict=True, raise_on_lease_renewal_failure=False))
        except ConcurrencySlotAcquisitionError:
            raise Refused(
                WRITER_LIMIT,
                "this concurrency limit cannot be had from the Prefect server",
                next_step="make it with 'python -m deployments.setup' and start the run again",
            ) from None
        yield
