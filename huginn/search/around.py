"""What stands around a hit, as the index holds it: the lines of the same file and commit, the messages of the room.

Nothing is read from a mirror or a homeserver: what the index does not hold is not shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from huginn.index.port import Place, Reader
from huginn.search.deadline import Deadline
from huginn.search.masking import Mask
from huginn.search.messages import END, FIRST, Placed, beside, milliseconds
from huginn.search.neighbours import lines_of
from huginn.search.query import Query
from huginn.search.result import Around, ChatCitation, Citation, ForgeCitation, Message


def around(index: Reader, citation: Citation, query: Query, mask: Mask, deadline: Deadline) -> Around:
    """Up to `query.context` lines or messages before and after what is cited; messages inside the query's time only."""
    deadline.require()
    if citation.kind == "chat":
        return _messages(index, citation, query, mask, deadline)
    return _lines(index, citation, query.context, mask)


def _lines(index: Reader, citation: ForgeCitation, size: int, mask: Mask) -> Around:
    """They end where the file does, or at a line so long that it was cut into parts: their order is not to be told."""
    start, end = citation.start_line, citation.end_line
    file = Place(corpus="forge", sources=[citation.repo], paths=[citation.path])
    spans = {
        point.id: lines_of(point.payload)
        for point in index.stored(file, ["commit", "start_line", "end_line"])
        if point.payload["commit"] == citation.commit
    }
    if not spans:
        return Around()
    low = max(start - size, min(first for first, _ in spans.values()))
    high = min(end + size, max(last for _, last in spans.values()))
    near = [point for point, (first, last) in spans.items() if first <= high and last >= low]
    in_chunks = Counter(line for point in near for line in range(spans[point][0], spans[point][1] + 1))
    chunks = index.fetch(near)
    if any(point not in chunks or chunks[point]["commit"] != citation.commit for point in near):
        return Around()  # a refresh has just changed the file
    text: dict[int, str] = {}
    for payload in chunks.values():
        text.update(enumerate(mask(str(payload["text"])).split("\n"), start=lines_of(payload)[0]))
    before = [*_without_cut(range(start, low - 1, -1), in_chunks, text)]
    return Around(lines_before=before[::-1], lines_after=[*_without_cut(range(end, high + 1), in_chunks, text)])


def _without_cut(numbers: Iterable[int], in_chunks: Mapping[int, int], text: Mapping[int, str]) -> Iterator[str]:
    """The lines behind the first of `numbers`, up to one that was cut; what is in no chunk is blank."""
    for place, number in enumerate(numbers):
        if in_chunks.get(number, 0) > 1:
            return
        if place:
            yield text.get(number, "")


def _messages(index: Reader, citation: ChatCitation, query: Query, mask: Mask, deadline: Deadline) -> Around:
    older, newer = beside(
        index,
        (milliseconds(citation.time, FIRST), citation.room, citation.event_id),
        (milliseconds(citation.end_time, FIRST), citation.room, citation.last_event_id),
        before=query.context,
        after=query.context,
        within=(milliseconds(query.after, FIRST), milliseconds(query.before, END)),
        deadline=deadline,
    )
    return Around(messages_before=_told(older, mask), messages_after=_told(newer, mask))


def _told(messages: Iterable[Placed], mask: Mask) -> list[Message]:
    return [
        Message(
            event_id=message.line.event_id,
            sender=message.line.sender,
            time=message.time,
            body=mask(message.line.body),
        )
        for message in messages
    ]
