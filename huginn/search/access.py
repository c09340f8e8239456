"""How a question gets at the index and at the embedder: opened for it alone, and closed again.

`huginn.search.opened` keeps both open between questions. The rest of a search does not know which it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TypeVar

from huginn.embed import Embedder, Identity, embedder_of
from huginn.errors import Unavailable
from huginn.index.label import Label
from huginn.index.opening import label_in_use, open_for_search
from huginn.index.port import Reader
from huginn.index.remote import HolderGone
from huginn.settings import Settings

INDEX_WAIT_SECONDS = 5.0

Answer = TypeVar("Answer")

_TRIES = 5


class Access:
    """The index of these settings, and the embedders of its model."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def label(self) -> Label:
        """The label of the index in use. Raises `NoIndex` when there is none."""
        return label_in_use(self.settings)

    def embedder(self, identity: Identity) -> Embedder | None:
        """The embedder of the model `identity`; None if it is gone. Raises `Unavailable` when it is away."""
        return embedder_of(self.settings.embedder, identity)

    def ask(self, question: Callable[[Reader], Answer]) -> Answer:
        """The answer to a question, which is asked again where the process that holds the shard ends in the middle.

        Raises `NoIndex`, `Unavailable`, and `Busy` when another process holds the embedded index for more than 5 s.
        """
        for _ in range(_TRIES):
            try:
                with self._reader() as reader:
                    return question(reader)
            except HolderGone:  # a refresh has just ended, and its index is free
                continue
        raise Unavailable("index", "its holder has gone again and again", next_step="ask again")

    @contextmanager
    def _reader(self) -> Iterator[Reader]:
        with closing(open_for_search(self.settings, wait=INDEX_WAIT_SECONDS)) as reader:
            yield reader
