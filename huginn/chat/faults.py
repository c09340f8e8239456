"""What the answer of a homeserver means: what was asked for, a no, or a fault; and the words for it.

In: a status, headers and a body. Out: the body's JSON; or `Rejected` for a 4xx that whoever asks must judge, `MayPass`
for what is worth another try, `Refused` for a token or an address that must be changed, `Unavailable` for the rest. No
message repeats what the server said, save a code of the form `M_…`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from huginn.errors import Refused, Unavailable

LOOK_AT_SERVER = "it is tried again in the next run; look at the homeserver and its log if it stays"
CHECK_ADDRESS = "set chat.homeserver to the address at which clients reach the homeserver"


class Rejected(Exception):
    """The homeserver says no to this question: an HTTP status of 400 to 499 and a code of Matrix."""

    def __init__(self, status: int, code: str) -> None:
        self.status = status
        self.code = code
        super().__init__(f"HTTP {status} {code}")


class Failing(Unavailable):
    """The homeserver is there, and fails at this question: it answers 5xx, not to the end, or not in time."""


class MayPass(Exception):
    """A fault that is worth another try, after `wait` seconds if the server asks for that."""

    def __init__(
        self, reason: str, next_step: str = LOOK_AT_SERVER, *, wait: float = 0.0, is_away: bool = False
    ) -> None:
        self.reason = reason
        self.next_step = next_step
        self.wait = wait
        self.is_away = is_away
        super().__init__(reason)


@dataclass(frozen=True)
class Answer:
    """What came back. `retry_after` is the header of that name, or nothing."""

    status: int
    content_type: str
    retry_after: str
    body: bytes


def judged(answer: Answer, shown: str, token_field: str) -> object:
    """The JSON of an answer. `shown` is the homeserver in messages, `token_field` the setting of the token."""
    status = answer.status
    is_json = answer.content_type == "application/json"
    if status == 200 and is_json:
        return _decoded(answer.body)
    said = _said(answer.body) if is_json else {}
    code = _code(said)
    told = f"HTTP {status} {code}".strip()
    if status == 401:
        next_step = "log its account in anew, and put the new token into that file"
        raise Refused(token_field, f"{shown} does not take the token ({told})", next_step=next_step)
    wait = _wait(answer.retry_after, said)
    if status == 429:
        raise MayPass(f"has too much to do and asks to wait {wait:g} s ({told})", "try again later", wait=wait)
    if status >= 500 or status == 408:
        raise MayPass(f"fails ({told})", wait=wait)
    if status == 200 or code == "M_UNRECOGNIZED" or (status == 404 and not code):
        raise Refused("chat.homeserver", f"{shown} does not answer as a homeserver does", next_step=CHECK_ADDRESS)
    if status >= 400 and code:
        raise Rejected(status, code)
    raise Unavailable("homeserver", f"{shown} answers with {told}", next_step=LOOK_AT_SERVER)


def redirected(shown: str) -> Refused:
    """What an answer means that names another address, where the token must not go."""
    return Refused("chat.homeserver", f"{shown} sends us on to another address", next_step=CHECK_ADDRESS)


def _decoded(body: bytes) -> object:
    try:
        return json.loads(body, parse_int=_integer)
    except (ValueError, RecursionError):  # cut off, for all we know
        raise MayPass("gives an answer that cannot be read") from None


def _said(body: bytes) -> Mapping[str, Any]:
    """What a no says about why."""
    try:
        said = json.loads(body, parse_int=_integer)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _integer(digits: str) -> int | float:
    """Python refuses numbers of thousands of digits, and one event's must not cost the page."""
    return int(digits) if len(digits) < 100 else float(digits)


def _code(said: Mapping[str, Any]) -> str:
    code = said.get("errcode")
    return code if isinstance(code, str) and re.fullmatch(r"M_[A-Z_]{1,60}", code) else ""


def _wait(retry_after: str, said: Mapping[str, Any]) -> float:
    """How long the server asks us to wait, in seconds; a date in Retry-After is not taken."""
    asked = said.get("retry_after_ms")
    if isinstance(asked, int | float) and not isinstance(asked, bool) and asked > 0:
        return asked / 1000
    return float(retry_after) if re.fullmatch(r"[0-9]{1,9}", retry_after) else 0.0
