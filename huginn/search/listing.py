"""Messages oldest first, page by page: `chat search` without texts.

A cursor names the last message's place in the order of all messages, not a point: so that it continues exactly while
a refresh cuts windows anew. It belongs to the filters it was made with.
"""

from __future__ import annotations

import base64
import json
import time
from itertools import islice

from huginn import scrub
from huginn.errors import Refused
from huginn.ids import digest
from huginn.index.opening import NoIndex
from huginn.index.port import Place, Reader
from huginn.search.access import Access
from huginn.search.chat_hits import permalink
from huginn.search.deadline import Deadline
from huginn.search.masking import Mask, mask_of
from huginn.search.messages import END, FIRST, Placed, Position, in_order, milliseconds
from huginn.search.page import LIMIT_SECONDS
from huginn.search.query import ListQuery
from huginn.search.result import Listing, RoomMessage
from huginn.search.rooms import rooms_of
from huginn.settings import Settings

_VERSION = 1


def list_messages(settings: Settings, query: ListQuery) -> Listing:
    """A page of messages, from the index alone. Nothing is listed where nothing has been indexed yet.

    Raises `Refused` (a room that is not there, a cursor of other filters or none at all), `Unavailable` and `Busy` as
    `search` does.
    """
    return listing(Access(settings), query)


def listing(access: Access, query: ListQuery) -> Listing:
    """The same, with an index that may be open already."""
    began = time.monotonic()
    scrub.prepare(access.settings.state / "cache")
    after = _position(query)
    try:
        page, cursor = access.ask(lambda index: _page(index, access.settings, query, after))
    except NoIndex:
        page, cursor = [], None
    took = round((time.monotonic() - began) * 1000, 1)
    return Listing(query=query, messages=page, cursor=cursor, took_ms=took)


def cursor_behind(message: RoomMessage, query: ListQuery) -> str:
    """The cursor that goes on behind a message of a page, which need not be the last."""
    return _cursor((milliseconds(message.time, FIRST), message.room, message.event_id), query)


def as_message(message: Placed, settings: Settings, mask: Mask) -> RoomMessage:
    """A message for an answer."""
    line = message.line
    return RoomMessage(
        event_id=line.event_id,
        sender=line.sender,
        time=message.time,
        body=mask(line.body),
        room=message.room,
        alias=message.alias,
        url=permalink(message.room, line.event_id, settings),
    )


def _page(
    index: Reader, settings: Settings, query: ListQuery, after: Position | None
) -> tuple[list[RoomMessage], str | None]:
    if not index.count(Place(corpus="chat")):
        return [], None
    place = Place(corpus="chat", sources=rooms_of(query.rooms, index, settings), senders=query.senders)
    low, high = milliseconds(query.after, FIRST), milliseconds(query.before, END)
    if after is not None:
        low = max(low, after[0])
    found = (
        message
        for message in in_order(index, place, low, high, deadline=Deadline.after(LIMIT_SECONDS))
        if (after is None or message.position > after)
        and (query.senders is None or message.line.sender in query.senders)
    )
    messages = list(islice(found, query.top_k + 1))
    is_last = len(messages) <= query.top_k
    messages, mask = messages[: query.top_k], mask_of(index)
    cursor = None if is_last else _cursor(messages[-1].position, query)
    return [as_message(message, settings, mask) for message in messages], cursor


def _cursor(position: Position, query: ListQuery) -> str:
    document = json.dumps([_VERSION, *position, _filters(query)], separators=(",", ":"))
    return base64.urlsafe_b64encode(document.encode()).decode().rstrip("=")


def _position(query: ListQuery) -> Position | None:
    """The place that the query's cursor names."""
    if query.cursor is None:
        return None
    match _document(query.cursor):
        case [1, int(moment), str(room), str(event_id), str(filters)] if 0 <= moment < END:
            if filters != _filters(query):
                raise Refused(
                    "cursor",
                    "it was made with other filters",
                    next_step="give the same rooms, senders and times again, or begin anew without it",
                )
            return moment, room, event_id
    raise Refused("cursor", "it is none that a listing has given", next_step="begin anew without it")


def _document(cursor: str) -> object:
    try:
        return json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (ValueError, RecursionError):  # no base64, no UTF-8, no JSON
        return None


def _filters(query: ListQuery) -> str:
    """A digest of all that decides which messages are listed."""
    choices = [None if names is None else sorted(set(names)) for names in (query.rooms, query.senders)]
    times = [None if moment is None else moment.isoformat() for moment in (query.after, query.before)]
    return digest(json.dumps([*choices, *times]))[:16]
