"""A search: check, scrub, embed once, ask once, fuse, fold, cite.

Texts are scrubbed before they leave the process. A part that is away makes the search fail with what to do; it never
makes it answer less. Folding never reorders: the first of equal texts keeps its place.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from urllib.parse import quote

from huginn import scrub
from huginn.embed import Culprit, Identity, Shortened, embed_queries, embedder_of
from huginn.errors import Refused, Unavailable
from huginn.index.opening import label_in_use, open_for_search
from huginn.index.port import Payload, Place, Reader
from huginn.index.remote import HolderGone
from huginn.report import Corpus
from huginn.search.fuse import DEPTH, Candidate, Fused, fuse
from huginn.search.lists import Asked, ranked_lists
from huginn.search.query import Citation, Hit, Mode, Query, Rank, SearchResult
from huginn.settings import Settings

INDEX_WAIT_SECONDS = 5.0
LIMIT_SECONDS = 10.0
_MOST_PLACES = 100
_DEEPEST = DEPTH * 64
_CITED = ["source", "commit", "time", "path", "start_line", "end_line", "text_sha256"]


def search(settings: Settings, query: Query) -> SearchResult:
    """Ask the index of `settings`.

    An index of other rules or another model answers by its own model until the new one is in its place.

    Raises `Refused` (the query, or a model that is gone), `Unavailable` (embedder, index, disk, or the time limit of
    10 s) and `Busy` (another process holds the embedded index for more than 5 s).
    """
    began = time.monotonic()
    scrub.prepare(settings.state / "cache")
    clean = {text: scrub.scrub_question(text).clean for text in query.asked().values()}
    asked, identity = _embedded(settings, list(clean.values()), query.mode)
    try:
        hits = _found(settings, query, asked, identity, deadline=began + LIMIT_SECONDS)
    except HolderGone:  # a refresh has just ended, and its index is free
        hits = _found(settings, query, asked, identity, deadline=began + LIMIT_SECONDS)
    shown = query.model_copy(update={"texts": tuple(str(clean[text.strip()]) for text in query.texts)})
    return SearchResult(query=shown, hits=hits, took_ms=round((time.monotonic() - began) * 1000, 1))


def _found(
    settings: Settings, query: Query, asked: list[Asked], identity: Identity | None, *, deadline: float
) -> list[Hit]:
    """The hits, by the index that is in use now."""
    index = open_for_search(settings, wait=INDEX_WAIT_SECONDS)
    try:
        if identity is not None and identity != index.label.identity:
            raise Unavailable("index", "it has just been put in place of another", next_step="ask again")
        _require_known(settings, index, query)
        hits = _hits(settings, index, query, list(query.asked()), asked, deadline)
        if index.label.scrub != scrub.fingerprint():
            hits = [hit.model_copy(update={"text": str(scrub.scrub(hit.text).clean)}) for hit in hits]
    finally:
        index.close()
    return hits


def _require_known(settings: Settings, index: Reader, query: Query) -> None:
    """A name that nobody knows is a slip of the pen, and would answer nothing without a word."""
    known = {repository.name for repository in settings.forge.repos} | index.sources("forge").keys()
    unknown = sorted(set(query.repos or ()) - known)
    if unknown:
        names = ", ".join(sorted(known)) or "none"
        raise Refused("repos", f"there is no repository {unknown[0]!r}", next_step=f"there are: {names}")


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


def _hits(
    settings: Settings, index: Reader, query: Query, numbers: list[int], asked: list[Asked], deadline: float
) -> list[Hit]:
    """The page. If equal texts fill the lists, they are asked for deeper, and what is new comes after."""
    page: dict[str, tuple[Fused, Payload, list[Rank]]] = {}
    seen: set[str] = set()
    depth = DEPTH
    while True:
        lists = ranked_lists(index, asked, _places(query), query.mode, depth)
        by_id = [{candidate.id: candidate for candidate in candidates} for candidates in lists]
        fused = [hit for hit in fuse([list(candidates) for candidates in by_id]) if hit.id not in seen]
        payloads = index.fetch([hit.id for hit in fused])
        for hit in fused:
            seen.add(hit.id)
            payload = payloads.get(hit.id)
            if payload is None:
                continue  # removed by a refresh since the lists were made
            key = str(payload["text_sha256"]) if query.fold else hit.id
            if key not in page and len(page) < query.top_k:
                page[key] = (hit, payload, _ranks(hit, by_id, numbers))
        if time.monotonic() > deadline:
            raise Unavailable("index", f"no answer within {LIMIT_SECONDS:g} s", next_step="try again")
        is_full = any(len(candidates) >= depth for candidates in lists)
        if not query.fold or len(page) >= query.top_k or not is_full or depth >= _DEEPEST:
            break
        depth *= 4
    copies = _copies(settings, index, query, list(page)) if query.fold else {}
    return [_hit(settings, *found, copies.get(key, [])) for key, found in page.items()]


def _places(query: Query) -> dict[Corpus, Place]:
    corpora: Sequence[Corpus] = query.corpora or ("forge",)
    return {corpus: Place(corpus=corpus, sources=query.repos, within=query.paths) for corpus in corpora}


def _ranks(hit: Fused, by_id: list[dict[str, Candidate]], numbers: list[int]) -> list[Rank]:
    ranks = []
    for number, rank in sorted(hit.ranks.items()):
        candidate = by_id[number][hit.id]
        ranks.append(Rank(text=numbers[number], rank=rank, bm25=candidate.bm25, cosine=candidate.cosine))
    return ranks


def _copies(settings: Settings, index: Reader, query: Query, texts: Sequence[str]) -> dict[str, list[Citation]]:
    """All places, within the query's filters, where the texts of the page stand."""
    places: dict[str, list[Citation]] = {}
    for place in _places(query).values():
        where = Place(corpus=place.corpus, sources=place.sources, within=place.within, text_sha256=texts)
        for point in index.stored(where, _CITED):
            places.setdefault(str(point.payload["text_sha256"]), []).append(_citation(settings, point.payload))
    return places


def _hit(settings: Settings, hit: Fused, payload: Payload, ranks: list[Rank], copies: list[Citation]) -> Hit:
    citation = _citation(settings, payload)
    others = sorted(
        (copy for copy in copies if copy != citation), key=lambda copy: (copy.repo, copy.path, copy.start_line)
    )
    return Hit(
        id=hit.id,
        score=hit.score,
        ranks=ranks,
        corpus="forge",
        text=str(payload["text"]),
        citation=citation,
        places=[citation, *others][:_MOST_PLACES],
        copies=1 + len(others),
    )


def _citation(settings: Settings, payload: Payload) -> Citation:
    citation = Citation.model_validate(
        {
            "repo": payload["source"],
            **{name: payload[name] for name in ("commit", "time", "path", "start_line", "end_line")},
        }
    )
    return citation.model_copy(update={"url": _url(settings, citation)})


def _url(settings: Settings, citation: Citation) -> str | None:
    web = next((repository.web for repository in settings.forge.repos if repository.name == citation.repo), None)
    if web is None or citation.path.startswith('"'):  # a quoted path stands for bytes that no address can name
        return None
    return web.format(
        repo=quote(citation.repo),
        commit=citation.commit,
        path=quote(citation.path),
        start=citation.start_line,
        end=citation.end_line,
    )
