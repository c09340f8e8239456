"""Messages, told to a person: those of a hit, a page of a listing, one among its neighbours.

In: answers of `huginn.search`. Out: lines on standard output. What a message says is indented behind the line that says
who spoke, so that it cannot pass for one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING

from huginn.cli import moment, quoted, terminal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from huginn.search import Listing, ListQuery, Message, MessageWindow, Query, RoomMessage

DATE, CLOCK = "%Y-%m-%d", "%H:%M:%S"


def show_listing(listing: Listing) -> None:
    """Print a page of messages; the last lines tell the counts, and how to go on."""
    console = terminal.console(sys.stdout)
    for message in listing.messages:
        print_lines(_listed(message, console, quoted.BAR), console)
    messages = terminal.counted(len(listing.messages), "message")
    print_counts(f"{messages}{span(listing.query)} in {listing.took_ms:.0f} ms", console)
    if listing.cursor:
        console.print(f"there are more: --cursor {listing.cursor}", style="dim", soft_wrap=True)  # whole, to be copied


def show_window(window: MessageWindow) -> None:
    """Print a message among its neighbours, which stand behind another bar."""
    console = terminal.console(sys.stdout)
    for message in window.messages:
        is_meant = message.event_id == window.event_id
        print_lines(_listed(message, console, quoted.BAR if is_meant else quoted.BAR_OF_CONTEXT), console)
    messages = terminal.counted(len(window.messages), "message")
    print_counts(f"{messages}; the one asked for stands behind {quoted.BAR.strip()}", console)


def said(
    messages: Sequence[Message],
    console: Console,
    day: date,
    *,
    bar: str = quoted.BAR,
    matched: str | None = None,
    asked: frozenset[int] = frozenset(),
) -> Iterator[Text]:
    """Each message: a line with time and sender, and indented what was said. `day`: the one that needs no telling."""
    from rich.text import Text

    for message in messages:
        when = f"{message.time:{CLOCK}}" if message.time.date() == day else f"{message.time:{DATE} {CLOCK}}"
        best = "best match: " if message.event_id == matched and len(messages) > 1 else ""
        yield from quoted.folded(
            Text.assemble(f"{when}  ", (best, "dim"), quoted.name(message.sender)), console, before=bar, after=bar
        )
        yield from quoted.text(message.body, console, bar=f"{bar}  ", asked=asked)


def print_lines(lines: Iterable[Text], console: Console) -> None:
    """Print lines, and a blank one."""
    for line in lines:
        console.print(line, soft_wrap=True)
    console.print()


def print_counts(words: str, console: Console) -> None:
    """Print what Huginn says at the end; a name in it is a `quoted.name`."""
    from rich.text import Text

    for line in quoted.folded(Text(words, "dim"), console):
        console.print(line, soft_wrap=True)


def span(query: Query | ListQuery) -> str:
    """The times that were asked for, in full."""
    times = (("after", query.after), ("before", query.before))
    return "".join(f" {name} {moment.shown(time)}" for name, time in times if time is not None)


def _listed(message: RoomMessage, console: Console, bar: str) -> Iterator[Text]:
    from rich.text import Text

    room = quoted.linked(quoted.name(message.alias or message.room), message.url, console, style="bold cyan")
    sender = quoted.name(message.sender)
    yield from quoted.folded(Text.assemble(room, f"  {message.time:{DATE} {CLOCK}} UTC  {sender}"), console)
    yield from quoted.folded(Text(quoted.name(message.event_id), "dim"), console)
    yield from quoted.text(message.body, console, bar=bar)
