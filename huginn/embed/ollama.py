"""One Ollama host, over the `ollama` client: who its model is, and vectors of texts.

In: `Clean` texts and a time limit. Out: vectors, or one of the errors that tell the fleet what to do next: `HostBusy`
(wait), `HostAway` (ask another), `BatchFailed` (a text may be why). It is the status code that decides, never the
wording. Nothing is cut silently (`truncate` is off), redirects are not followed, and a server's words are repeated
only without secrets and without the texts that were sent.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any, TypeVar
from urllib.parse import urlsplit

import numpy as np

from huginn.embed.checked import probe_text
from huginn.embed.host import Facts, HostAway, HostBusy, ModelMissing
from huginn.embed.port import BatchFailed, Identity, Vector
from huginn.errors import Refused
from huginn.scrub import Clean, scrub

try:
    import httpx
    import ollama
except ImportError:
    raise Refused(
        "embedder.kind", "the client for Ollama is not installed", next_step="run: pip install 'huginn[ollama]'"
    ) from None

_CONNECT_SECONDS = 5.0
_LOOK_SECONDS = 10.0
_REASON_LENGTH = 160
_QUOTED = 16  # so many characters in a row of a text that was sent are a quotation

Result = TypeVar("Result")


@cache
def _tls() -> ssl.SSLContext:
    """Made once: it reads all certificates of the system."""
    return httpx.create_ssl_context()


def full_name(model: str) -> str:
    """The name of a model with its tag: without one `latest` is meant."""
    return model if ":" in model.rpartition("/")[2] else f"{model}:latest"


class OllamaHost:
    """See `huginn.embed.host.Host`."""

    def __init__(self, url: str, model: str, *, timeout_seconds: float, query_timeout_seconds: float) -> None:
        parts = urlsplit(url)
        self.name = parts.netloc + parts.path.rstrip("/")
        self._model = full_name(model)
        self._url = url
        self._seconds = {False: timeout_seconds, True: query_timeout_seconds}
        look = min(_LOOK_SECONDS, query_timeout_seconds)
        self._look_timeout = httpx.Timeout(look, connect=min(look, _CONNECT_SECONDS))

    def look(self) -> Facts:
        """Who its model is. Raises `HostAway`, `ModelMissing`."""
        digest = self.digest()
        shown = _asked(lambda: self._looking.show(self._model))
        details = dict(shown.modelinfo or {})
        context = _number(details, "context_length")
        chosen = re.search(r"^num_ctx\s+(\d+)\s*$", shown.parameters or "", re.MULTILINE)
        if chosen:
            context = min(int(chosen[1]), context or int(chosen[1]))
        dimensions = _number(details, "embedding_length")
        if dimensions is None:
            dimensions = len(self._probed())
        return Facts(Identity(self._model, digest, dimensions), context, self.version())

    def digest(self) -> str:
        """The digest of the model behind the name, as it is now. Raises `HostAway`, `ModelMissing`."""
        for model in _asked(self._looking.list).models:
            if model.model == self._model and model.digest:
                return model.digest
        raise ModelMissing(f"has no model {self._model}", for_long=True)

    def version(self) -> str:
        """The version of the server, as it tells it; no reason to fail if it does not."""
        with httpx.Client(timeout=self._look_timeout, follow_redirects=False, verify=_tls()) as client:
            try:
                answer = client.get(f"{self._url.rstrip('/')}/api/version").raise_for_status().json()
            except (httpx.HTTPError, OSError, ValueError):
                return "unknown"
        version = answer.get("version") if isinstance(answer, dict) else None
        return _printable(str(version)) if version else "unknown"

    def embed(self, texts: Sequence[Clean], *, is_query: bool = False) -> list[Vector]:
        """One vector for each text. Raises `HostBusy`, `HostAway`, `BatchFailed`."""
        client = self._querying if is_query else self._embedding
        try:
            answer = client.embed(model=self._model, input=[str(text) for text in texts], truncate=False)
            return [np.asarray(vector, dtype=np.float32) for vector in answer.embeddings]
        except ollama.ResponseError as error:
            raise _from_status(error, texts) from None
        except (httpx.HTTPError, OSError) as error:
            raise _from_network(error) from None
        except (ValueError, TypeError):  # no JSON, or not of the shape that an answer has
            raise BatchFailed("an answer came back that is none") from None

    def _probed(self) -> Vector:
        try:
            return self.embed([probe_text()])[0]
        except (BatchFailed, HostBusy, IndexError):
            raise HostAway("does not tell how many dimensions its model has") from None

    @cached_property
    def _looking(self) -> ollama.Client:
        return ollama.Client(self._url, timeout=self._look_timeout, follow_redirects=False, verify=_tls())

    @cached_property
    def _embedding(self) -> ollama.Client:
        return self._client(is_query=False)

    @cached_property
    def _querying(self) -> ollama.Client:
        return self._client(is_query=True)

    def _client(self, *, is_query: bool) -> ollama.Client:
        seconds = self._seconds[is_query]
        timeout = httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
        return ollama.Client(self._url, timeout=timeout, follow_redirects=False, verify=_tls())


def _asked(call: Callable[[], Result]) -> Result:
    """The answer to a question about a host, or `HostAway`."""
    try:
        return call()
    except ollama.ResponseError as error:
        status = error.status_code
    except (httpx.HTTPError, OSError) as error:
        raise _from_network(error) from None
    except (ValueError, TypeError):
        raise HostAway("does not answer as an Ollama server does") from None
    raise HostAway(f"answers with HTTP {status}")


def _from_network(error: Exception) -> HostAway:
    if isinstance(error, httpx.TimeoutException):
        return HostAway("does not answer in time", for_long=not isinstance(error, httpx.ConnectTimeout))
    if isinstance(error, (ConnectionError, httpx.ConnectError)):
        return HostAway("cannot be reached")
    return HostAway("breaks off the connection")


def _from_status(error: ollama.ResponseError, texts: Sequence[Clean]) -> Exception:
    """What a status code asks for. Only 500 and refusals of the request can have a text for their cause."""
    status = error.status_code
    if status in (429, 503):
        return HostBusy()
    if status == 404:
        return ModelMissing("has no such model any more", for_long=True)
    if status in (400, 413, 422, 500):
        return BatchFailed(_reason(error, texts), may_pass=status == 500, is_rejected=status != 500)
    return HostAway(f"answers with HTTP {status}", for_long=300 <= status < 500)


def _reason(error: ollama.ResponseError, texts: Sequence[Clean]) -> str:
    """The server's words, cleaned and shortened; only the status if they quote a text that was sent."""
    status = f"HTTP {error.status_code}"
    said = _printable(str(error.error))
    for text in texts:
        width = min(_QUOTED, len(text))
        line = " ".join(text.split())
        if any(said[at : at + width] in line for at in range(max(len(said) - width + 1, 1))):
            return status
    return f"{said} ({status})" if said else status


def _printable(said: str) -> str:
    """A server's words on one line: no secrets, no control characters, cut short."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in scrub(said).clean).split())
    return line if len(line) <= _REASON_LENGTH else f"{line[:_REASON_LENGTH]}…"


def _number(details: dict[str, Any], name: str) -> int | None:
    """The value of `<architecture>.<name>`, the one of the main model if there are several parts."""
    architecture = details.get("general.architecture")
    keys = [f"{architecture}.{name}", *(key for key in details if key.endswith(f".{name}"))]
    return next((int(details[key]) for key in keys if isinstance(details.get(key), int) and details[key] > 0), None)
