"""Messages as the index holds them: from the payloads of windows back to lines. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

from huginn.chat.window import Line

from huginn import scrub
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
    """The messages of stored windows. One that was cut into parts is put together again."""
    lines: dict[str, Line] = {}
    for point in sorted(points, key=lambda point: int(str(point.payload["part"]))):
        for message in _messages(point):
            event_id, body = str(message["event_id"]), scrub.from_our_process(str(message["body"]))
            if event_id in lines:
                body = scrub.from_our_process(lines[event_id].body + body)
                lines[event_id] = replace(lines[event_id], body=body)
            else:
                moment = datetime.fromisoformat(str(message["time"]))
                lines[event_id] = Line(event_id, str(message["sender"]), _milliseconds(moment), body)
    return list(lines.values())


def _messages(point: StoredPoint) -> Sequence[dict[str, object]]:
    messages = point.payload["messages"]
    assert isinstance(messages, list)
    return messages


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
