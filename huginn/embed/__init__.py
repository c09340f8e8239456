"""What makes vectors of texts: the port, its checks, and the adapters. Owns model identity and validity of vectors."""

from __future__ import annotations

from huginn.embed.checked import check_answer, embed_all, embed_queries
from huginn.embed.port import Ahead, Answer, BatchFailed, Culprit, Embedder, Identity, Shortened, Vector
from huginn.embedder_settings import EmbedderSettings
from huginn.errors import Refused

__all__ = [
    "Ahead",
    "Answer",
    "BatchFailed",
    "Culprit",
    "Embedder",
    "Identity",
    "Shortened",
    "Vector",
    "check_answer",
    "embed_all",
    "embed_queries",
    "embedder_of",
    "open_embedder",
]


def open_embedder(settings: EmbedderSettings, *, for_search: bool = False) -> Embedder:
    """The embedder that the settings name. The model itself is loaded, or its hosts are asked, at the first use."""
    if settings.kind == "ollama":
        from huginn.embed.opening import open_fleet  # noqa: PLC0415 - each adapter is loaded only when named

        return open_fleet(settings, for_search=for_search)
    from huginn.embed.wordllama import WordLlamaEmbedder  # noqa: PLC0415 - as above

    return WordLlamaEmbedder()


def embedder_of(settings: EmbedderSettings, identity: Identity) -> Embedder | None:
    """The embedder, for a search, whose vectors these are: of the settings, or the one before it; None if it is gone.

    Hosts are asked only if they can have it. Raises `Unavailable` when they are away.
    """
    candidates = [settings, EmbedderSettings(kind="wordllama")]
    if settings.kind == "ollama":  # another model before it, on the same hosts
        candidates.append(settings.model_copy(update={"model": identity.model, "query_instruction": None}))
    for candidate in candidates:
        embedder = open_embedder(candidate, for_search=True)
        if candidate.kind == "ollama" and embedder.model != identity.model:
            continue
        try:
            if embedder.identity == identity:
                return embedder
        except Refused:  # the hosts have no model of this name
            continue
    return None
