"""Words that somebody else wrote, as they are printed: so that nothing in them can pass for what Huginn says.

In: texts, names and addresses of the index. Out: lines for a console. Texts stand behind a bar on every line, also
where a terminal would have wrapped them; names stand on one line, and what is too wide goes on behind a bar.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from huginn.cli import terminal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

BAR = "│ "
BAR_OF_CONTEXT = "┊ "

_MARK = "bold underline"
_LEAST_ROOM = 10  # cells of a line that are left for words, however narrow the terminal
_FIRST_MARK, _BOXES = "\u0300", ("\u2500", "\u259f")
_GAP = re.compile(r"(?<=\s)\s|\A\s|\s\Z")


def name(text: str) -> str:
    """A name, a path, a sender: on one line, and without the gap that parts one thing from the next on a line."""
    return _GAP.sub(lambda blank: f"\\u{ord(blank[0]):04x}", terminal.harmless_line(text))


def linked(words: str, url: str | None, console: Console, *, style: str) -> Text:
    """`words` (a `name`) as a link, where the terminal takes links and the address is one of the web."""
    from rich.style import Style
    from rich.text import Text

    is_linked = url is not None and terminal.takes_links(console) and terminal.is_safe_link(url)
    return Text(words, Style.parse(style) + Style(link=url if is_linked else None))


def text(
    words: str,
    console: Console,
    *,
    bar: str = BAR,
    first: int | None = None,
    digits: int = 0,
    asked: frozenset[int] = frozenset(),
) -> Iterator[Text]:
    """The lines of a text behind a bar, with the words that are `asked` for marked on a terminal.

    `first`: the number of its first line in the file, and of `digits` the number of the last that is shown.
    """
    from rich.text import Text

    words = words.rstrip("\n") if first is None else words.removesuffix("\n")
    for number, line in enumerate(terminal.harmless(f"{words}\n").split("\n")[:-1], start=first or 0):
        before, after = (bar, bar) if first is None else (f"{bar}{number:>{digits}}  ", f"{bar}{'':{digits}}  ")
        shown = Text(line.expandtabs(4))
        if asked and console.is_terminal:
            _mark(shown, asked)
        yield from folded(shown, console, before=before, after=after)


def folded(line: Text, console: Console, *, before: str = "", after: str = BAR) -> Iterator[Text]:
    """A line cut to what a terminal has of width, between words where that may be; whole in a pipe.

    `before` stands in front of it, `after`, which is as wide, in front of its rest.
    """
    from rich.text import Text

    pieces = [line]
    if console.is_terminal:
        pieces = list(line.divide(_cuts(line.plain, max(console.width - len(after), _LEAST_ROOM))))
    for number, piece in enumerate(pieces):
        yield Text.assemble((after if number else before, "dim"), piece)


def _cuts(line: str, room: int) -> list[int]:
    """Where to cut a line so that each piece has at most `room` cells."""
    cuts, start, used = [], 0, 0
    for place, character in enumerate(line):
        used += _cells(character)
        if used > room:
            blank = line.rfind(" ", start + (place - start) * 2 // 3, place) + 1
            start = blank or place
            cuts.append(start)
            used = sum(map(_cells, line[start : place + 1]))
    return cuts


@lru_cache(maxsize=4096)
def _cells(character: str) -> int:
    """The most cells that a terminal may take for a character: they differ on marks, on signs that may be pictures,
    and on what has no meaning. Else what is drawn wider than was thought would go on in a line without a bar.
    """
    from rich.cells import cell_len

    kind = unicodedata.category(character)
    if character < _FIRST_MARK or _BOXES[0] <= character <= _BOXES[1]:
        return cell_len(character)
    if kind in ("So", "Sk", "Sm", "Co", "Cn"):
        return 2
    return max(cell_len(character), 1)


def _mark(line: Text, asked: frozenset[int]) -> None:
    from huginn.search.marking import marks

    for start, end in marks(line.plain, asked):
        line.stylize(_MARK, start, end)
