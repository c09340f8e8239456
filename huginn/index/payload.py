"""The shape of what is stored with a point. No field holds a run, a time of writing or a token.

A payload is a pure function of upstream, settings and rules: two builds of the same state are equal to the letter.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer

PAYLOAD_VERSION = "1"


@lru_cache(maxsize=1024)  # all chunks of a file have the same
def time_text(moment: datetime) -> str:
    """A moment as it is stored: in UTC, with milliseconds where it has any."""
    fraction = f".{moment.microsecond // 1000:03d}" if moment.microsecond else ""
    return f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}Z"


def moment(seconds: int) -> datetime:
    """A time in seconds since 1970 as a moment that can be stored; a clock that lies is held to the years 1 to 9999."""
    first, last = -62135596800, 253402300799
    return datetime.fromtimestamp(0, UTC) + timedelta(seconds=min(max(seconds, first), last))


def moment_of(milliseconds: int) -> datetime:
    """A time in milliseconds since 1970, up to the year 9999, as a moment."""
    return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=milliseconds)


UtcTime = Annotated[
    datetime,
    BeforeValidator(lambda value: datetime.fromisoformat(value) if isinstance(value, str) else value),
    PlainSerializer(time_text),
]


class ForgePayload(BaseModel):
    """A chunk of a file: where it stands, when that file last changed on the branch, and its scrubbed text.

    `commit` is the newest one on the branch's first-parent line that changed `path`, `time` its committer time; lines
    count from 1, both ends included; `names` are the enclosing definitions or headings, outermost first.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    corpus: Literal["forge"] = "forge"
    source: str
    path: str
    start_line: int
    end_line: int
    blob: str
    commit: str
    time: UtcTime
    names: tuple[str, ...]
    language: str | None
    text: str
    text_sha256: str
    embedded_sha256: str


class ChatMessage(BaseModel):
    """A message of a window, or, where it is longer than one, a part of it: who said what, and when."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    event_id: str
    sender: str
    time: UtcTime
    body: str


def told(messages: Iterable[ChatMessage]) -> str:
    """The text of a window: each message behind a line with its time and sender."""
    return "\n".join(f"{time_text(message.time)} {message.sender}\n{message.body}" for message in messages)


class ChatPayload(BaseModel):
    """A window: consecutive messages of a room (`source`, its id), scrubbed, of one UTC day.

    `event_id` and `last_event_id` are those of its first and last message, `time` and `end_time` their times. `part` is
    0 save where one message is cut: joined in order of `part`, the bodies of its windows are the message. `text` is
    what `told` makes of them; what is embedded are the bodies alone.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    corpus: Literal["chat"] = "chat"
    source: str
    alias: str | None
    event_id: str
    last_event_id: str
    part: int
    time: UtcTime
    end_time: UtcTime
    messages: tuple[ChatMessage, ...]
    text: str
    text_sha256: str
    embedded_sha256: str
