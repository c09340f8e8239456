"""Answers, made ready for a page: lines with numbers, words marked, hits of one file or room together. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from urllib.parse import quote

from markupsafe import Markup, escape

from huginn.harmless import harmless, harmless_line, is_safe_link
from huginn.search import Citation, Exact, Hit, Message, Rank, RoomMessage, SearchResult
from huginn.search.marking import Tokens, marks, tokens_asked


@dataclass(frozen=True)
class Line:
    """A line of a file with its number, or of a message (None)."""

    number: int | None
    marked: Markup


@dataclass(frozen=True)
class Said:
    """A message. `is_meant`: the one that matched, or that was asked for."""

    event_id: str
    sender: str
    time: datetime
    lines: list[Line]
    is_meant: bool
    url: str | None = None


@dataclass(frozen=True)
class Place:
    """Where a text stands: its words, its link elsewhere if it has a safe one, and the page of its messages."""

    words: str
    when: str
    url: str | None
    window: str | None


@dataclass(frozen=True)
class ShownHit:
    """A hit: the number of its rank on the page, where it stands, why it is there, what it says."""

    number: int
    place: Place
    why: str
    lines: list[Line]
    said: list[Said]
    following: list[Said]
    others: list[Place]
    more: int


@dataclass(frozen=True)
class Group:
    """Hits that come one after the other from one file or room."""

    corpus: str
    title: str
    hits: list[ShownHit]


def groups_of(result: SearchResult) -> list[Group]:
    """The hits in their order; those of one file or room that follow each other under one heading."""
    asked = words_asked([*result.query.texts, *result.parts], result.exact)
    is_many = len(result.query.texts) + len(result.parts) > 1
    numbered = list(enumerate(result.hits, start=1))
    return [
        Group(corpus, title, [_shown(number, hit, asked, is_many=is_many) for number, hit in hits])
        for (corpus, title), hits in groupby(numbered, key=lambda each: _title(each[1].citation))
    ]


def words_asked(texts: Iterable[str], exact: Iterable[Exact] = ()) -> Tokens:
    """What is marked: the words of the question, and names that were found."""
    return tokens_asked([*texts, *(each.name for each in exact if each.found)])


def marked(line: str, asked: Tokens) -> Markup:
    """A line as HTML, what is asked marked; nothing in it is a tag, and nothing moves what stands around it."""
    line, parts, end = harmless_line(line.expandtabs(4)), list[Markup](), 0
    for start, stop in marks(line, asked):
        parts += [escape(line[end:start]), Markup("<mark>{}</mark>").format(line[start:stop])]
        end = stop
    return Markup("").join([*parts, escape(line[end:])])


def said(message: Message, asked: Tokens, meant: str | None) -> Said:
    """A message, in lines."""
    url = message.url if isinstance(message, RoomMessage) and is_safe_link(message.url) else None
    lines = [Line(None, marked(line, asked)) for line in _lines(message.body)]
    return Said(message.event_id, message.sender, message.time, lines, message.event_id == meant, url)


def window_of(event_id: str) -> str:
    """The address of the page of a message."""
    return f"/chat/{quote(event_id, safe='$:')}"


def counted(number: int, word: str) -> str:
    """`1 hit`, `2 hits`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _shown(number: int, hit: Hit, asked: Tokens, *, is_many: bool) -> ShownHit:
    citation = hit.citation
    is_chat = citation.kind == "chat"
    first = 1 if citation.kind == "chat" else citation.start_line
    lines = [] if is_chat else [Line(n, marked(line, asked)) for n, line in enumerate(_lines(hit.text), start=first)]
    following = hit.following.messages if hit.following else []
    return ShownHit(
        number=number,
        place=_place(citation, hit.matched),
        why="; ".join(_why(rank, is_many=is_many) for rank in hit.ranks),
        lines=lines,
        said=[said(message, asked, hit.matched) for message in hit.messages],
        following=[said(message, frozenset(), None) for message in following],
        others=[_place(place) for place in hit.places if place != citation],
        more=hit.copies - len(hit.places),
    )


def _title(citation: Citation) -> tuple[str, str]:
    if citation.kind == "chat":
        return "chat", citation.alias or citation.room
    return "forge", f"{citation.repo}: {citation.path}"


def _place(citation: Citation, event_id: str | None = None) -> Place:
    url = citation.url if citation.url and is_safe_link(citation.url) else None
    if citation.kind == "forge":
        lines = f"#L{citation.start_line}-L{citation.end_line}"
        words = f"{citation.repo}@{citation.commit[:7]}:{citation.path}{lines}"
        return Place(words, f"{citation.time:%Y-%m-%d}", url, None)
    start, end = citation.time, citation.end_time
    day = "" if start.date() == end.date() else f"{end:%Y-%m-%d} "
    until = "" if (end - start).total_seconds() < 1 else f" to {day}{end:%H:%M:%S}"
    return Place(
        citation.alias or citation.room,
        f"{start:%Y-%m-%d %H:%M:%S}{until} UTC",
        url,
        window_of(event_id or citation.event_id),
    )


def _why(rank: Rank, *, is_many: bool) -> str:
    sides = [
        f"{name} {value:.2f}" for name, value in (("words", rank.bm25), ("meaning", rank.cosine)) if value is not None
    ]
    of_text = f"text {rank.text + 1}: " if is_many else ""
    return f"{of_text}rank {rank.rank}" + (f" ({', '.join(sides)})" if sides else "")


def _lines(text: str) -> Sequence[str]:
    return harmless(text).rstrip("\n").split("\n")
