"""`huginn search` and `huginn sources`: questions in, citations out.

In: texts and filters. Out: for people the hits, citation first, and the counts; for programs one document.
"""

from __future__ import annotations

import inspect
from datetime import datetime
from typing import Any, TextIO

import click

from huginn.cli import terminal
from huginn.cli.exits import ExitCode, manual
from huginn.cli.hits import show, show_links
from huginn.cli.options import config_option, json_option, load_settings, require_corpus, room_options
from huginn.errors import Refused

MODES = ("hybrid", "meaning", "words")  # as in `huginn.search.Mode`, which help must not import
MOST_BRIEF = (1 << 16) + 1
BY = ("file", "chunk")  # as in `huginn.search.By`


@click.command(
    short_help="Ask the index, get answers with citations.",
    epilog=manual(
        ExitCode.WELL, ExitCode.REFUSED, ExitCode.AWAY, ExitCode.BUSY, well="answered, also when nothing fits"
    ),
)
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@click.option(
    "--brief",
    type=click.File(encoding="utf-8"),
    metavar="FILE",
    help="Ask with a long text, up to 64 KiB.",
)
@click.option("--mode", type=click.Choice(MODES), default="hybrid", show_default=True, help="What counts as near.")
@click.option("--by", type=click.Choice(BY), default="file", show_default=True, help="What the texts are fused over.")
@click.option("--corpus", "corpora", metavar="NAME", multiple=True, help="Only this corpus: forge or chat. Repeatable.")
@click.option("--repo", "repos", metavar="NAME", multiple=True, help="Only this repository. Repeatable.")
@click.option("--path", "paths", metavar="PATH", multiple=True, help="Only this file or folder. Repeatable.")
@room_options
@click.option("--top-k", type=int, default=10, show_default=True, metavar="N", help="How many hits at most, 1 to 50.")
@click.option("--no-fold", is_flag=True, help="Show a text that stands in several places once for each of them.")
@click.option("--context", type=int, default=0, metavar="N", help="Show N lines or messages around too, up to 50.")
@click.option("--open", "only_links", is_flag=True, help="Print the permalinks alone, one a line.")
@json_option
@config_option
def search(
    texts: tuple[str, ...],
    brief: TextIO | None,
    mode: str,
    by: str,
    corpora: tuple[str, ...],
    repos: tuple[str, ...],
    paths: tuple[str, ...],
    rooms: tuple[str, ...],
    senders: tuple[str, ...],
    after: datetime | None,
    before: datetime | None,
    top_k: int,
    no_fold: bool,
    context: int,
    only_links: bool,
    as_json: bool,
) -> ExitCode:
    """Ask the index with one to eight texts, and get the places that answer them best.

    Each TEXT is a question of its own, so put one of several words in quotes. Several texts that ask for the same thing
    in other words are fused: what ranks high for more than one of them comes first. A text has at most 1,000 bytes; a
    longer one is given in a file as --brief, and is cut into as many texts as are left of the eight.

    By file, each file is shown by its best part first, and by at most three; --by chunk ranks every part for itself. A
    name, a code or a file in a TEXT that stands nowhere to the letter is told below the hits, which are merely near it.

    \b
    The mode says what counts as near:
      hybrid    meaning and words together
      meaning   what the embedder takes for related, in other words too
      words     the words themselves, rare ones counting more (BM25)

    A hit is a citation, repository@commit:path#lines, and under it the text as it was indexed, each line with its
    number in the file; --context shows what stands around it, behind another bar. Hits of one file or room that follow
    each other stand under one heading. The same text in several places is one hit that lists them all, unless --no-fold
    is given. A text that begins with a dash goes behind --.

    A hit in a room cites the room, the time, the first message and the last, and shows under it what was said next.
    A filter for files (--repo, --path) or messages (--room, --sender) asks that corpus alone; --after and --before are
    for both: when a message was sent, when a file last changed. Times are in UTC unless they say otherwise.

    \b
    Examples:
      huginn search "how are blobs read"
      huginn search "retry with back-off" "wait longer after each failure" --repo Huginn
      huginn search ECONNRESET --mode words --path src/net --top-k 3
      huginn search --brief issue.md
      huginn search "who broke the build" --corpus chat --after 2026-03-01
      huginn search "who holds the lock" --context 5
      huginn search "who holds the lock" --open | head -1
      huginn search "who holds the lock" --json | jq -r '.hits[].citation.path'
    """
    for corpus in corpora:
        require_corpus(corpus)
    if only_links and as_json:
        raise Refused("open", "a JSON document has the permalinks in it", next_step="leave out --open, or --json")
    return ask(
        as_json=as_json,
        only_links=only_links,
        texts=texts,
        brief=None if brief is None else _read(brief),
        mode=mode,
        by=by,
        corpora=corpora or None,
        repos=repos or None,
        paths=paths or None,
        rooms=rooms or None,
        senders=senders or None,
        after=after,
        before=before,
        top_k=top_k,
        fold=not no_fold,
        context=context,
    )


def ask(*, as_json: bool, only_links: bool = False, **values: Any) -> ExitCode:
    """Ask a `huginn.search.Query` of these values, and print the answer, or the permalinks of its hits alone."""
    settings = load_settings()
    from huginn.search import Query, search

    result = search(settings, Query(**values))
    if as_json:
        terminal.write_document(result)
    elif only_links:
        show_links(result)
    else:
        show(result)
    return ExitCode.WELL


def _read(brief: TextIO) -> str:
    """The file, no more of it than shows that it is too long."""
    try:
        return brief.read(MOST_BRIEF)
    except UnicodeDecodeError:
        raise Refused("brief", "is no valid text", next_step="give it as UTF-8") from None


sources = click.Command(
    "sources",
    callback=search.callback,
    params=search.params,
    help=f"The same command as 'huginn search', under a second name.\n\n{inspect.cleandoc(search.help or '')}",
    epilog=search.epilog,
    short_help="The same as search, under a second name.",
)
