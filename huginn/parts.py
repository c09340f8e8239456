"""What a refresh of one corpus works with, put together once for a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from huginn.checkpoints import Checkpoints, Ledger
from huginn.embed.port import Embedder
from huginn.index.port import Index
from huginn.progress import Progress
from huginn.purges import Purged


@dataclass(frozen=True)
class Parts:
    """What a refresh works with.

    `ledger` and `points` (how many points the index holds of each source) are as the run found them; `opened` are the
    sources that this run has begun to write since: a second try must not trust what was found before the first.
    `carry` is an index with vectors of the same model; `others` are all further ones on disk that hold this corpus.
    `progress` is told where the count of a source can be read. `purged` is what the purge record says.
    """

    index: Index
    embedder: Embedder
    checkpoints: Checkpoints
    ledger: Ledger
    points: Mapping[str, int]
    carry: Index | None = None
    others: Callable[[], Iterable[Index]] = tuple
    opened: set[str] = field(default_factory=set)
    progress: Progress = field(default_factory=Progress)
    purged: Purged = field(default_factory=Purged)
