"""Which files are not read at all: path, mode and size -> a reason, or None.

In: what git's tree says of an entry, before its content is known. Out: the one true reason to skip it, or None.
The rule that lives here: the order of reasons (link, submodule, excluded, generated, size), what counts as generated
when the settings say nothing else, and how a path that is no text is shown. What only the content can tell (binary,
encoding, ...) is in `huginn.forge.read`; whether a path holds a secret is asked by the caller.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from enum import StrEnum

import pathspec

from huginn.errors import Refused

SKIP_VERSION = "1"


class SkipReason(StrEnum):
    """Why a path of the tree has no chunks in the index."""

    BINARY = "binary"
    SIZE = "size"
    ENCODING = "encoding"
    LINK = "link"
    SUBMODULE = "submodule"
    LFS_POINTER = "lfs pointer"
    GENERATED = "generated"
    EXCLUDED = "excluded"
    EMPTY = "empty"
    SECRET_IN_PATH = "secret in path"


# gitignore patterns: text that a program wrote or that another project owns. Nobody searches for it by meaning, and
# it drowns what the team wrote. Short on purpose; the settings replace it as a whole.
DEFAULT_GENERATED: tuple[str, ...] = (
    # lock files
    "*.lock",
    "*.lockb",
    "*.lockfile",
    "*.lock.json",
    "*.lock.hcl",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "go.sum",
    "Package.resolved",
    # minified, and source maps
    "*.min.js",
    "*.min.mjs",
    "*.min.css",
    "*.js.map",
    "*.mjs.map",
    "*.cjs.map",
    "*.css.map",
    # written by protocol and interface compilers
    "*_pb2.py",
    "*_pb2_grpc.py",
    "*.pb.go",
    "*.pb.cc",
    "*.pb.h",
    "*.g.dart",
    "*.freezed.dart",
    "*.Designer.cs",
    # vendored trees
    "node_modules/",
    "bower_components/",
    "vendor/",
    "third_party/",
    "third-party/",
    "site-packages/",
    "Pods/",
    ".yarn/",
)

_LINK = "120000"
_SUBMODULE = "160000"


class SkipRules:
    """The skip rules of one repository, built once from its settings.

    `max_bytes` is the largest file that is read, `exclude` and `generated` are gitignore patterns. A pattern that git
    would not understand is `Refused`, naming its place in the list.
    """

    def __init__(
        self, *, max_bytes: int = 1 << 20, exclude: Sequence[str] = (), generated: Sequence[str] = DEFAULT_GENERATED
    ) -> None:
        self._max_bytes = max_bytes
        self._excluded = _patterns("exclude", exclude)
        self._generated = _patterns("generated", generated)

    def reason(self, path: bytes, mode: str, size: int | None) -> SkipReason | None:
        """Why the entry is not read; None if it is. `size` is None where git gives none."""
        if mode == _LINK:
            return SkipReason.LINK
        if mode == _SUBMODULE:
            return SkipReason.SUBMODULE
        name = _matchable(path)
        if self._excluded.match_file(name):
            return SkipReason.EXCLUDED
        if self._generated.match_file(name):
            return SkipReason.GENERATED
        if size is not None and size > self._max_bytes:
            return SkipReason.SIZE
        return None


def _patterns(field: str, patterns: Sequence[str]) -> pathspec.GitIgnoreSpec:
    for place, pattern in enumerate(patterns):
        try:
            pathspec.GitIgnoreSpec.from_lines([pattern])
        except ValueError:
            raise Refused(
                f"{field}[{place}]",
                f"{pattern!r} is no gitignore pattern",
                next_step='write it as in a .gitignore file, such as "docs/old/" or "*.svg"',
            ) from None
    return pathspec.GitIgnoreSpec.from_lines(patterns)


def _matchable(path: bytes) -> str:
    """The path as the pattern library takes it: bad bytes escaped, no line feed (which its `.` does not match)."""
    return path.decode("utf-8", "surrogateescape").replace("\n", "\x7f")


_C_ESCAPES = {
    "\a": r"\a", "\b": r"\b", "\t": r"\t", "\n": r"\n", "\v": r"\v", "\f": r"\f", "\r": r"\r", '"': r"\"", "\\": r"\\",
}  # fmt: skip


def display_path(path: bytes) -> str:
    """The path as text, told apart from every other path: as it is, or quoted as git quotes.

    Valid UTF-8 without control characters that does not begin with a double quote is shown as it is. All else is put
    in double quotes with C escapes, bad bytes and control characters in octal: always valid, never two paths alike.
    """
    text = path.decode("utf-8", "surrogateescape")
    if not text.startswith('"') and not _NEEDS_QUOTES.search(text):
        return text
    return '"' + "".join(_quoted(character) for character in text) + '"'


# Control characters (C0, DEL, C1), and the surrogates that stand for bad bytes.
_NEEDS_QUOTES = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def _quoted(character: str) -> str:
    if character in _C_ESCAPES:
        return _C_ESCAPES[character]
    if unicodedata.category(character) in ("Cc", "Cs"):
        return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))
    return character
