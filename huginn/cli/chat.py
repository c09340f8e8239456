"""`huginn chat search` and `huginn chat window`: the rooms alone, to be searched, listed, or read on from a message.

In: texts, filters, an event id. Out: hits or messages, for people or as one document.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from huginn.cli import terminal
from huginn.cli.exits import ExitCode, manual
from huginn.cli.messages import show_listing, show_window
from huginn.cli.options import config_option, json_option, load_settings, room_options
from huginn.cli.search import ask
from huginn.errors import Refused

_EXIT_CODES = (ExitCode.WELL, ExitCode.REFUSED, ExitCode.AWAY, ExitCode.BUSY)
_HITS, _MESSAGES = 10, 50


@click.group(short_help="Search, list and read the rooms.")
def chat() -> None:
    """Search, list and read the messages of the rooms that are indexed.

    \b
    Examples:
      huginn chat search "who broke the build"
      huginn chat search --room '#birds:example.org' --after 2026-03-01
      huginn chat window '$QoY4eCnzdLx1vDnBpHs2T1rIqqU'
    """


@chat.command(
    short_help="Search the rooms, or list their messages.",
    epilog=manual(*_EXIT_CODES, well="answered, also when nothing fits"),
)
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@room_options
@click.option("--top-k", type=int, metavar="N", help=f"How many at most: {_HITS} hits, {_MESSAGES} messages.")
@click.option("--cursor", metavar="CURSOR", help="Go on behind the page that gave this cursor.")
@json_option
@config_option
def search(
    texts: tuple[str, ...],
    rooms: tuple[str, ...],
    senders: tuple[str, ...],
    after: datetime | None,
    before: datetime | None,
    top_k: int | None,
    cursor: str | None,
    as_json: bool,
) -> ExitCode:
    """With a TEXT, or up to eight, search the rooms: the same as 'huginn search --corpus chat'.

    Without one, list messages, oldest first, page by page, across rooms. Each page but the last gives a cursor; with it
    and the same filters the next page begins right behind it, whatever a refresh has done in between.

    A room is named by its alias or its id, a sender by the whole id. --after takes in its time, --before does not.
    Times are RFC 3339 or dates, in UTC unless they say otherwise. A page has up to 1,000 messages, a search 50 hits.

    \b
    Examples:
      huginn chat search "who broke the build" "red pipeline" --top-k 3
      huginn chat search --room '#birds:example.org' --after 2026-03-01 --before 2026-03-02
      huginn chat search --sender @ann:example.org --after 2026-03-01T09:00:00+01:00 --json
    """
    filters: dict[str, Any] = {"rooms": rooms or None, "senders": senders or None, "after": after, "before": before}
    if texts and cursor is not None:
        raise Refused("cursor", "a search has no pages", next_step="leave out the texts, or the cursor")
    if texts:
        return ask(as_json=as_json, texts=texts, corpora=("chat",), top_k=_HITS if top_k is None else top_k, **filters)
    settings = load_settings()
    from huginn.search import ListQuery, list_messages

    query = ListQuery(**filters, top_k=_MESSAGES if top_k is None else top_k, cursor=cursor)
    listing = list_messages(settings, query)
    if as_json:
        terminal.write_document(listing)
    else:
        show_listing(listing)
    return ExitCode.WELL


@chat.command(short_help="Show a message among its neighbours.", epilog=manual(*_EXIT_CODES))
@click.argument("event_id", metavar="EVENT_ID")
@click.option("--before", type=int, default=5, show_default=True, metavar="N", help="How many messages before it.")
@click.option("--after", type=int, default=5, show_default=True, metavar="N", help="How many messages after it.")
@json_option
@config_option
def window(event_id: str, before: int, after: int, as_json: bool) -> ExitCode:
    """Show the message EVENT_ID, as a hit or a listing cites it, with its neighbours in the same room.

    It is read from the index: neither the embedder nor the homeserver is asked. An edit goes by the id of the message
    that it changes. Put the id in single quotes, or the shell takes its $ for a variable.

    \b
    Examples:
      huginn chat window '$QoY4eCnzdLx1vDnBpHs2T1rIqqU'
      huginn chat window '$QoY4eCnzdLx1vDnBpHs2T1rIqqU' --before 20 --after 0
    """
    settings = load_settings()
    from huginn.search import show_window as look

    found = look(settings, event_id, before=before, after=after)
    if as_json:
        terminal.write_document(found)
    else:
        show_window(found)
    return ExitCode.WELL
