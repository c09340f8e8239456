"""Answers are bounded in bytes: hosts cut or refuse what is longer, and then nobody knows what was lost. Pure.

What does not fit is left for the next page; only what is too long by itself is cut, and named.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from pydantic import BaseModel

from huginn.search import Hit, Message, RoomMessage

MOST_BYTES = 48_000
"""Of the hits, messages or sources of one answer, as JSON."""

MOST_PLACES = 10
_MOST_OF_ONE = 8_000
_CUT = " […]"

Entry = TypeVar("Entry", bound=BaseModel)
Said = TypeVar("Said", bound=Message)


def fitting(entries: Iterable[Entry], most: int = MOST_BYTES) -> list[Entry]:
    """The first of them that fit, at least one."""
    page: list[Entry] = []
    for entry in entries:
        most -= size_of(entry)
        if most < 0 and page:
            break
        page.append(entry)
    return page


def around(messages: Sequence[RoomMessage], event_id: str) -> list[RoomMessage]:
    """Those nearest to one of them that fit, in order."""
    here = next(number for number, message in enumerate(messages) if message.event_id == event_id)
    nearest = sorted(range(len(messages)), key=lambda number: abs(number - here))
    kept = len(fitting(messages[number] for number in nearest))
    return [messages[number] for number in sorted(nearest[:kept])]


def cut_hit(hit: Hit) -> Hit:
    """The hit with at most ten of its places, and with texts that are not longer than one entry may be."""
    following = hit.following
    if following is not None:
        following = following.model_copy(update={"messages": cut_messages(following.messages, _MOST_OF_ONE)})
    return hit.model_copy(
        update={
            "text": cut_text(hit.text, _MOST_OF_ONE),
            "messages": cut_messages(hit.messages, _MOST_OF_ONE),
            "following": following,
            "places": hit.places[:MOST_PLACES],
        }
    )


def cut_messages(messages: Sequence[Said], most: int) -> list[Said]:
    """The first messages, as far as their bodies have room together; of the last one perhaps a part."""
    kept: list[Said] = []
    for message in messages:
        if most <= 0:
            break
        kept.append(cut_message(message, most))
        most -= len(message.body.encode())
    return kept


def cut_message(message: Said, most: int = _MOST_OF_ONE) -> Said:
    """The message, with no more than the beginning of a body that is too long."""
    body = cut_text(message.body, most)
    return message if body == message.body else message.model_copy(update={"body": body})


def cut_text(text: str, most: int) -> str:
    """The text, or as much of its beginning as has so many bytes, and a sign that it goes on."""
    content = text.encode()
    return text if len(content) <= most else content[:most].decode(errors="ignore") + _CUT


def size_of(entry: BaseModel) -> int:
    """How many bytes it has as JSON."""
    return len(entry.model_dump_json().encode())
