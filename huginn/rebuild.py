"""Building an index anew beside the one in use: what it will take, when it is complete, and the switch.

The old index goes on answering. The new one is complete when everything that the old one holds has been taken in whole;
each flow fills its own corpus, and the switch waits for all of them.
"""

from __future__ import annotations

from typing import get_args

from huginn.checkpoints import Checkpoints
from huginn.index.opening import Opened
from huginn.index.port import Place
from huginn.report import Corpus, Rebuild

_OTHER_VECTORS = "the model gives other vectors than before, under the same digest"


def outlook(opened: Opened) -> Rebuild | None:
    """What is about to be built, and from how much; None if nothing is."""
    old = opened.replaces
    if old is None:
        return None
    return Rebuild(
        differences=old.label.differences(opened.collection.label) or [_OTHER_VECTORS],
        points=opened.other(old).count(Place()),
        carried=opened.with_vectors_of(opened.collection.label.identity) is not None,
    )


def settle(opened: Opened, checkpoints: Checkpoints) -> Rebuild | None:
    """Put the new index into use if it is complete, and tell how far it is."""
    before = outlook(opened)
    if before is None or opened.replaces is None:
        return None
    old, new = opened.other(opened.replaces), opened.target
    counts: dict[str, tuple[int, int]] = {}
    waiting: list[str] = []
    for corpus in get_args(Corpus):
        ledger, there = checkpoints.ledger(new.id, corpus), new.sources(corpus)
        for source, points in old.sources(corpus).items():
            counts[source] = (points, there.get(source, 0))
            cursor = ledger.cursor(source)
            if cursor.position is None or cursor.is_open or cursor.points != there.get(source, 0):
                waiting.append(source)
    if not waiting:
        opened.switch()
    return before.model_copy(update={"switched": not waiting, "waiting": sorted(waiting), "counts": counts})
