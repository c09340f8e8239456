"""A search: check, scrub, embed once, ask once, fuse, fold, cite.

Texts are scrubbed before they leave the process. A part that is away makes the search fail with what to do; it never
makes it answer less. Folding never reorders: the first of equal texts keeps its place.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from huginn import scrub
from huginn.embed import Culprit, Identity, Shortened, embed_queries, embedder_of
from huginn.errors import Refused, Unavailable
from huginn.index.opening import NoIndex, label_in_use, open_for_search
from huginn.index.payload import told
from huginn.index.port import Payload
from huginn.index.remote import HolderGone
from huginn.search import chat_hits, forge_hits
from huginn.search.deadline import Deadline
from huginn.search.masking import Mask, mask_of
from huginn.search.page import LIMIT_SECONDS, page_of
from huginn.search.places import places_of
from huginn.search.query import Mode, Query
from huginn.search.result import Citation, Hit, SearchResult
from huginn.search.sought import Asked, Found, Sought
from huginn.settings import Settings

INDEX_WAIT_SECONDS = 5.0
_MOST_PLACES = 100


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
        places = places_of(query, index, settings)
        sought = Sought(asked, places, query.mode, query.top_k, query.fold, query.senders, query.after, query.before)
        citing = _Citing(settings, sought, mask_of(index), list(query.asked()))
        return [citing.hit(found) for found in page_of(index, sought, deadline)]
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
class _Citing:
    """Makes hits of what was found: masked, cited, with links. `numbers` are those of the texts in the query."""

    settings: Settings
    sought: Sought
    mask: Mask
    numbers: Sequence[int]

    def hit(self, found: Found) -> Hit:
        """What is shown of one."""
        payload = found.payload
        citation = self._citation(payload)
        others = sorted((copy for copy in map(self._citation, found.copies) if copy != citation), key=_by_place)
        hit = Hit(
            id=found.id,
            score=found.score,
            ranks=[rank.model_copy(update={"text": self.numbers[rank.text]}) for rank in found.ranks],
            corpus="forge",
            text=self.mask(str(payload["text"])),
            citation=citation,
            places=[citation, *others][:_MOST_PLACES],
            copies=1 + len(others),
        )
        return self._with_messages(hit, found) if payload["corpus"] == "chat" else hit

    def _with_messages(self, hit: Hit, found: Found) -> Hit:
        messages = chat_hits.masked(chat_hits.shown(found.payload, self.sought), self.mask)
        following = found.following and chat_hits.as_context(found.following, self.sought, self.settings, self.mask)
        return hit.model_copy(
            update={
                "corpus": "chat",
                "text": told(messages),
                "messages": chat_hits.as_answer(messages),
                "following": following,
            }
        )

    def _citation(self, payload: Payload) -> Citation:
        if payload["corpus"] == "chat":
            return chat_hits.citation_of(payload, chat_hits.shown(payload, self.sought), self.settings)
        return forge_hits.citation_of(payload, self.settings)


def _by_place(citation: Citation) -> tuple[str, str, int]:
    if citation.kind == "chat":
        return citation.room, citation.event_id, 0
    return citation.repo, citation.path, citation.start_line
