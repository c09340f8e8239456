"""The tasks of a backfill and of a rebuild: those of a refresh, by other names. No logic."""

from __future__ import annotations

from huginn.report import Corpus
from tasks.forge import refresh_source

_CORPORA: tuple[Corpus, ...] = ("forge", "chat")

BACKFILL_TASKS = {corpus: refresh_source.with_options(name=f"{corpus}-backfill-source") for corpus in _CORPORA}
"""Compare one source with the whole of what upstream says, in the run that the flow has opened."""

REBUILD_TASKS = {corpus: refresh_source.with_options(name=f"{corpus}-rebuild-source") for corpus in _CORPORA}
"""Take in one source whose points have gone, in the run that the flow has opened."""
