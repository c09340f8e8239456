"""Messages as the index holds them: from the payloads of windows back to lines. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

from huginn import scrub
from huginn.chat.window import Line
from huginn.index.port import StoredPoint


def day_of(time: int) -> date:
    """The UTC day of a time in milliseconds since 1970."""
    return datetime.fromtimestamp(time / 1000, UTC).date()


def day_of_point(point: StoredPoint) -> date:
    """The UTC day that a stored window lies in."""
    return datetime.fromisoformat(str(point.payload["time"])).date()


def events_of(point: StoredPoint) -> list[str]:
    """The ids of the messages of a stored window."""
    return [str(message["event_id"]) for message in _messages(point)]


def lines_of(points: Iterable[StoredPoint]) -> list[Line]:
    """The messages of stored windows of one room. One that was cut into parts is put together again.

    A message that stands in two windows (the old one is about to go, or was left behind by a kill) comes once.
    """
    parts: dict[str, dict[int, Line]] = {}
    for point in sorted(points, key=lambda point: point.id):
        part = int(str(point.payload["part"]))
        for message in _messages(point):
            event_id, body = str(message["event_id"]), scrub.from_our_process(str(message["body"]))
            moment = datetime.fromisoformat(str(message["time"]))
            line = Line(event_id, str(message["sender"]), _milliseconds(moment), body)
            parts.setdefault(event_id, {}).setdefault(part, line)
    return [_joined([by_part[part] for part in sorted(by_part)]) for by_part in parts.values()]


def _joined(parts: Sequence[Line]) -> Line:
    return replace(parts[0], body=scrub.from_our_process("".join(part.body for part in parts)))


def _messages(point: StoredPoint) -> Sequence[dict[str, object]]:
    messages = point.payload["messages"]
    assert isinstance(messages, list)
    return messages


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
