"""What makes vectors of texts: the port, its checks, and the adapters. Owns model identity and validity of vectors."""

from __future__ import annotations

from huginn.embed.checked import check_answer, embed_all
from huginn.embed.port import BatchFailed, Culprit, Embedder, Identity, Vector
from huginn.settings import EmbedderSettings

__all__ = [
    "BatchFailed",
    "Culprit",
    "Embedder",
    "Identity",
    "Vector",
    "check_answer",
    "embed_all",
    "embedder_of",
    "open_embedder",
]


def open_embedder(settings: EmbedderSettings) -> Embedder:
    """The embedder that the settings name. The model itself is loaded at the first use."""
    from huginn.embed.wordllama import WordLlamaEmbedder  # noqa: PLC0415 - each adapter is loaded only when named

    assert settings.kind == "wordllama"
    return WordLlamaEmbedder()


def embedder_of(settings: EmbedderSettings, identity: Identity) -> Embedder | None:
    """The embedder whose vectors these are: that of the settings, or the one from before it; None if it is gone."""
    for candidate in (settings, EmbedderSettings(kind="wordllama")):
        embedder = open_embedder(candidate)
        if embedder.identity == identity:
            return embedder
    return None
