"""A search: check, scrub, embed once, ask once, fuse, fold, cite.

Texts are scrubbed before they leave the process. A part that is away makes the search fail with what to do; it never
makes it answer less. Folding never reorders: the first of equal texts keeps its place.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from huginn import scrub
from huginn.embed import Culprit, Identity, Shortened, embed_queries, embedder_of
from huginn.errors import Refused, Unavailable
from huginn.index.opening import NoIndex, label_in_use, open_for_search
from huginn.index.payload import told
from huginn.index.port import Payload, Place, Reader
from huginn.index.remote import HolderGone
from huginn.report import Corpus
from huginn.search import chat_hits, forge_hits
from huginn.search.deadline import Deadline
from huginn.search.fuse import DEPTH, Candidate, Fused, fuse
from huginn.search.lists import Asked, ranked_lists
from huginn.search.masking import Mask, mask_of
from huginn.search.places import places_of
from huginn.search.query import Mode, Query
from huginn.search.result import Citation, Hit, Rank, SearchResult
from huginn.settings import Settings

INDEX_WAIT_SECONDS = 5.0
LIMIT_SECONDS = 10.0
_MOST_PLACES = 100
_DEEPEST = DEPTH * 64


def search(settings: Settings, query: Query) -> SearchResult:
    """Ask the index of `settings`.

    An index of other rules or another model answers by its own model until the new one is in its place. Where rooms
    alone are asked and nothing has been indexed yet, there are no hits.

    Raises `Refused` (the query, or a model that is gone), `Unavailable` (embedder, index, disk, or the time limit of
    10 s) and `Busy` (another process holds the embedded index for more than 5 s).
    """
    began, deadline = time.monotonic(), Deadline.after(LIMIT_SECONDS)
    scrub.prepare(settings.state / "cache")
    clean = {text: scrub.scrub_question(text).clean for text in query.asked().values()}
    try:
        hits = _answer(settings, query, list(clean.values()), deadline)
    except NoIndex:
        if query.searched() != ("chat",):
            raise
        hits = []
    shown = query.model_copy(update={"texts": tuple(str(clean[text.strip()]) for text in query.texts)})
    return SearchResult(query=shown, hits=hits, took_ms=round((time.monotonic() - began) * 1000, 1))


def _answer(settings: Settings, query: Query, texts: Sequence[scrub.Clean], deadline: Deadline) -> list[Hit]:
    asked, identity = _embedded(settings, texts, query.mode)
    try:
        return _found(settings, query, asked, identity, deadline)
    except HolderGone:  # a refresh has just ended, and its index is free
        return _found(settings, query, asked, identity, deadline)


def _found(
    settings: Settings, query: Query, asked: list[Asked], identity: Identity | None, deadline: Deadline
) -> list[Hit]:
    """The hits, by the index that is in use now."""
    index = open_for_search(settings, wait=INDEX_WAIT_SECONDS)
    try:
        if identity is not None and identity != index.label.identity:
            raise Unavailable("index", "it has just been put in place of another", next_step="ask again")
        return _Answering(settings, query, index, mask_of(index), places_of(query, index, settings), deadline).hits(
            asked
        )
    finally:
        index.close()


def _embedded(settings: Settings, texts: Sequence[scrub.Clean], mode: Mode) -> tuple[list[Asked], Identity | None]:
    """The texts with their vectors, made by the model that the index in use was made with."""
    if mode is Mode.WORDS:
        return [Asked(text, None) for text in texts], None
    label = label_in_use(settings)
    embedder = embedder_of(settings.embedder, label.identity)
    if embedder is None:
        raise Refused(
            "mode",
            f"the index was made with {label.model} ({label.digest[:19]}), which is not to be had any more",
            next_step="ask with --mode words, or wait until 'huginn refresh' has built the index anew",
        )
    asked = []
    for text, vector in zip(texts, embed_queries(embedder, texts), strict=True):
        if isinstance(vector, Culprit):
            raise Refused("texts", f"the embedder refuses one of them ({vector.reason})", next_step="try --mode words")
        if isinstance(vector, Shortened):
            raise Refused("texts", "one of them is too long for the embedder", next_step="ask in fewer words")
        asked.append(Asked(text, vector))
    return asked, embedder.identity


@dataclass(frozen=True)
class _Found:
    """A point of the page: its place in the fused order, its payload, and who ranked it how."""

    fused: Fused
    payload: Payload
    ranks: list[Rank]


@dataclass(frozen=True)
class _Answering:
    """One query at an open index."""

    settings: Settings
    query: Query
    index: Reader
    mask: Mask
    places: Mapping[Corpus, Place]
    deadline: Deadline

    def hits(self, asked: Sequence[Asked]) -> list[Hit]:
        """The page, with its copies and context."""
        page = self._page(asked)
        copies = self._copies(list(page)) if self.query.fold else {}
        hits = [self._hit(found, copies.get(key, [])) for key, found in page.items()]
        self.deadline.require()
        return hits

    def _page(self, asked: Sequence[Asked]) -> dict[str, _Found]:
        """The page, best first. If equal texts fill the lists they are asked for deeper; what is new comes after."""
        query, numbers = self.query, list(self.query.asked())
        page: dict[str, _Found] = {}
        seen: set[str] = set()
        depth = DEPTH
        while True:
            lists = ranked_lists(self.index, asked, self.places, query.mode, depth)
            by_id = [{candidate.id: candidate for candidate in candidates} for candidates in lists]
            fused = [hit for hit in fuse([list(candidates) for candidates in by_id]) if hit.id not in seen]
            payloads = self.index.fetch([hit.id for hit in fused])
            for hit in fused:
                seen.add(hit.id)
                payload = payloads.get(hit.id)
                if payload is None or not self._is_shown(payload):
                    continue  # removed by a refresh since the lists were made, or a window with nothing inside the time
                key = str(payload["text_sha256"]) if query.fold else hit.id
                if key not in page and len(page) < query.top_k:
                    page[key] = _Found(hit, payload, _ranks(hit, by_id, numbers))
            self.deadline.require()
            is_full = any(len(candidates) >= depth for candidates in lists)
            if len(page) >= query.top_k or not is_full or depth >= _DEEPEST:
                return page
            depth *= 4

    def _copies(self, texts: Sequence[str]) -> dict[str, list[Citation]]:
        """All places, within the query's filters, where the texts of the page stand."""
        places: dict[str, list[Citation]] = {}
        for corpus, place in self.places.items():
            cited = chat_hits.CITED if corpus == "chat" else forge_hits.CITED
            for point in self.index.stored(replace(place, text_sha256=texts), ["corpus", *cited]):
                if self._is_shown(point.payload):
                    places.setdefault(str(point.payload["text_sha256"]), []).append(self._citation(point.payload))
        return places

    def _hit(self, found: _Found, copies: Sequence[Citation]) -> Hit:
        payload = found.payload
        citation = self._citation(payload)
        others = sorted((copy for copy in copies if copy != citation), key=_by_place)
        hit = Hit(
            id=found.fused.id,
            score=found.fused.score,
            ranks=found.ranks,
            corpus="forge",
            text=self.mask(str(payload["text"])),
            citation=citation,
            places=[citation, *others][:_MOST_PLACES],
            copies=1 + len(others),
        )
        return self._with_messages(hit, payload) if payload["corpus"] == "chat" else hit

    def _with_messages(self, hit: Hit, payload: Payload) -> Hit:
        messages = chat_hits.masked(chat_hits.shown(payload, self.query), self.mask)
        following = chat_hits.following(payload, self.index, self.query, self.settings, self.mask)
        self.deadline.require()
        return hit.model_copy(
            update={
                "corpus": "chat",
                "text": told(messages),
                "messages": chat_hits.as_answer(messages),
                "following": following,
            }
        )

    def _is_shown(self, payload: Payload) -> bool:
        return payload["corpus"] != "chat" or bool(chat_hits.shown(payload, self.query))

    def _citation(self, payload: Payload) -> Citation:
        if payload["corpus"] == "chat":
            return chat_hits.citation_of(payload, chat_hits.shown(payload, self.query), self.settings)
        return forge_hits.citation_of(payload, self.settings)


def _ranks(hit: Fused, by_id: Sequence[Mapping[str, Candidate]], numbers: Sequence[int]) -> list[Rank]:
    ranks = []
    for number, rank in sorted(hit.ranks.items()):
        candidate = by_id[number][hit.id]
        ranks.append(Rank(text=numbers[number], rank=rank, bm25=candidate.bm25, cosine=candidate.cosine))
    return ranks


def _by_place(citation: Citation) -> tuple[str, str, int]:
    if citation.kind == "chat":
        return citation.room, citation.event_id, 0
    return citation.repo, citation.path, citation.start_line
