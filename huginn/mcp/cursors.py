"""Cursors of tools: what has been shown already of the answer to a question, and to which question.

A search has no state between its pages: the next one asks deeper, and leaves out what was shown. So no hit comes twice,
also when a refresh has moved ranks in between.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence

from pydantic import BaseModel

from huginn.errors import Refused

_VERSION = 1
_MOST = 10_000  # characters of a cursor


def cursor_of(question: BaseModel, shown: Sequence[str]) -> str:
    """The cursor behind what was shown of this question; `shown` are short names."""
    document = json.dumps([_VERSION, _asked(question), *shown], separators=(",", ":"))
    return base64.urlsafe_b64encode(document.encode()).decode().rstrip("=")


def shown_before(question: BaseModel, cursor: str | None) -> list[str]:
    """What a cursor says was shown. Raises `Refused` for one of another question, or none at all."""
    if cursor is None:
        return []
    match _document(cursor):
        case [1, str(asked), *shown] if all(isinstance(name, str) for name in shown):
            if asked != _asked(question):
                raise Refused(
                    "cursor", "it is of another question", next_step="ask the same again, or begin anew without it"
                )
            return [str(name) for name in shown]
    raise Refused("cursor", "it is none that an answer has given", next_step="begin anew without it")


def short(name: str) -> str:
    """A short name for an id."""
    return base64.urlsafe_b64encode(hashlib.sha256(name.encode()).digest()[:6]).decode()


def _asked(question: BaseModel) -> str:
    """A digest of the question; how many are wanted on a page may change."""
    document = question.model_dump_json(exclude={"cursor", "top_k"})
    return hashlib.sha256(document.encode()).hexdigest()[:16]


def _document(cursor: str) -> object:
    if len(cursor) > _MOST:
        return None
    try:
        return json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (ValueError, RecursionError):  # no base64, no UTF-8, no JSON
        return None
