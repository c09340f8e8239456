"""The outline of a text: where its definitions and headings begin, and what encloses each line.

In: the lines of a text and its language. Out: the lines at which the section of a definition begins (its decorators,
attributes and doc comments belong to it), and for each line the names around it, outermost first. The rules that live
here: what belongs to a definition, and where a scope ends. No grammar is needed: code is read by its indentation,
documents by the levels of their headings.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from huginn.forge.language import Language, Scope

_NAME_LENGTH: Final = 80
# The last line of a decorator or an attribute, and how its first line begins.
_BACK_TO: Final = {")": "@", ")]": "#["}
_UNDERLINE: Final = re.compile(r"(?<=\n)([=~^\"'`#*+.:_-])\1{1,}+[ \t]*+\r?$", re.MULTILINE)
_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_FRONT_MATTER: Final = re.compile(r"\A---[ \t]*+\r?\n(?:(?!---)[^\n]*+\n)*+---")
# A line that belongs to the scope above although it is not indented further: brackets, comments, labels, `else`, `end`.
_STILL_INSIDE: Final = re.compile(
    r"[ \t]*+(?:\W|(?:end|else|elif|elsif|begin|then|do|done|fi|esac|rescue|ensure|except|finally)\b"
    r"|[\w ]{1,40}+:[ \t]*+\r?$)"
)
_COMMENT: Final = re.compile(r"[ \t]*+(?:#|//|/\*|\*|--|;|@|\[|<!--|$)")
_BLANK: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class _Definition:
    section: int  # the first line that belongs to it
    line: int  # the line with its name
    level: int
    name: str  # empty: it begins a section and encloses nothing


class Outline:
    """Where sections begin, and which names enclose a line. Lines are counted from 0."""

    def __init__(self, sections: Sequence[int], changes: Sequence[tuple[int, tuple[str, ...]]]) -> None:
        self.sections = sections
        self._lines = [line for line, _ in changes]
        self._names = [names for _, names in changes]

    def names(self, line: int) -> tuple[str, ...]:
        """The names that enclose the line, outermost first."""
        place = bisect_right(self._lines, line) - 1
        return self._names[place] if place >= 0 else ()


def outline(text: str, lines: Sequence[str], starts: Sequence[int], language: Language) -> Outline:
    """The outline of `text`, whose `lines` begin at the characters `starts`."""
    if language.definition is None and language.scope is Scope.INDENT:
        return Outline((), ())
    definitions = list(_definitions(text, lines, starts, language))
    ends = _dedents(lines, definitions) if language.scope is Scope.INDENT else {}
    return Outline([each.section for each in definitions], list(_changes(definitions, ends)))


def _definitions(text: str, lines: Sequence[str], starts: Sequence[int], language: Language) -> Iterator[_Definition]:
    before = -1
    for line, level, name in _named_lines(text, lines, starts, language):
        if line > before:
            section = _section_start(lines, line, before + 1, language)
            before = line + 1 if language.scope is Scope.UNDERLINED else line
            yield _Definition(section, line, level, _tidy(name))


def _named_lines(
    text: str, lines: Sequence[str], starts: Sequence[int], language: Language
) -> Iterator[tuple[int, int, str]]:
    """(line, level, name) of whatever has a name, in the order of lines."""
    if language.scope in (Scope.MARKDOWN, Scope.UNDERLINED):
        yield from sorted(_headings(text, lines, starts, language))
    elif language.definition is not None:
        for match in language.definition.finditer(text):
            line = bisect_right(starts, match.start()) - 1
            level = _marks(match[0]) if language.scope is Scope.MARKED else _indent(lines[line])
            yield line, level, match[match.lastindex or 0]


def _headings(
    text: str, lines: Sequence[str], starts: Sequence[int], language: Language
) -> Iterator[tuple[int, int, str]]:
    """Headings; those in a block of code have no name.

    They are told all the same, and cut at: whether a line stands in a block of code depends on all that is above it,
    and one new fence at the top would move every cut of the file.
    """
    markdown = language.scope is Scope.MARKDOWN
    hidden = _fenced(text) if markdown else []
    if language.definition is not None:
        for match in language.definition.finditer(text):
            name = "" if _within(match.start(), hidden) else match[match.lastindex or 0].rstrip(" \t\r#")
            yield bisect_right(starts, match.start()) - 1, _marks(match[0]), name
    levels: dict[str, int] = {"=": 1, "-": 2} if markdown else {}
    for match in _UNDERLINE.finditer(text):
        line = bisect_right(starts, match.start()) - 2
        title = lines[line]
        if markdown and match[1] not in levels:
            continue
        if _is_title(title) and (markdown or len(title.rstrip()) <= len(match[0].rstrip()) + 2):
            name = "" if _within(match.start(), hidden) else title
            yield line, levels.setdefault(match[1], len(levels) + 1), name


def _is_title(line: str) -> bool:
    return bool(line.strip()) and line[0] not in " \t#>|-*+=~<`" and any(map(str.isalnum, line[:200]))


def _fenced(text: str) -> list[tuple[int, int]]:
    """The spans of code blocks and of the front matter, in which nothing is a heading."""
    front = _FRONT_MATTER.match(text)
    spans = [front.span()] if front else []
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence[1].startswith(opened[1]):
            spans.append((opened.start(), fence.end()))
            opened = None
    if opened is not None:
        spans.append((opened.start(), len(text)))
    return spans


def _within(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    nearest = bisect_right(spans, (place, _BLANK)) - 1
    return nearest >= 0 and place <= spans[nearest][1]


def _marks(heading: str) -> int:
    return len(heading) - len(heading.lstrip(heading[0]))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _tidy(name: str) -> str:
    printable = "".join(character if character.isprintable() else " " for character in name.replace('"', ""))
    return " ".join(printable.split())[:_NAME_LENGTH].rstrip(" ,:")


def _section_start(lines: Sequence[str], line: int, first: int, language: Language) -> int:
    """The first of the lines directly above `line` that belong to it, not before `first`."""
    if language.lead is None:
        return line
    start = line
    while start > first:
        above = lines[start - 1]
        if language.lead.match(above):
            start -= 1
            continue
        opening = "/*" if above.rstrip().endswith("*/") else _BACK_TO.get(above.strip())
        opened = _line_that_opens(lines, start - 1, first, opening) if opening else None
        if opened is None:
            break
        start = opened
    return start


def _line_that_opens(lines: Sequence[str], line: int, first: int, opening: str) -> int | None:
    for place in range(line - 1, max(first, line - 60) - 1, -1):
        content = lines[place].lstrip()
        if content.startswith(opening):
            return place
        if not content:
            return None
    return None


def _dedents(lines: Sequence[str], definitions: Sequence[_Definition]) -> dict[int, int]:
    """Line -> level, for the lines that end scopes of this level and deeper by not being indented further."""
    ends: dict[int, int] = {}
    indents = [len(line) - len(content) if (content := line.lstrip(" \t")) else _BLANK for line in lines]
    after = pairwise([*definitions, _Definition(len(lines), len(lines), 0, "")])
    levels: list[int] = []
    for definition, following in after:
        levels = [level for level in levels if level < definition.level]
        levels.append(definition.level)
        for line in range(definition.line + 1, following.section):
            if indents[line] <= levels[-1] and not _STILL_INSIDE.match(lines[line]):
                ends[_after_scope(lines, line, definition.line)] = indents[line]
                levels = [level for level in levels if level < indents[line]]
                if not levels:
                    break
    return ends


def _after_scope(lines: Sequence[str], line: int, definition: int) -> int:
    """The comments directly above a line that ends a scope have left it as well."""
    while (
        line - 1 > definition and _COMMENT.match(lines[line - 1]) and _indent(lines[line - 1]) <= _indent(lines[line])
    ):
        line -= 1
    return line


def _changes(definitions: Sequence[_Definition], ends: dict[int, int]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """(line, names from there on), in the order of lines."""
    stack: list[tuple[int, str]] = []
    opened = [(each.section, 1, each.level, each.name) for each in definitions if each.name]
    for line, _, level, name in sorted([*opened, *((line, 0, level, "") for line, level in ends.items())]):
        stack = [(outer, around) for outer, around in stack if outer < level]
        if name:
            stack.append((level, name))
        yield line, tuple(around for _, around in stack)
