"""Carries out plans: embeds what is missing, and writes. The same for every corpus.

In: plans, one after the other, and the writer of one source. Out: a `Tally` of what was done. What must disappear goes
first; then new points come before stale ones go. When the embedder is away or refused, what must disappear and what
nothing takes the place of is removed all the same, and what is only to be replaced stays.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from huginn.checkpoints import Item
from huginn.embed import Ahead, Answer, Culprit, Embedder, Shortened, Vector, embed_all
from huginn.errors import HuginnError, Refused, Unavailable
from huginn.index.port import NewPoint, Writer
from huginn.parts import Parts
from huginn.plan import Plan, WantedPoint
from huginn.report import Drift
from huginn.scrub import Clean

PIECE = 256
"""How many points are written at once."""

AHEAD = 8
"""How many such pieces are on their way. So many times `PIECE` texts at most a run that is killed embeds again."""

_SHORTENED = Item("shortened", "longer than the embedder takes: only the beginning is found by meaning")
_WORDS_ONLY = Item("words_only", "refused by the embedder in an earlier run")


@dataclass
class Tally:
    """What was done with one source, in numbers; `items` are the places about which something is to be told.

    `missing`, `stale` and `foreign`: see `huginn.report.Drift`. `done` tells how far it is: the places whose plans are
    carried out, or the events that were read.
    """

    items: dict[str, Item] = field(default_factory=dict)
    masked: Counter[str] = field(default_factory=Counter)
    chunks: int = 0
    embedded: int = 0
    reused: int = 0
    written: int = 0
    updated: int = 0
    removed: int = 0
    missing: int = 0
    stale: int = 0
    done: int = 0

    @property
    def foreign(self) -> int:
        """How many points were there that nobody wants."""
        return self.removed

    @property
    def told(self) -> dict[str, Any]:
        """The counts of this run, under their names in `huginn.report.SourceReport`."""
        return {
            "chunks": self.chunks,
            "embedded": self.embedded,
            "reused": self.reused,
            "written": self.written,
            "updated": self.updated,
            "removed": self.removed,
            "masked": dict(sorted(self.masked.items())),
            "drift": Drift(missing=self.missing, stale=self.stale, foreign=self.foreign),
        }


def carry_out(plans: Iterable[Plan], writer: Writer, parts: Parts, tally: Tally) -> HuginnError | None:
    """Carry out the plans of one source, and add what was done to `tally`.

    Plans are made ahead of what is written; so no two of them may speak of the same place. Gives the embedder's error
    if it was away or refused: then not all is written, and whoever asked raises it when all else is done. Raises
    `Unavailable` when the index fails.
    """
    with ExitStack() as stack:
        work = _Work(writer, parts, tally, stack)
        for each in plans:
            for piece in each.pieces(PIECE):
                work.begin(piece)
        return work.end()


def rehearse(plans: Iterable[Plan], parts: Parts, tally: Tally) -> None:
    """Add to `tally` what `carry_out` would do: nothing is embedded and nothing written."""
    for each in plans:
        job = _Job(each)
        job.look_up(parts, ())
        tally.removed += len(each.remove_first)
        job.count(tally)


class _Job:
    """One piece of a plan on its way. `missing` are the texts to embed, by digest; `answers` what is known of others.

    `borrowed` are jobs before this one that embed a text which this one needs as well.
    """

    def __init__(self, piece: Plan) -> None:
        self.piece = piece
        self.missing: dict[str, Clean] = {}
        self.answers: dict[str, Answer] = {}
        self.borrowed: dict[str, _Job] = {}
        self.collect: Callable[[], Sequence[Answer]] | None = None

    def look_up(self, parts: Parts, before: Iterable[_Job]) -> None:
        """Find out which texts are to be embedded: those of which neither the index has a vector nor a job before."""
        texts = {point.payload.embedded_sha256: point.embedded for point in self.piece.write}
        self.borrowed = {sha: job for job in before for sha in job.missing.keys() & texts.keys()}
        self.answers.update(_known_vectors(texts.keys() - self.borrowed.keys(), parts))
        known = self.answers.keys() | self.borrowed.keys()
        self.missing = {sha: text for sha, text in texts.items() if sha not in known}

    def embedded(self, embedder: Embedder) -> None:
        """Have the answers for all texts, of this job and of those before, which are done. Raises as `embed_all`."""
        texts = list(self.missing.values())
        answers = self.collect() if self.collect else embed_all(embedder, texts)
        self.answers.update(zip(self.missing, answers, strict=True))
        self.answers.update({sha: job.answers[sha] for sha, job in self.borrowed.items()})

    def count(self, tally: Tally) -> None:
        """Add to `tally` what this job does when it is done."""
        for place in self.piece.words_only:
            tally.items[place] = _WORDS_ONLY
        tally.embedded += len(self.missing)
        tally.reused += sum(point.payload.embedded_sha256 not in self.missing for point in self.piece.write)
        tally.written += len(self.piece.write)
        tally.updated += len(self.piece.update)
        tally.removed += len(self.piece.remove)
        tally.missing += len(self.piece.missing)
        tally.stale += len(self.piece.stale) + len(self.piece.update)
        tally.done += self.piece.covers


class _Work:
    """The jobs of one source: begun in order, done in order, at most `AHEAD` on their way."""

    def __init__(self, writer: Writer, parts: Parts, tally: Tally, stack: ExitStack) -> None:
        self._writer = writer
        self._parts = parts
        self._tally = tally
        self._stack = stack
        self._jobs: deque[_Job] = deque()
        self._ahead: Ahead | None = None
        self._away: HuginnError | None = None

    def begin(self, piece: Plan) -> None:
        """Take on a piece. What must go first goes now; the oldest piece is written when `AHEAD` are on their way."""
        job = _Job(piece)
        self._remove(piece.remove_first)
        if self._away is None:
            job.look_up(self._parts, self._jobs)
        self._jobs.append(job)
        with self._noting_who_is_away():
            self._embed_ahead()
        if len(self._jobs) == AHEAD:
            self._finish(self._jobs.popleft())

    def end(self) -> HuginnError | None:
        """Do what is left; gives the embedder's error."""
        while self._jobs:
            self._finish(self._jobs.popleft())
        return self._away

    def _embed_ahead(self) -> None:
        """Have the texts of all jobs embedded beside other work, once it is worth it."""
        if self._away is not None:
            return
        waiting = [job for job in self._jobs if job.missing and job.collect is None]
        if self._ahead is None and sum(len(job.missing) for job in waiting) >= self._parts.embedder.many:
            self._ahead = self._stack.enter_context(self._parts.embedder.ahead())
        if self._ahead is not None:
            for job in waiting:
                job.collect = self._ahead.submit(list(job.missing.values()))

    def _finish(self, job: _Job) -> None:
        with self._noting_who_is_away():
            if self._away is None:
                job.embedded(self._parts.embedder)
                points = [self._new_point(point, job.answers) for point in job.piece.write]
                self._tell_shortened(job.piece)
        if self._away is None:
            job.count(self._tally)
            self._write(points, job.piece)
        else:
            self._remove(job.piece.vanished)

    @contextmanager
    def _noting_who_is_away(self) -> Iterator[None]:
        try:
            yield
        except (Unavailable, Refused) as error:  # refused: the model behind the name is another one now
            self._away = error

    def _new_point(self, point: WantedPoint, answers: Mapping[str, Answer]) -> NewPoint:
        answer = answers[point.payload.embedded_sha256]
        vector: Vector | None
        if isinstance(answer, Culprit):
            self._tally.items[point.place] = Item("words_only", answer.reason)
            vector = None
        elif isinstance(answer, Shortened):
            self._tally.items.setdefault(point.place, _SHORTENED)
            vector = answer.vector
        else:
            vector = answer
        return NewPoint(point.id, point.payload.model_dump(mode="json"), point.embedded, vector)

    def _tell_shortened(self, piece: Plan) -> None:
        """List the places of which a text is too long for the embedder, also where its vector was there already."""
        for point in (*piece.write, *piece.keep):
            if len(self._parts.embedder.fitted(point.embedded)) < len(point.embedded):
                self._tally.items.setdefault(point.place, _SHORTENED)

    def _write(self, points: list[NewPoint], piece: Plan) -> None:
        unwritten = self._writer.upsert(points)
        unchanged = self._writer.update(piece.update)
        unstored = {**unwritten, **unchanged}
        for point in (*piece.write, *piece.keep):
            if point.id in unstored:
                self._tally.items[point.place] = Item("failed", unstored[point.id])
        self._writer.remove([*piece.remove, *unstored])  # what an id stood for before is no longer so
        self._tally.written -= len(unwritten)
        self._tally.updated -= len(unchanged)

    def _remove(self, ids: Collection[str]) -> None:
        if ids:
            self._writer.remove(ids)
            self._tally.removed += len(ids)


def _known_vectors(embedded_sha256: Collection[str], parts: Parts) -> Mapping[str, Vector]:
    """Vectors of the same embedded texts under the same model: here, or in the index that this one replaces."""
    known = parts.index.vectors(sorted(embedded_sha256)) if embedded_sha256 else {}
    left = sorted(set(embedded_sha256) - known.keys())
    return {**known, **parts.carry.vectors(left)} if parts.carry and left else known
