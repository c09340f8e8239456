"""`huginn search` and `huginn sources`: questions in, citations out.

In: texts and filters. Out: for people the hits, citation first, and the counts; for programs one document. Indexed
text is printed behind a bar on every line, so that it cannot pass for what Huginn says.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from huginn.cli import terminal
from huginn.cli.exits import ExitCode, manual
from huginn.cli.options import config_option, json_option, load_settings, require_corpus

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from huginn.search import Citation, Hit, Rank, SearchResult

MODES = ("hybrid", "meaning", "words")  # as in `huginn.search.Mode`, which help must not import
_BAR = "│ "


@click.command(
    short_help="Ask the index, get answers with citations.",
    epilog=manual(
        ExitCode.WELL, ExitCode.REFUSED, ExitCode.AWAY, ExitCode.BUSY, well="answered, also when nothing fits"
    ),
)
@click.argument("texts", metavar="TEXT...", nargs=-1, required=True)
@click.option("--mode", type=click.Choice(MODES), default="hybrid", show_default=True, help="What counts as near.")
@click.option("--corpus", "corpora", metavar="NAME", multiple=True, help="Only this corpus: forge. Repeatable.")
@click.option("--repo", "repos", metavar="NAME", multiple=True, help="Only this repository. Repeatable.")
@click.option("--path", "paths", metavar="PATH", multiple=True, help="Only this file or folder. Repeatable.")
@click.option("--top-k", type=int, default=10, show_default=True, metavar="N", help="How many hits at most, 1 to 50.")
@click.option("--no-fold", is_flag=True, help="Show a text that stands in several places once for each of them.")
@json_option
@config_option
def search(
    texts: tuple[str, ...],
    mode: str,
    corpora: tuple[str, ...],
    repos: tuple[str, ...],
    paths: tuple[str, ...],
    top_k: int,
    no_fold: bool,
    as_json: bool,
) -> ExitCode:
    """Ask the index with one to eight texts, and get the places that answer them best.

    Each TEXT is a question of its own, so put one of several words in quotes. Several texts that ask for the same thing
    in other words are fused: what ranks high for more than one of them comes first. A text has at most 1,000 bytes.

    \b
    The mode says what counts as near:
      hybrid    meaning and words together
      meaning   what the embedder takes for related, in other words too
      words     the words themselves, rare ones counting more (BM25)

    A hit is a citation, repository@commit:path#lines, and under it the text as it was indexed. The same text in several
    places is one hit that lists them all, unless --no-fold is given. A text that begins with a dash goes behind --.

    \b
    Examples:
      huginn search "how are blobs read"
      huginn search "retry with back-off" "wait longer after each failure" --repo Huginn
      huginn search ECONNRESET --mode words --path src/net --top-k 3
      huginn search "who holds the lock" --json | jq -r '.hits[].citation.path'
    """
    for corpus in corpora:
        require_corpus(corpus)
    settings = load_settings()
    from huginn.search import Query
    from huginn.search import search as ask

    query = Query(
        texts=texts,
        mode=mode,
        corpora=corpora or None,
        repos=repos or None,
        paths=paths or None,
        top_k=top_k,
        fold=not no_fold,
    )
    result = ask(settings, query)
    if as_json:
        terminal.write_document(result)
    else:
        show(result)
    return ExitCode.WELL


sources = click.Command(
    "sources",
    callback=search.callback,
    params=search.params,
    help=f"The same command as 'huginn search', under a second name.\n\n{inspect.cleandoc(search.help or '')}",
    epilog=search.epilog,
    short_help="The same as search, under a second name.",
)


def show(result: SearchResult) -> None:
    """Print the hits for a person; the last line tells the counts."""
    from rich.text import Text

    console = terminal.console(sys.stdout)
    number = len(result.query.texts)
    for hit in result.hits:
        for line in _lines(hit, console, with_text_number=number > 1):
            console.print(line, soft_wrap=True)
        console.print()
    hits, texts = terminal.counted(len(result.hits), "hit"), terminal.counted(number, "text")
    counts = f"{hits} for {texts} in {result.took_ms:.0f} ms"
    console.print(Text(counts, style="dim"), soft_wrap=True)


def _lines(hit: Hit, console: Console, *, with_text_number: bool) -> Iterator[Text]:
    from rich.text import Text

    yield Text.assemble(_cited(hit.citation, console, style="bold cyan"), f"  {hit.citation.time:%Y-%m-%d}")
    yield Text("; ".join([f"score {hit.score:.4f}", *(_ranked(rank, with_text_number) for rank in hit.ranks)]), "dim")
    for line in terminal.harmless(hit.text).rstrip("\n").split("\n"):
        for piece in _pieces(line, console):
            yield Text.assemble((_BAR, "dim"), piece)
    for place in hit.places:
        if place != hit.citation:
            yield Text.assemble(("also ", "dim"), _cited(place, console, style="cyan"))
    if hit.copies > len(hit.places):
        yield Text(f"and {hit.copies - len(hit.places)} more", "dim")


def _cited(citation: Citation, console: Console, *, style: str) -> Text:
    from rich.style import Style
    from rich.text import Text

    lines = f"#L{citation.start_line}-L{citation.end_line}"
    words = terminal.harmless_line(f"{citation.repo}@{citation.commit[:7]}:{citation.path}{lines}")
    linked = citation.url is not None and terminal.takes_links(console) and terminal.is_safe_link(citation.url)
    return Text(words, Style.parse(style) + Style(link=citation.url if linked else None))


def _ranked(rank: Rank, with_text_number: bool) -> str:
    sides = [
        f"{name} {value:.2f}" for name, value in (("words", rank.bm25), ("meaning", rank.cosine)) if value is not None
    ]
    of_text = f"text {rank.text + 1} " if with_text_number else ""
    return f"{of_text}rank {rank.rank}" + (f" ({', '.join(sides)})" if sides else "")


def _pieces(line: str, console: Console) -> list[str]:
    """`line` cut to the width of a terminal, so that its rest gets a bar too; whole in a pipe."""
    if not console.is_terminal:
        return [line]
    from rich.cells import chop_cells

    return chop_cells(line.expandtabs(4), max(console.width - len(_BAR), 10)) or [""]
