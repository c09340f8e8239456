"""A search: check, scrub, embed once, ask once, fuse, fold, cite.

Texts are scrubbed before they leave the process. A part that is away makes the search fail with what to do; it never
makes it answer less. Folding never reorders: the first of equal texts keeps its place.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from huginn import scrub
from huginn.embed import Culprit, Identity, Shortened, embed_queries
from huginn.errors import Refused, Unavailable
from huginn.index.opening import NoIndex
from huginn.index.payload import told
from huginn.index.port import Reader
from huginn.search import chat_hits, forge_hits, neighbours
from huginn.search.access import Access
from huginn.search.around import around
from huginn.search.brief import texts_of
from huginn.search.deadline import Deadline
from huginn.search.masking import Mask, mask_of
from huginn.search.names import names_of
from huginn.search.page import LIMIT_SECONDS, page_of
from huginn.search.places import places_of
from huginn.search.query import MOST_TEXTS, Mode, Query
from huginn.search.result import Citation, Exact, Hit, SearchResult
from huginn.search.sought import Asked, Found, Sought
from huginn.settings import Settings

_MOST_PLACES = 100


def search(settings: Settings, query: Query) -> SearchResult:
    """Ask the index of `settings`.

    An index of other rules or another model answers by its own model until the new one is in its place. Where rooms
    alone are asked and nothing has been indexed yet, there are no hits.

    Raises `Refused` (the query, or a model that is gone), `Unavailable` (embedder, index, disk, or the time limit of
    10 s) and `Busy` (another process holds the embedded index for more than 5 s).
    """
    return answer(Access(settings), query)


def answer(access: Access, query: Query) -> SearchResult:
    """The same, with an index and an embedder that may be open already."""
    began, deadline = time.monotonic(), Deadline.after(LIMIT_SECONDS)
    scrub.prepare(access.settings.state / "cache")
    clean = {text: scrub.scrub_question(text).clean for text in query.asked().values()}
    brief = None if query.brief is None else scrub.scrub_question(query.brief).clean
    parts = [] if brief is None else texts_of(brief, MOST_TEXTS - len(clean))
    texts = {number: clean[text] for number, text in query.asked().items()}
    texts |= {len(query.texts) + number: part for number, part in enumerate(parts) if part not in clean.values()}
    try:
        hits, exact = _answer(access, query, texts, deadline)
    except NoIndex:
        if query.searched() != ("chat",):
            raise
        hits, exact = [], [Exact(name=str(name), found=False) for name in names_of(texts.values())]
    told = {"texts": tuple(str(clean[text.strip()]) for text in query.texts), "brief": brief and str(brief)}
    return SearchResult(
        query=query.model_copy(update=told),
        parts=[str(part) for part in parts],
        hits=hits,
        exact=exact,
        took_ms=round((time.monotonic() - began) * 1000, 1),
    )


class _Replaced(Unavailable):
    """Another index has been put into use since the texts were embedded, made with another model."""

    def __init__(self) -> None:
        super().__init__("index", "it has just been put in place of another", next_step="ask again")


def _answer(
    access: Access, query: Query, texts: Mapping[int, scrub.Clean], deadline: Deadline
) -> tuple[list[Hit], list[Exact]]:
    """The hits for the texts, which are numbered, and what is there of the names in them."""

    def ask() -> tuple[list[Hit], list[Exact]]:
        embedded, identity = _embedded(access, list(texts.values()), query.mode)
        asked = dict(zip(texts, embedded, strict=True))
        return access.ask(lambda index: _found(index, access.settings, query, asked, identity, deadline))

    try:
        return ask()
    except _Replaced:
        return ask()


def _found(
    index: Reader,
    settings: Settings,
    query: Query,
    asked: Mapping[int, Asked],
    identity: Identity | None,
    deadline: Deadline,
) -> tuple[list[Hit], list[Exact]]:
    """The same, by the index that is in use now."""
    if identity is not None and identity != index.label.identity:
        raise _Replaced
    sought = Sought(
        asked=list(asked.values()),
        places=places_of(query, index, settings),
        **{name: getattr(query, name) for name in ("mode", "by", "top_k", "fold", "senders", "after", "before")},
    )
    citing = _Citing(settings, sought, mask_of(index), list(asked))
    page = page_of(index, sought, deadline)
    hits = [citing.hit(found) for found in page.found]
    if query.context:
        beside = [around(index, hit.citation, query, citing.mask, deadline) for hit in hits]
        hits = [hit.model_copy(update={"around": shown}) for hit, shown in zip(hits, beside, strict=True)]
    return hits, list(page.exact)


def _embedded(access: Access, texts: Sequence[scrub.Clean], mode: Mode) -> tuple[list[Asked], Identity | None]:
    """The texts with their vectors, made by the model that the index in use was made with."""
    if mode is Mode.WORDS:
        return [Asked(text, None) for text in texts], None
    label = access.label()
    embedder = access.embedder(label.identity)
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
        shown = self._conversation(found) if found.payload["corpus"] == "chat" else self._chunks(found)
        citation = shown["citation"]
        others = sorted((place for place in shown.pop("copies") if place != citation), key=_by_place)
        return Hit(
            id=found.id,
            score=found.score,
            ranks=[rank.model_copy(update={"text": self.numbers[rank.text]}) for rank in found.ranks],
            places=[citation, *others][:_MOST_PLACES],
            copies=1 + len(others),
            **shown,
        )

    def _chunks(self, found: Found) -> dict[str, Any]:
        """What is shown of chunks side by side, and of one."""
        cited, *copies = (
            forge_hits.citation_of(payload, self.settings)
            for payload in (
                neighbours.spanning(found.payloads),
                *neighbours.places_of(found.payloads, found.best, found.copies),
            )
        )
        text = self.mask(neighbours.text_of(found.payloads))
        return {"corpus": "forge", "citation": cited, "copies": copies, "text": text}

    def _conversation(self, found: Found) -> dict[str, Any]:
        """What is shown of windows one after the other, and of one."""
        messages = [message for payload in found.payloads for message in chat_hits.shown(payload, self.sought)]
        masked = chat_hits.masked(messages, self.mask)
        copies = [(copy, chat_hits.shown(copy, self.sought)) for copy in found.copies] if len(found.copies) > 1 else []
        following = found.following and chat_hits.as_context(found.following, self.sought, self.settings, self.mask)
        return {
            "corpus": "chat",
            "citation": chat_hits.citation_of(found.payload, messages, self.settings),
            "copies": [chat_hits.citation_of(copy, of_copy, self.settings) for copy, of_copy in copies],
            "text": told(masked),
            "messages": chat_hits.as_answer(masked),
            "following": following,
            "matched": chat_hits.matched(messages, [str(asked.text) for asked in self.sought.asked]),
        }


def _by_place(citation: Citation) -> tuple[str, str, int]:
    if citation.kind == "chat":
        return citation.room, citation.event_id, 0
    return citation.repo, citation.path, citation.start_line
