"""The page of a query at an open index: lists, fused, folded, with copies and context.

A search through the process that holds the shard is one question to it: it makes the page by this same code, so that
nothing waits for a batch of its writes but the question as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from huginn.index.port import Payload, Place, Reader
from huginn.index.remote import RemoteReader
from huginn.report import Corpus
from huginn.search import chat_hits, forge_hits
from huginn.search.deadline import Deadline
from huginn.search.fuse import DEPTH, Candidate, Fused, fuse
from huginn.search.lists import ranked_lists
from huginn.search.result import Rank
from huginn.search.sought import Found, Sought

LIMIT_SECONDS = 10.0
_DEEPEST = DEPTH * 64


def page_of(index: Reader, sought: Sought, deadline: Deadline) -> list[Found]:
    """The page, best first. Raises `Unavailable` when the deadline is over."""
    if isinstance(index, RemoteReader):
        return [Found.from_wire(found) for found in index.ask({"do": "search", "sought": sought.to_wire()})]
    return _Searching(index, sought, deadline).found()


def answer(index: Reader, sought: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The page for another process, in the one that holds the shard; question and answer as on the wire."""
    page = page_of(index, Sought.from_wire(sought), Deadline.after(LIMIT_SECONDS))
    return [found.to_wire() for found in page]


@dataclass(frozen=True)
class _Searching:
    """One query at an index that is open here."""

    index: Reader
    sought: Sought
    deadline: Deadline

    def found(self) -> list[Found]:
        """The page, with its copies and context."""
        page = self._page()
        copies = self._copies(list(page)) if self.sought.fold else {}
        found = [replace(hit, copies=copies.get(key, []), following=self._following(hit)) for key, hit in page.items()]
        self.deadline.require()
        return found

    def _page(self) -> dict[str, Found]:
        """By text, or by id where texts are not folded. If equal texts fill the lists they are asked for deeper; what
        is new comes after.
        """
        sought, places = self.sought, self._places()
        page: dict[str, Found] = {}
        seen: set[str] = set()
        depth = DEPTH
        while True:
            lists = ranked_lists(self.index, sought.asked, places, sought.mode, depth)
            by_id = [{candidate.id: candidate for candidate in candidates} for candidates in lists]
            fused = [hit for hit in fuse([list(candidates) for candidates in by_id]) if hit.id not in seen]
            seen |= {hit.id for hit in fused}
            for hit, payload in self._with_payloads(fused):
                key = str(payload["text_sha256"]) if sought.fold else hit.id
                if key not in page:
                    page[key] = Found(hit.id, hit.score, _ranks(hit, by_id), payload, (), None)
                if len(page) == sought.top_k:
                    return page
            is_full = any(len(candidates) >= depth for candidates in lists)
            if not is_full or depth >= _DEEPEST:
                return page
            depth *= 4

    def _places(self) -> dict[Corpus, Place]:
        """The places to ask in. A corpus of rooms that holds nothing is not asked."""
        places = dict(self.sought.places)
        if "chat" in places and not self.index.count(Place(corpus="chat")):
            del places["chat"]
        return places

    def _with_payloads(self, fused: Sequence[Fused]) -> Iterator[tuple[Fused, Payload]]:
        """Those that can be shown, piece by piece: most of what is ranked is never looked at.

        Left out is what a refresh has removed since the lists were made, and windows with nothing inside the time.
        """
        start, size = 0, 2 * self.sought.top_k
        while start < len(fused):
            piece = fused[start : start + size]
            payloads = self.index.fetch([hit.id for hit in piece])
            self.deadline.require()
            for hit in piece:
                if hit.id in payloads and self._is_shown(payloads[hit.id]):
                    yield hit, payloads[hit.id]
            start, size = start + size, 4 * size

    def _copies(self, texts: Sequence[str]) -> dict[str, list[Payload]]:
        """All points, within the query's filters, that hold the texts of the page."""
        copies: dict[str, list[Payload]] = {}
        for corpus, place in self.sought.places.items():
            cited = chat_hits.CITED if corpus == "chat" else forge_hits.CITED
            for point in self.index.stored(replace(place, text_sha256=texts), ["corpus", *cited]):
                if self._is_shown(point.payload):
                    copies.setdefault(str(point.payload["text_sha256"]), []).append(point.payload)
        return copies

    def _following(self, hit: Found) -> Payload | None:
        self.deadline.require()
        return chat_hits.following(hit.payload, self.index) if hit.payload["corpus"] == "chat" else None

    def _is_shown(self, payload: Payload) -> bool:
        return payload["corpus"] != "chat" or bool(chat_hits.shown(payload, self.sought))


def _ranks(hit: Fused, by_id: Sequence[Mapping[str, Candidate]]) -> list[Rank]:
    ranks = []
    for number, rank in sorted(hit.ranks.items()):
        candidate = by_id[number][hit.id]
        ranks.append(Rank(text=number, rank=rank, bm25=candidate.bm25, cosine=candidate.cosine))
    return ranks
