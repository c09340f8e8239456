"""The section `[embedder]` of the settings: which model makes vectors, and where it runs.

In: the section's values. Out: frozen settings, or what is wrong with them. An address is never repeated in a message:
it could hold a password.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from huginn.section import Section, http_parts


def _checked_url(url: str) -> str:
    parts = http_parts(url)
    if parts is None or not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError("give the address of a host, such as http://gpu-1:11434")
    if "@" in parts.netloc:
        raise ValueError("an address must not hold a user or a password")
    if parts.query or parts.fragment:
        raise ValueError("give an address without ? and #")
    return url.rstrip("/")


HostUrl = Annotated[str, AfterValidator(_checked_url)]


class EmbedderSettings(Section):
    """What makes vectors of texts. All but `kind` belongs to the kind `ollama`."""

    kind: Literal["wordllama", "ollama"] = "wordllama"
    model: str | None = Field(None, min_length=1, max_length=200, pattern=r"^[\w./:-]+$")
    urls: tuple[HostUrl, ...] = ()
    reserve_urls: tuple[HostUrl, ...] = ()
    query_instruction: str | None = Field(None, min_length=1, max_length=500)
    timeout_seconds: float = Field(120, gt=0, le=86_400, allow_inf_nan=False)
    query_timeout_seconds: float = Field(8, gt=0, le=86_400, allow_inf_nan=False)
    retry_seconds: float = Field(1, gt=0, le=86_400, allow_inf_nan=False)

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        given = [name for name in ("model", "urls", "reserve_urls", "query_instruction") if getattr(self, name)]
        if self.kind == "wordllama" and given:
            raise ValueError(f'{given[0]}: belongs to kind = "ollama"')
        if self.kind == "ollama" and not self.model:
            raise ValueError('model: name one that the hosts have, such as "qwen3-embedding:0.6b"')
        if self.kind == "ollama" and not self.urls:
            raise ValueError('urls: give at least one host, such as ["http://gpu-1:11434"]')
        everyone = [*self.urls, *self.reserve_urls]
        if len(set(everyone)) < len(everyone):
            raise ValueError("urls: a host is named twice, here or in reserve_urls")
        return self
