"""Hits, told to a person: citation first, why it is there, then what was written.

In: answers of `huginn.search`. Out: lines on standard output. Hits keep their order, which their numbers tell; those of
one file or room that follow each other stand under one heading.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from huginn.cli import quoted, terminal
from huginn.cli.messages import CLOCK, DATE, print_counts, print_lines, said, span
from huginn.errors import Refused

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from huginn.search import Citation, ForgeCitation, Hit, Rank, SearchResult

_PART_SHOWN = 60  # characters of a part of a brief


def show(result: SearchResult) -> None:
    """Print the hits; the last line tells the counts and the times that were asked for."""
    from huginn.search.marking import tokens_asked

    texts = [*result.query.texts, *result.parts]
    console = terminal.console(sys.stdout)
    shown = _Shown(console, tokens_asked(texts) if console.is_terminal else frozenset(), is_many=len(texts) > 1)
    for _, group in groupby(enumerate(result.hits, start=1), key=lambda each: _common(each[1].citation)):
        hits = list(group)
        for number, hit in hits:
            print_lines(shown.lines(number, hit, is_first=number == hits[0][0], is_alone=len(hits) == 1), console)
    for number, part in enumerate(result.parts, start=len(result.query.texts) + 1):
        rest = "…" if len(part) > _PART_SHOWN else ""
        print_counts(f"text {number}: {quoted.name(part[:_PART_SHOWN].rstrip())}{rest}", console)
    for exact in result.exact:
        if not exact.found:
            print_counts(f"no exact match for {quoted.name(exact.name)}", console)
    counts = f"{terminal.counted(len(result.hits), 'hit')} for {terminal.counted(len(texts), 'text')}"
    print_counts(f"{counts}{span(result.query)} in {result.took_ms:.0f} ms", console)


def show_links(result: SearchResult) -> None:
    """Print the permalinks of the hits, one a line, best first; standard error tells which hits have none.

    Raises `Refused` if none of them has one.
    """
    links = {number: hit.citation.url or "" for number, hit in enumerate(result.hits, start=1)}
    without = [number for number, link in links.items() if not terminal.is_safe_link(link)]
    if links and len(without) == len(links):
        raise Refused("open", "none of the hits has a permalink", next_step="give its repository a `web` template")
    for number in without:
        terminal.write(f"huginn: hit {number} has no permalink\n", sys.stderr)
    terminal.write("".join(f"{link}\n" for number, link in links.items() if number not in without), sys.stdout)
    if not links:
        terminal.write("huginn: no hits\n", sys.stderr)


@dataclass(frozen=True)
class _Shown:
    """How hits are shown: where, the words to mark, whether there are several texts to tell apart."""

    console: Console
    asked: frozenset[int]
    is_many: bool

    def lines(self, number: int, hit: Hit, *, is_first: bool, is_alone: bool) -> Iterator[Text]:
        """A hit: under its own heading if it is alone in its group, else under that of the first."""
        for line in self._heading(hit.citation, is_first=is_first, is_alone=is_alone):
            yield from quoted.folded(line, self.console)
        yield from quoted.folded(self._why(number, hit), self.console, after="   ")
        yield from self._text(hit) if hit.citation.kind == "forge" else self._messages(hit)
        yield from self._elsewhere(hit)

    def _heading(self, citation: Citation, *, is_first: bool, is_alone: bool) -> Iterator[Text]:
        from rich.text import Text

        if is_alone:
            yield Text.assemble(self._cited(citation, "bold cyan"), f"  {_when(citation)}")
        else:
            if is_first:
                time = f"  {_when(citation)}" if citation.kind == "forge" else ""
                yield Text.assemble((_common(citation), "bold cyan"), time)
            own = _lines(citation) if citation.kind == "forge" else _when(citation)
            yield quoted.linked(own, citation.url, self.console, style="cyan")
        if citation.kind == "chat":
            yield Text(f"first {quoted.name(citation.event_id)}", "dim")
            if citation.last_event_id != citation.event_id:
                yield Text(f"last  {quoted.name(citation.last_event_id)}", "dim")

    def _why(self, number: int, hit: Hit) -> Text:
        from rich.text import Text

        ranks = (_ranked(rank, with_text_number=self.is_many) for rank in hit.ranks)
        return Text("; ".join([f"{number}. score {hit.score:.4f}", *ranks]), "dim")

    def _text(self, hit: Hit) -> Iterator[Text]:
        """The lines of a file: those before, those of the hit, those after, numbered."""
        assert hit.citation.kind == "forge"
        before, after = (hit.around.lines_before, hit.around.lines_after) if hit.around else ([], [])
        start, end = hit.citation.start_line, hit.citation.end_line
        digits = len(str(end + len(after)))
        for lines, first, bar in (
            (before, start - len(before), quoted.BAR_OF_CONTEXT),
            ([hit.text.rstrip("\n")], start, quoted.BAR),
            (after, end + 1, quoted.BAR_OF_CONTEXT),
        ):
            if lines:
                asked = self.asked if bar == quoted.BAR else frozenset()
                text = "".join(f"{line}\n" for line in lines)
                yield from quoted.text(text, self.console, bar=bar, first=first, digits=digits, asked=asked)

    def _messages(self, hit: Hit) -> Iterator[Text]:
        """The messages of a room: those before, those of the hit, those after or what was said next."""
        from rich.text import Text

        day, context = hit.citation.time.date(), quoted.BAR_OF_CONTEXT
        if hit.around:
            yield from said(hit.around.messages_before, self.console, day, bar=context)
        yield from said(hit.messages, self.console, day, matched=hit.matched, asked=self.asked)
        if hit.around:
            yield from said(hit.around.messages_after, self.console, day, bar=context)
        elif hit.following:
            yield Text("what was said next (context, no hit):", "dim")
            yield from said(hit.following.messages, self.console, day, bar=context)

    def _elsewhere(self, hit: Hit) -> Iterator[Text]:
        """The other places where the same text stands."""
        from rich.text import Text

        for place in hit.places:
            if place != hit.citation:
                yield from quoted.folded(Text.assemble(("also ", "dim"), self._cited(place, "cyan")), self.console)
        if hit.copies > len(hit.places):
            yield Text(f"and {hit.copies - len(hit.places)} more", "dim")

    def _cited(self, citation: Citation, style: str) -> Text:
        words = _common(citation) + (_lines(citation) if citation.kind == "forge" else "")
        return quoted.linked(words, citation.url, self.console, style=style)


def _common(citation: Citation) -> str:
    """What a citation shares with others of its file or room."""
    if citation.kind == "chat":
        return quoted.name(citation.alias or citation.room)
    return quoted.name(f"{citation.repo}@{citation.commit[:7]}:{citation.path}")


def _lines(citation: ForgeCitation) -> str:
    return f"#L{citation.start_line}-L{citation.end_line}"


def _when(citation: Citation) -> str:
    if citation.kind == "forge":
        return f"{citation.time:{DATE}}"
    start, end = citation.time, citation.end_time
    if (end - start).total_seconds() < 1:
        return f"{start:{DATE} {CLOCK}} UTC"
    day = "" if start.date() == end.date() else f"{end:{DATE}} "
    return f"{start:{DATE} {CLOCK}} to {day}{end:{CLOCK}} UTC"


def _ranked(rank: Rank, *, with_text_number: bool) -> str:
    sides = [
        f"{name} {value:.2f}" for name, value in (("words", rank.bm25), ("meaning", rank.cosine)) if value is not None
    ]
    of_text = f"text {rank.text + 1} " if with_text_number else ""
    return f"{of_text}rank {rank.rank}" + (f" ({', '.join(sides)})" if sides else "")
