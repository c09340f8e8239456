"""Chunks of a file that stand side by side, and are shown as one. Pure.

In: payloads. Out: payloads in the order of lines, and their text with nothing twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from huginn.index.port import Payload

Lines = tuple[int, int]

_BETWEEN = 5  # lines: more blank ones between two chunks are rare


def lines_of(payload: Payload) -> Lines:
    """The first and the last line of a chunk."""
    return int(str(payload["start_line"])), int(str(payload["end_line"]))


def may_hide_another(chunks: Iterable[Payload]) -> bool:
    """Whether between two of these chunks of a file, which may stand side by side, there is room for another one."""
    lines = sorted(map(lines_of, chunks))
    return any(1 < start - end <= _BETWEEN for (_, end), (start, _) in pairwise(lines))


def side_by_side(best: str, chunks: Mapping[str, Payload], of_file: Iterable[Lines]) -> dict[str, Payload]:
    """Of chunks of one file, by id, the best and those that reach to it without another in between; in order.

    `of_file` are the lines of all chunks of the file that may stand in between. Parts of one long line are not joined:
    what is between them is not to be told from their lines.
    """
    number = {lines: number for number, lines in enumerate(sorted(set(of_file)))}
    order = sorted(chunks, key=lambda id_: lines_of(chunks[id_]))
    run: list[str] = []
    for id_ in order:
        before, here = lines_of(chunks[run[-1]]) if run else (0, 0), lines_of(chunks[id_])
        if run and not (number.get(here) == number.get(before, -2) + 1 and 0 < here[0] - before[1] <= _BETWEEN):
            if best in run:
                break
            run = []
        run.append(id_)
    return {id_: chunks[id_] for id_ in run}


def text_of(chunks: Sequence[Payload]) -> str:
    """The text of chunks side by side; what is between two of them are blank lines."""
    text, end = "", None
    for chunk in chunks:
        start, last = lines_of(chunk)
        text += ("" if end is None else "\n" * (start - end)) + str(chunk["text"])
        end = last
    return text


def places_of(chunks: Sequence[Payload], best: int, copies: Iterable[Payload]) -> list[Payload]:
    """Where the text of joined chunks stands: the copies of the best one, with the others where they stand beside it.

    `copies` are those of all the chunks.
    """
    digest = chunks[best]["text_sha256"]
    offsets = {chunk["text_sha256"]: lines_of(chunk)[0] - lines_of(chunks[best])[0] for chunk in chunks}
    held = {(copy["source"], copy["path"], lines_of(copy)[0], copy["text_sha256"]): copy for copy in copies}
    places = []
    for (source, path, start, text), copy in held.items():
        if text == digest:
            beside = [held.get((source, path, start + offset, other)) for other, offset in offsets.items()]
            places.append(spanning([other for other in beside if other is not None] or [copy]))
    return places


def spanning(chunks: Sequence[Payload]) -> Payload:
    """What is cited of chunks side by side: the lines of all."""
    lines = [lines_of(chunk) for chunk in chunks]
    return {**chunks[0], "start_line": min(start for start, _ in lines), "end_line": max(end for _, end in lines)}
