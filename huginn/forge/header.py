"""The header line in front of every embedded text: where the chunk stands, for meaning and for words alike.

In: the repository's name, the path as it is shown, the enclosing names. Out: one line. The rule that lives here: path
and names stand there twice, as they are written and taken apart into words, so that both `sessions.py` and `session`,
`getUserName` and `user name` are found. The line is bounded, so that with the longest chunk it fits the embedder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

HEADER_VERSION = "1"

LIMIT: Final = 400  # characters, the whole line
_REPO: Final = 60
_PATH: Final = 110
_NAMES: Final = 100
_NAME_COUNT: Final = 3

# `getUserName`, `HTTPServer`, `utf8Text`: where a word of its own begins inside a word.
_SMALL: Final = "a-zß-öø-ÿα-ωа-я"
_CAPITAL: Final = "A-ZÀ-ÖØ-ÞΑ-ΩА-Я"
CAMEL: Final = re.compile(rf"(?<=[{_SMALL}0-9])(?=[{_CAPITAL}])|(?<=[{_CAPITAL}])(?=[{_CAPITAL}][{_SMALL}])")
_BETWEEN_WORDS: Final = re.compile(r"[\W_]+")


def header(repo: str, path: str, names: Sequence[str]) -> str:
    """The header of a chunk: repository and path, the path's words, the innermost three names, their words."""
    inner = [_line(name) for name in names[-_NAME_COUNT:]]
    parts = [*_place(repo, path), _tail(" ".join(inner), _NAMES), _words(inner)]
    return " | ".join(part for part in parts if part)[:LIMIT].rstrip(" |")


@lru_cache(maxsize=16)  # a file's chunks come one after the other
def _place(repo: str, path: str) -> tuple[str, str]:
    return f"{_line(repo)[:_REPO]} {_tail(_line(path), _PATH)}", _words([_tail(path, _PATH)])


def _line(text: str) -> str:
    """Without control characters and separators of lines, which would break the line or the terminal."""
    if not text.isprintable():
        text = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(text.split())


def _tail(text: str, length: int) -> str:
    """The end of a text, which tells more than its beginning: the file, the innermost name."""
    return text if len(text) <= length else "…" + text[1 - length :]


def _words(texts: Iterable[str]) -> str:
    words = (word for text in texts for word in _BETWEEN_WORDS.split(CAMEL.sub(" ", text)))
    return " ".join(word.lower() for word in words if word)
