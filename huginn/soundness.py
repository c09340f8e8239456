"""Whether stored points are what they say: their payload's shape, their id, and that no message stands in two of them.

Nothing is asked but the index; memory does not grow with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Literal

from pydantic import ValidationError

from huginn.chat.stored import events_of
from huginn.ids import chat_id, digest, forge_ids
from huginn.index.payload import ChatPayload, ForgePayload, told
from huginn.index.port import Place, Reader, StoredPoint
from huginn.report import Corpus

PointFault = Literal["invalid_payload", "foreign_id", "duplicate"]

_POINTS_AT_ONCE = 256


def faults_of(reader: Reader, corpus: Corpus, source: str) -> Iterator[tuple[PointFault, str]]:
    """What is wrong with the points of a source, each with the id of the point.

    `invalid_payload`: not of the shape of `huginn.index.payload`, or its texts are not those of its digests.
    `foreign_id`: `huginn.ids` gives another id for what it holds. `duplicate`: it shares a message with another
    window.
    """
    stored = reader.stored(Place(corpus=corpus, sources=[source]))
    while page := list(islice(stored, _POINTS_AT_ONCE)):
        sound = []
        for point in page:
            payload = _payload(corpus, point)
            if payload is None:
                yield "invalid_payload", point.id
            elif not _is_its_id(reader, point.id, payload):
                yield "foreign_id", point.id
            else:
                sound.append(point)
        if corpus == "chat":
            yield from (("duplicate", point_id) for point_id in _repeating(reader, source, sound))


def _payload(corpus: Corpus, point: StoredPoint) -> ForgePayload | ChatPayload | None:
    model = ChatPayload if corpus == "chat" else ForgePayload
    try:
        payload = model.model_validate(dict(point.payload))
    except ValidationError:
        return None
    is_as_written = payload.model_dump(mode="json") == point.payload and digest(payload.text) == payload.text_sha256
    return payload if is_as_written and (isinstance(payload, ForgePayload) or _is_told(payload)) else None


def _is_told(window: ChatPayload) -> bool:
    """Whether the texts of a window are those of its messages."""
    embedded = digest("\n".join(message.body for message in window.messages))
    ends = [window.messages[0].event_id, window.messages[-1].event_id] if window.messages else []
    return (
        told(window.messages) == window.text
        and embedded == window.embedded_sha256
        and ends == [window.event_id, window.last_event_id]
    )


def _is_its_id(reader: Reader, point_id: str, payload: ForgePayload | ChatPayload) -> bool:
    if isinstance(payload, ChatPayload):
        return point_id == chat_id(payload.source, payload.event_id, payload.part)
    source, path, sha = payload.source, payload.path, payload.text_sha256
    if [point_id] == forge_ids(source, path, [sha]):
        return True
    place = Place(corpus="forge", sources=[source], paths=[path], text_sha256=[sha])
    return point_id in forge_ids(source, path, [sha] * reader.count(place))  # equal texts in one file are numbered


def _repeating(reader: Reader, room: str, points: Iterable[StoredPoint]) -> list[str]:
    """Those of these windows of which a message, or the same part of one, stands in another window as well."""
    mine = {point.id: set(_pieces(point.payload, events_of(point))) for point in points}
    events = sorted({event for pieces in mine.values() for event, _ in pieces})
    if not events:
        return []
    holders: defaultdict[tuple[str, object], set[str]] = defaultdict(set)
    place = Place(corpus="chat", sources=[room], events=events)
    for point in reader.stored(place, ["messages", "part"]):
        for piece in _pieces(point.payload, events_of(point)):
            holders[piece].add(point.id)
    return sorted(point_id for point_id, pieces in mine.items() if any(len(holders[piece]) > 1 for piece in pieces))


def _pieces(payload: Mapping[str, object], events: Iterable[str]) -> list[tuple[str, object]]:
    return [(event, payload.get("part")) for event in events]
