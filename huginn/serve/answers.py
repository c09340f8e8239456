"""Answers as HTTP tells them: documents, errors with their codes."""

from __future__ import annotations

import json
import math
from http import HTTPStatus
from typing import Any, Literal

from pydantic import BaseModel
from starlette.responses import Response

from huginn.errors import Busy, HuginnError, Unavailable, document
from huginn.serve.access import NotAllowed, NotKnown
from huginn.serve.limits import TooMany

_RETRY_AFTER = 5  # seconds, where nobody knows better


class Problem(BaseModel):
    """What is wrong: its kind, the field or part it is about, the reason, and what to do."""

    kind: Literal["refused", "unavailable", "busy"]
    field: str | None = None
    part: str | None = None
    reason: str
    next_step: str


class ErrorDocument(BaseModel):
    """The document of every answer that is none."""

    error: Problem


class JsonDocument(Response):
    """A document in ASCII, which no program that shows it can be led astray by."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The bytes."""
        values = content.model_dump(mode="json") if isinstance(content, BaseModel) else content
        return json.dumps(values).encode("ascii")


def code_of(error: HuginnError) -> HTTPStatus:
    """The status code for an error."""
    match error:
        case NotKnown():
            return HTTPStatus.UNAUTHORIZED
        case NotAllowed():
            return HTTPStatus.FORBIDDEN
        case TooMany():
            return HTTPStatus.TOO_MANY_REQUESTS
        case Unavailable() | Busy():
            return HTTPStatus.SERVICE_UNAVAILABLE
    return HTTPStatus.UNPROCESSABLE_ENTITY


def headers_of(error: HuginnError) -> dict[str, str]:
    """What goes with it: when to come again, how to show who one is."""
    match error:
        case TooMany():
            return {"retry-after": str(max(1, math.ceil(error.retry_after)))}
        case Unavailable() | Busy():
            return {"retry-after": str(_RETRY_AFTER)}
        case NotKnown():
            return {"www-authenticate": 'Bearer realm="huginn"'}
    return {}


def as_json(error: HuginnError) -> JsonDocument:
    """An error for a program: the same document as on the command line."""
    return JsonDocument(document(error), code_of(error), headers_of(error))


ERRORS: dict[int | str, dict[str, Any]] = {
    int(code): {"model": ErrorDocument, "description": words}
    for code, words in (
        (HTTPStatus.BAD_REQUEST, "Not a request to this host, or no document."),
        (HTTPStatus.UNAUTHORIZED, "No token that is known."),
        (HTTPStatus.FORBIDDEN, "The token does not reach the corpus."),
        (HTTPStatus.NOT_FOUND, "No such address."),
        (HTTPStatus.UNPROCESSABLE_ENTITY, "Refused: the question names a field that must be changed."),
        (HTTPStatus.TOO_MANY_REQUESTS, "Asked too often; `Retry-After` says when to come again."),
        (HTTPStatus.SERVICE_UNAVAILABLE, "A part is away or busy; `Retry-After` says when to come again."),
    )
}
