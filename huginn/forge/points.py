"""From one file of a tree to the points that should stand for it: bytes in, points or a skip reason out. Pure.

Secrets are taken out of the whole text before it is cut, so that none is left in two halves side by side.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from huginn.forge.chunk import chunks
from huginn.forge.header import header
from huginn.forge.language import language as language_of
from huginn.forge.read import decode
from huginn.forge.skip import SkipReason
from huginn.forge.tree import Change
from huginn.ids import digest, forge_ids
from huginn.index.payload import ForgePayload, moment
from huginn.plan import WantedPoint
from huginn.scrub import join, scrub, scrub_lines


@dataclass(frozen=True)
class FilePoints:
    """What one file gives: points, or the one true reason why it gives none; and what was masked in it, by kind."""

    points: tuple[WantedPoint, ...] = ()
    skip: SkipReason | None = None
    masked: Counter[str] = field(default_factory=Counter)


def points_of(repository: str, path: str, blob: str, change: Change, content: bytes) -> FilePoints:
    """The points of the file at `path` (as displayed) with this content, last changed by `change`."""
    text = decode(content)
    if isinstance(text, SkipReason):
        return FilePoints(skip=text)
    scrubbed = scrub(text)
    pieces = chunks(scrubbed.clean, path)
    if not pieces:
        return FilePoints(skip=SkipReason.EMPTY)
    digests = [digest(piece.text) for piece in pieces]
    language = language_of(path).name
    changed = moment(change.time)
    headers = [header(repository, path, piece.names) for piece in pieces]
    clean = scrub_lines(set(headers))
    points = []
    for piece, line, text_digest, point_id in zip(
        pieces, headers, digests, forge_ids(repository, path, digests), strict=True
    ):
        # The header line stands in front, for meaning and for words alike.
        embedded = join(clean[line], piece.text)
        payload = ForgePayload(
            source=repository,
            path=path,
            start_line=piece.start_line,
            end_line=piece.end_line,
            blob=blob,
            commit=change.commit,
            time=changed,
            names=piece.names,
            language=language,
            text=piece.text,
            text_sha256=text_digest,
            embedded_sha256=digest(embedded),
        )
        points.append(WantedPoint(point_id, path, payload, embedded))
    return FilePoints(tuple(points), masked=Counter(scrubbed.masked))
