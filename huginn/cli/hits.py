"""Hits and messages, told to a person: citation first, then what was written.

In: answers of `huginn.search`. Out: lines on standard output. Indexed text is printed behind a bar on every line, so
that it cannot pass for what Huginn says; what a message says is indented behind it, so that it cannot pass for a line
that says who spoke.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from huginn.cli import moment, terminal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from huginn.search import (
        Citation,
        Hit,
        Listing,
        ListQuery,
        Message,
        MessageWindow,
        Query,
        Rank,
        RoomMessage,
        SearchResult,
    )

_DATE, _CLOCK = "%Y-%m-%d", "%H:%M:%S"
_BAR = "│ "
_BAR_OF_CONTEXT = "┊ "


def show(result: SearchResult) -> None:
    """Print the hits; the last line tells the counts and the times that were asked for."""
    number = len(result.query.texts) + len(result.parts)
    console = terminal.console(sys.stdout)
    for hit in result.hits:
        _print(_lines(hit, console, with_text_number=number > 1), console)
    for exact in result.exact:
        if not exact.found:
            _print_counts(f"no exact match for {terminal.harmless_line(exact.name)}", console)
    hits, texts = terminal.counted(len(result.hits), "hit"), terminal.counted(number, "text")
    _print_counts(f"{hits} for {texts}{_span(result.query)} in {result.took_ms:.0f} ms", console)


def show_listing(listing: Listing) -> None:
    """Print a page of messages; the last lines tell the counts, and how to go on."""
    console = terminal.console(sys.stdout)
    for message in listing.messages:
        _print(_listed(message, console, _BAR), console)
    messages = terminal.counted(len(listing.messages), "message")
    _print_counts(f"{messages}{_span(listing.query)} in {listing.took_ms:.0f} ms", console)
    if listing.cursor:
        _print_counts(f"there are more: --cursor {listing.cursor}", console)


def show_window(window: MessageWindow) -> None:
    """Print a message among its neighbours, which stand behind another bar."""
    console = terminal.console(sys.stdout)
    for message in window.messages:
        _print(_listed(message, console, _BAR if message.event_id == window.event_id else _BAR_OF_CONTEXT), console)
    messages = terminal.counted(len(window.messages), "message")
    _print_counts(f"{messages}; the one asked for stands behind {_BAR.strip()}", console)


def _print(lines: Iterable[Text], console: Console) -> None:
    for line in lines:
        console.print(line, soft_wrap=True)
    console.print()


def _print_counts(words: str, console: Console) -> None:
    from rich.text import Text

    console.print(Text(words, style="dim"), soft_wrap=True)


def _span(query: Query | ListQuery) -> str:
    """The times that were asked for, in full."""
    times = (("after", query.after), ("before", query.before))
    return "".join(f" {name} {moment.shown(time)}" for name, time in times if time is not None)


def _lines(hit: Hit, console: Console, *, with_text_number: bool) -> Iterator[Text]:
    from rich.text import Text

    citation = hit.citation
    yield Text.assemble(_cited(citation, console, style="bold cyan"), f"  {_when(citation)}")
    if citation.kind == "chat":
        yield Text(terminal.harmless_line(f"first {citation.event_id}"), "dim")
        if citation.last_event_id != citation.event_id:
            yield Text(terminal.harmless_line(f"last  {citation.last_event_id}"), "dim")
    yield Text("; ".join([f"score {hit.score:.4f}", *(_ranked(rank, with_text_number) for rank in hit.ranks)]), "dim")
    yield from _said(hit.messages, console, _BAR) if citation.kind == "chat" else _barred(hit.text, console, _BAR)
    for place in hit.places:
        if place != citation:
            yield Text.assemble(("also ", "dim"), _cited(place, console, style="cyan"))
    if hit.copies > len(hit.places):
        yield Text(f"and {hit.copies - len(hit.places)} more", "dim")
    if hit.following is not None:
        yield Text("what was said next (context, no hit):", "dim")
        yield from _said(hit.following.messages, console, _BAR_OF_CONTEXT)


def _listed(message: RoomMessage, console: Console, bar: str) -> Iterator[Text]:
    from rich.text import Text

    room = _linked(terminal.harmless_line(message.alias or message.room), message.url, console, style="bold cyan")
    sender = terminal.harmless_line(message.sender)
    yield Text.assemble(room, f"  {message.time:{_DATE} {_CLOCK}} UTC  {sender}")
    yield Text(terminal.harmless_line(message.event_id), "dim")
    yield from _barred(message.body, console, bar)


def _said(messages: Sequence[Message], console: Console, bar: str) -> Iterator[Text]:
    """Each message: a line with time and sender, and indented what was said."""
    from rich.text import Text

    for message in messages:
        yield Text.assemble((bar, "dim"), f"{message.time:{_CLOCK}}  {terminal.harmless_line(message.sender)}")
        yield from _barred(message.body, console, f"{bar}  ")


def _barred(text: str, console: Console, bar: str) -> Iterator[Text]:
    from rich.text import Text

    for line in terminal.harmless(text).rstrip("\n").split("\n"):
        for piece in _pieces(line, console, room=len(bar)):
            yield Text.assemble((bar, "dim"), piece)


def _cited(citation: Citation, console: Console, *, style: str) -> Text:
    if citation.kind == "chat":
        words = citation.alias or citation.room
    else:
        lines = f"#L{citation.start_line}-L{citation.end_line}"
        words = f"{citation.repo}@{citation.commit[:7]}:{citation.path}{lines}"
    return _linked(terminal.harmless_line(words), citation.url, console, style=style)


def _when(citation: Citation) -> str:
    if citation.kind == "forge":
        return f"{citation.time:{_DATE}}"
    start, end = citation.time, citation.end_time
    if (end - start).total_seconds() < 1:
        return f"{start:{_DATE} {_CLOCK}} UTC"
    day = "" if start.date() == end.date() else f"{end:{_DATE}} "
    return f"{start:{_DATE} {_CLOCK}} to {day}{end:{_CLOCK}} UTC"


def _linked(words: str, url: str | None, console: Console, *, style: str) -> Text:
    from rich.style import Style
    from rich.text import Text

    is_linked = url is not None and terminal.takes_links(console) and terminal.is_safe_link(url)
    return Text(words, Style.parse(style) + Style(link=url if is_linked else None))


def _ranked(rank: Rank, with_text_number: bool) -> str:
    sides = [
        f"{name} {value:.2f}" for name, value in (("words", rank.bm25), ("meaning", rank.cosine)) if value is not None
    ]
    of_text = f"text {rank.text + 1} " if with_text_number else ""
    return f"{of_text}rank {rank.rank}" + (f" ({', '.join(sides)})" if sides else "")


def _pieces(line: str, console: Console, *, room: int) -> list[str]:
    """`line` cut to what a terminal has left of its width, so that its rest gets a bar too; whole in a pipe."""
    if not console.is_terminal:
        return [line]
    from rich.cells import chop_cells

    return chop_cells(line.expandtabs(4), max(console.width - room, 10)) or [""]
