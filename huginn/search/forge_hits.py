"""Citations of chunks of files."""

from __future__ import annotations

from urllib.parse import quote

from huginn.index.port import Payload
from huginn.search.result import ForgeCitation
from huginn.settings import Settings

CITED = ("source", "commit", "time", "path", "start_line", "end_line", "text_sha256")
"""The fields of a payload that a citation takes."""


def citation_of(payload: Payload, settings: Settings) -> ForgeCitation:
    """Where a chunk stands, with a link if the settings tell how to make one."""
    citation = ForgeCitation.model_validate(
        {
            "repo": payload["source"],
            **{name: payload[name] for name in ("commit", "time", "path", "start_line", "end_line")},
        }
    )
    return citation.model_copy(update={"url": _url(settings, citation)})


def _url(settings: Settings, citation: ForgeCitation) -> str | None:
    named = next((each for each in settings.forge.repos if each.name == citation.repo), None)
    listed = (place.web(citation.repo) for place in settings.forge.discover)
    web = named.web if named else next(filter(None, listed), None)
    if web is None or citation.path.startswith('"'):  # a quoted path stands for bytes that no address can name
        return None
    return web.format(
        repo=quote(citation.repo),
        commit=citation.commit,
        path=quote(citation.path),
        start=citation.start_line,
        end=citation.end_line,
    )
