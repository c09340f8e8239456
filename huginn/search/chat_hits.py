"""Hits among windows of messages: what of a window is inside the question, where it stands, and what follows it.

A window that straddles `after` or `before` is cut to the messages inside. What follows a hit is context and no hit; of
it too only messages inside are shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from urllib.parse import quote

from huginn.index.payload import ChatMessage
from huginn.index.port import Payload, Place, Reader
from huginn.search.masking import Mask
from huginn.search.question import words_of
from huginn.search.result import ChatCitation, Following, Message
from huginn.search.sought import Sought
from huginn.settings import Settings

CITED = ("source", "alias", "messages", "text_sha256")
"""The fields of a payload that a citation takes."""
_FOLLOWS_WITHIN = timedelta(hours=2, milliseconds=1)  # two hours to the millisecond are within
_SPANS = (timedelta(minutes=2), timedelta(minutes=20), _FOLLOWS_WITHIN)  # where much is said, the first tells it


def shown(payload: Payload, sought: Sought) -> list[ChatMessage]:
    """The messages of a window to show: those inside the query's time, if one of them is by a sender it asks for."""
    messages = [message for message in _messages(payload) if _is_inside(message.time, sought)]
    if sought.senders is None or any(message.sender in sought.senders for message in messages):
        return messages
    return []


def masked(messages: Sequence[ChatMessage], mask: Mask) -> list[ChatMessage]:
    """Messages as they may be shown."""
    return [message.model_copy(update={"body": mask(message.body)}) for message in messages]


def as_answer(messages: Sequence[ChatMessage]) -> list[Message]:
    """Messages for an answer."""
    return [Message.model_validate(dict(message)) for message in messages]


def matched(messages: Sequence[ChatMessage], texts: Sequence[str]) -> str | None:
    """The event id of the message that has most words of the texts, a word that few of the messages have counting more.

    The first of equals; None if no message has any.
    """
    asked = {word for text in texts for word in words_of(text)}
    found = [asked & set(words_of(message.body)) for message in messages]
    spread = Counter(word for words in found for word in words)
    scores = [sum(1 / spread[word] for word in words) for words in found]
    best = max(scores, default=0.0)
    return messages[scores.index(best)].event_id if best else None


def citation_of(payload: Payload, messages: Sequence[ChatMessage], settings: Settings) -> ChatCitation:
    """Where these messages of a window stand."""
    room, first, last = str(payload["source"]), messages[0], messages[-1]
    alias = payload["alias"]
    return ChatCitation(
        room=room,
        alias=None if alias is None else str(alias),
        event_id=first.event_id,
        last_event_id=last.event_id,
        time=first.time,
        end_time=last.time,
        url=permalink(room, first.event_id, settings),
    )


def permalink(room: str, event_id: str, settings: Settings) -> str:
    """A link to a message for any client; the reader's server knows the room (Matrix specification, "matrix.to")."""
    via = f"?via={quote(settings.chat.user.partition(':')[2], safe='')}" if settings.chat else ""
    return f"https://matrix.to/#/{quote(room, safe='!')}/{quote(event_id, safe='')}{via}"


def following(payload: Payload, index: Reader) -> Payload | None:
    """The window that begins after this one, in the same room within two hours of its end."""
    end = datetime.fromisoformat(str(payload["end_time"]))
    for span in _SPANS:
        place = Place(corpus="chat", sources=[str(payload["source"])], after=end, before=_later(end, span))
        behind = [point for point in index.stored(place, _ORDER) if _order(point.payload) > _order(payload)]
        if behind:
            first = min(behind, key=lambda point: _order(point.payload))
            return index.fetch([first.id]).get(first.id)
    return None


def as_context(payload: Payload, sought: Sought, settings: Settings, mask: Mask) -> Following | None:
    """What follows a hit, as far as it is inside the query's time."""
    messages = [message for message in _messages(payload) if _is_inside(message.time, sought)]
    if not messages:
        return None
    citation = citation_of(payload, messages, settings)
    return Following(citation=citation, messages=as_answer(masked(messages, mask)))


_ORDER = ["time", "event_id", "part"]


def _order(payload: Payload) -> tuple[datetime, str, int]:
    """Where a window stands among those of its room."""
    return datetime.fromisoformat(str(payload["time"])), str(payload["event_id"]), int(str(payload["part"]))


def _later(moment: datetime, span: timedelta) -> datetime:
    try:
        return moment + span
    except OverflowError:  # a clock at the end of the year 9999
        return datetime.max.replace(tzinfo=moment.tzinfo)


def _is_inside(moment: datetime, sought: Sought) -> bool:
    return (sought.after is None or sought.after <= moment) and (sought.before is None or moment < sought.before)


def _messages(payload: Payload) -> list[ChatMessage]:
    messages = payload["messages"]
    assert isinstance(messages, list)
    return [ChatMessage.model_validate(message) for message in messages]
