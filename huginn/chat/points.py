"""From a room's windows to the points that should stand for them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from huginn.chat.scope import ScopedRoom
from huginn.chat.window import Window
from huginn.ids import chat_id, digest
from huginn.index.payload import ChatMessage, ChatPayload, moment_of, told
from huginn.plan import WantedPoint
from huginn.scrub import join


def points_of(room: ScopedRoom, windows: Iterable[Window]) -> list[WantedPoint]:
    """The point of each window. What is embedded are the bodies, without names and times."""
    return [_point(room, window) for window in windows]


def _point(room: ScopedRoom, window: Window) -> WantedPoint:
    first, last = window.lines[0], window.lines[-1]
    embedded = join(*(line.body for line in window.lines))
    messages = tuple(
        ChatMessage(event_id=line.event_id, sender=line.sender, time=moment_of(line.time), body=line.body)
        for line in window.lines
    )
    text = told(messages)
    payload = ChatPayload(
        source=room.id,
        alias=room.alias,
        event_id=first.event_id,
        last_event_id=last.event_id,
        part=window.part,
        time=moment_of(first.time),
        end_time=moment_of(last.time),
        messages=messages,
        text=text,
        text_sha256=digest(text),
        embedded_sha256=digest(embedded),
    )
    return WantedPoint(chat_id(room.id, first.event_id, window.part), first.event_id, payload, embedded)
