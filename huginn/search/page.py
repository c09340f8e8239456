"""The page of a query at an open index: lists, fused, folded, with copies and context.

A search through the process that holds the shard is one question to it: it makes the page by this same code, so that
nothing waits for a batch of its writes but the question as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from huginn.index.port import Payload, Place, Reader
from huginn.index.remote import RemoteReader
from huginn.report import Corpus
from huginn.search import chat_hits, exact, forge_hits, neighbours
from huginn.search.deadline import Deadline
from huginn.search.fuse import DEPTH, Candidate, Fused, fuse, fuse_files
from huginn.search.lists import ranked_lists
from huginn.search.names import names_of
from huginn.search.query import By, Mode
from huginn.search.rerank import file_of, reranked
from huginn.search.result import Exact, Rank
from huginn.search.sought import Found, Page, Sought
from huginn.search.windows import joined_windows

LIMIT_SECONDS = 10.0
_DEEPEST = DEPTH * 64


def page_of(index: Reader, sought: Sought, deadline: Deadline) -> Page:
    """The page, best first. Raises `Unavailable` when the deadline is over."""
    if isinstance(index, RemoteReader):
        return Page.from_wire(index.ask({"do": "search", "sought": sought.to_wire()}))
    return _Searching(index, sought, deadline).page()


def answer(index: Reader, sought: Mapping[str, Any]) -> dict[str, Any]:
    """The page for another process, in the one that holds the shard; question and answer as on the wire."""
    return page_of(index, Sought.from_wire(sought), Deadline.after(LIMIT_SECONDS)).to_wire()


@dataclass
class _Searching:
    """One query at an index that is open here."""

    index: Reader
    sought: Sought
    deadline: Deadline
    _payloads: dict[str, Payload] = field(default_factory=dict)
    """Those that were fetched already, of points that were there."""

    def page(self) -> Page:
        """The page, with its copies and context."""
        places = self._places()
        names = names_of(asked.text for asked in self.sought.asked)
        matches = exact.look_up(self.index, names, places)
        for match in matches.values():
            self._payloads |= match.points
        found = list(self._hits(places, matches).values())
        if self.sought.fold:
            found = list(self._with_copies(found))
        found = [self._with_following(hit) for hit in found]
        if self.sought.fold and self._is_by_file():
            found = joined_windows(found)
        self.deadline.require()
        return Page(found, [Exact(name=name, found=match.is_known) for name, match in matches.items()])

    def _hits(self, places: Mapping[Corpus, Place], matches: Mapping[str, exact.Matches]) -> dict[str, Found]:
        """By text, or by id where texts are not folded. If equal texts fill the lists they are asked for deeper; what
        is new comes after.
        """
        sought = self.sought
        page: dict[str, Found] = {}
        seen: set[str] = set()
        depth = DEPTH
        while True:
            lists = ranked_lists(self.index, sought.asked, places, sought.mode, depth)
            is_full = any(len(candidates) >= depth for candidates in lists)
            if self._is_by_file():
                lists, fused = self._fused_by_file(lists, matches)
            else:
                fused = fuse([[candidate.id for candidate in candidates] for candidates in lists])
            by_id = [{candidate.id: candidate for candidate in candidates} for candidates in lists]
            for hit, payload in self._with_payloads([hit for hit in fused if hit.id not in seen]):
                key = self._key(hit.id, payload)
                if hit.id in seen or key in page:
                    continue
                joined = self._side_by_side(hit, payload, seen)
                seen |= joined.keys()
                best = list(joined).index(hit.id)
                page[key] = Found(hit.id, hit.score, _ranks(hit, by_id), list(joined.values()), best, (), None)
                if len(page) == sought.top_k:
                    return page
            seen |= {hit.id for hit in fused}
            if not is_full or depth >= _DEEPEST:
                return page
            depth *= 4

    def _is_by_file(self) -> bool:
        """One text held against one side is the engine's own list."""
        return self.sought.by is By.FILE and (self.sought.mode is Mode.HYBRID or len(self.sought.asked) > 1)

    def _fused_by_file(
        self, lists: Sequence[Sequence[Candidate]], matches: Mapping[str, exact.Matches]
    ) -> tuple[list[list[Candidate]], list[Fused]]:
        """The lists as they are fused, what has been removed since left out, and their fusion."""
        self._fetch({candidate.id for candidates in lists for candidate in candidates})
        there = [[candidate for candidate in candidates if candidate.id in self._payloads] for candidates in lists]
        if self.sought.mode is Mode.HYBRID:
            texts = [str(asked.text) for asked in self.sought.asked]
            there = [
                reranked(candidates, self._payloads, text, matches)
                for candidates, text in zip(there, texts, strict=True)
            ]
        return there, fuse_files(there, {id_: file_of(id_, payload) for id_, payload in self._payloads.items()})

    def _side_by_side(self, hit: Fused, payload: Payload, seen: Collection[str]) -> dict[str, Payload]:
        """The chunks of a file that are shown as one with this one, by id, in order."""
        others = {id_: self._payloads[id_] for id_ in hit.others if id_ not in seen}
        if not self.sought.fold or not others:
            return {hit.id: payload}
        chunks = {hit.id: payload, **others}
        of_file = list(chunks.values())
        if neighbours.may_hide_another(of_file):
            file = Place(corpus="forge", sources=[str(payload["source"])], paths=[str(payload["path"])])
            of_file += [chunk.payload for chunk in self.index.stored(file, ["start_line", "end_line"])]
            self.deadline.require()
        return neighbours.side_by_side(hit.id, chunks, map(neighbours.lines_of, of_file))

    def _key(self, point_id: str, payload: Payload) -> str:
        return str(payload["text_sha256"]) if self.sought.fold else point_id

    def _places(self) -> dict[Corpus, Place]:
        """The places to ask in. A corpus of rooms that holds nothing is not asked."""
        places = dict(self.sought.places)
        if "chat" in places and not self.index.count(Place(corpus="chat")):
            del places["chat"]
        return places

    def _fetch(self, ids: Collection[str]) -> None:
        missing = sorted(set(ids) - self._payloads.keys())
        self._payloads |= self.index.fetch(missing) if missing else {}
        self.deadline.require()

    def _with_payloads(self, fused: Sequence[Fused]) -> Iterator[tuple[Fused, Payload]]:
        """Those that can be shown, piece by piece: most of what is ranked is never looked at.

        Left out is what a refresh has removed since the lists were made, and windows with nothing inside the time.
        """
        start, size = 0, 2 * self.sought.top_k
        while start < len(fused):
            piece = fused[start : start + size]
            self._fetch([hit.id for hit in piece])
            for hit in piece:
                if hit.id in self._payloads and self._is_shown(self._payloads[hit.id]):
                    yield hit, self._payloads[hit.id]
            start, size = start + size, 4 * size

    def _with_copies(self, hits: Sequence[Found]) -> Iterator[Found]:
        """The hits, each with all points, within the query's filters, that hold one of its texts."""
        copies: dict[str, list[Payload]] = {}
        texts = sorted({str(payload["text_sha256"]) for hit in hits for payload in hit.payloads})
        for corpus, place in self.sought.places.items():
            cited = chat_hits.CITED if corpus == "chat" else forge_hits.CITED
            for point in self.index.stored(replace(place, text_sha256=texts), ["corpus", *cited]):
                if self._is_shown(point.payload):
                    copies.setdefault(str(point.payload["text_sha256"]), []).append(point.payload)
        for hit in hits:
            of_hit = dict.fromkeys(str(payload["text_sha256"]) for payload in hit.payloads)
            yield replace(hit, copies=[copy for text in of_hit for copy in copies.get(text, [])])

    def _with_following(self, hit: Found) -> Found:
        self.deadline.require()
        if hit.payload["corpus"] != "chat":
            return hit
        return replace(hit, following=chat_hits.following(hit.payload, self.index))

    def _is_shown(self, payload: Payload) -> bool:
        return payload["corpus"] != "chat" or bool(chat_hits.shown(payload, self.sought))


def _ranks(hit: Fused, by_id: Sequence[Mapping[str, Candidate]]) -> list[Rank]:
    ranks = []
    for number, rank in sorted(hit.ranks.items()):
        candidate = by_id[number].get(hit.id)  # by file, another chunk of it may have its rank
        bm25, cosine = (candidate.bm25, candidate.cosine) if candidate else (None, None)
        ranks.append(Rank(text=number, rank=rank, bm25=bm25, cosine=cosine))
    return ranks
