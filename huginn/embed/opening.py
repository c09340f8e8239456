"""From the settings to a fleet of Ollama hosts."""

from __future__ import annotations

from huginn.embed.fleet import Fleet, Limits
from huginn.embed.ollama import OllamaHost, full_name
from huginn.embedder_settings import EmbedderSettings


def open_fleet(settings: EmbedderSettings, *, for_search: bool) -> Fleet:
    """The fleet that the settings name. Nobody is asked yet."""
    limits = Limits(
        timeout_seconds=settings.timeout_seconds,
        query_timeout_seconds=settings.query_timeout_seconds,
        retry_seconds=settings.retry_seconds,
    )
    return Fleet(
        full_name(settings.model or ""),
        hosts_of(settings, settings.urls),
        hosts_of(settings, settings.reserve_urls),
        limits=limits,
        query_instruction=settings.query_instruction,
        for_search=for_search,
    )


def hosts_of(settings: EmbedderSettings, urls: tuple[str, ...]) -> list[OllamaHost]:
    """A host for each address. Of several, one that hangs must leave a query time to ask another."""
    number = len(settings.urls) + len(settings.reserve_urls)
    return [
        OllamaHost(
            url,
            settings.model or "",
            timeout_seconds=settings.timeout_seconds,
            query_timeout_seconds=settings.query_timeout_seconds / min(number, 2),
        )
        for url in urls
    ]
