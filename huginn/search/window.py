"""A message among its neighbours: `chat window`. From the index alone, without embedder and homeserver."""

from __future__ import annotations

import time

from huginn import scrub
from huginn.errors import Refused
from huginn.index.opening import NoIndex
from huginn.index.port import Place, Reader
from huginn.search.access import Access
from huginn.search.deadline import Deadline
from huginn.search.listing import as_message
from huginn.search.masking import Mask, mask_of
from huginn.search.messages import Placed, beside, placed
from huginn.search.page import LIMIT_SECONDS
from huginn.search.query import MOST_LISTED, check_number
from huginn.search.result import MessageWindow
from huginn.search.rooms import allowed_rooms
from huginn.section import is_text
from huginn.settings import Settings


def show_window(settings: Settings, event_id: str, *, before: int = 5, after: int = 5) -> MessageWindow:
    """The message `event_id`, with so many of its neighbours in the same room before and after it.

    Raises `Refused` for an id that the index does not hold, such as that of an edit or of a message that was redacted,
    and `Unavailable` and `Busy` as `search` does.
    """
    return window(Access(settings), event_id, before=before, after=after)


def window(access: Access, event_id: str, *, before: int, after: int) -> MessageWindow:
    """The same, with an index that may be open already."""
    began = time.monotonic()
    if not is_text(event_id):
        raise _unknown(event_id)
    check_number("before", before, 0, MOST_LISTED)
    check_number("after", after, 0, MOST_LISTED)
    settings = access.settings
    scrub.prepare(settings.state / "cache")

    def look(index: Reader) -> tuple[list[Placed], Mask]:
        return _around(index, settings, event_id, before, after), mask_of(index)

    try:
        messages, mask = access.ask(look)
    except NoIndex:
        raise _unknown(event_id) from None
    room = messages[0]
    return MessageWindow(
        event_id=event_id,
        room=room.room,
        alias=room.alias,
        messages=[as_message(message, settings, mask) for message in messages],
        took_ms=round((time.monotonic() - began) * 1000, 1),
    )


def _around(index: Reader, settings: Settings, event_id: str, before: int, after: int) -> list[Placed]:
    place = Place(corpus="chat", sources=allowed_rooms(index, settings), events=[event_id])
    windows = placed(index.stored(place))
    cited = next((message for message in windows if message.line.event_id == event_id), None)
    if cited is None:
        raise _unknown(event_id)
    deadline = Deadline.after(LIMIT_SECONDS)
    older, newer = beside(index, cited.position, cited.position, before=before, after=after, deadline=deadline)
    return [*older, cited, *newer]


def _unknown(event_id: str) -> Refused:
    return Refused(
        "event_id",
        f"the index holds no message {event_id!r}",
        next_step="give the id of a message as a hit cites it; an edit goes by the id of the message it changes",
    )
