"""What makes vectors of texts: the port, its checks, and the adapters. Owns model identity and validity of vectors."""

from __future__ import annotations

from huginn.embed.checked import check_answer, embed_all, embed_queries
from huginn.embed.port import BatchFailed, Culprit, Embedder, Identity, Shortened, Vector
from huginn.embedder_settings import EmbedderSettings

__all__ = [
    "BatchFailed",
    "Culprit",
    "Embedder",
    "Identity",
    "Shortened",
    "Vector",
    "check_answer",
    "embed_all",
    "embed_queries",
    "open_embedder",
]


def open_embedder(settings: EmbedderSettings, *, for_search: bool = False) -> Embedder:
    """The embedder that the settings name. The model itself is loaded, or its hosts are asked, at the first use."""
    if settings.kind == "ollama":
        from huginn.embed.opening import open_fleet  # noqa: PLC0415 - each adapter is loaded only when named

        return open_fleet(settings, for_search=for_search)
    from huginn.embed.wordllama import WordLlamaEmbedder  # noqa: PLC0415 - as above

    return WordLlamaEmbedder()
