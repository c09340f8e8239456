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
    `compare_all`: no cursor counts, each source is compared as a whole; a text that the embedder has refused is tried
    again. `start_over`: the points of the sources that are named go first; `emptied` are those, with how many went.
    `progress` is told where the count of a source can be read. `purged` is what the purge record says.
    """

    index: Index
    embedder: Embedder
    checkpoints: Checkpoints
    ledger: Ledger
    points: Mapping[str, int]
    carry: Index | None = None
    others: Callable[[], Iterable[Index]] = tuple
    compare_all: bool = False
    start_over: bool = False
    opened: set[str] = field(default_factory=set)
    emptied: dict[str, int] = field(default_factory=dict)
    progress: Progress = field(default_factory=Progress)
    purged: Purged = field(default_factory=Purged)
