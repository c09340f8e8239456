"""Takes secrets out of text: str -> Clean. The only maker of `Clean`, and the owner of the rule what a secret is.

A whole text goes in, before it is cut into pieces; out comes the same text, with as many lines, in which each secret
is replaced by `[secret: kind]`, and the count of masks by kind. Nothing else comes out: no log, no error text ever
holds a value, and nothing is asked over the network.

Where to look: providers' tokens are found by the kingfisher library; the rules of our own are in `huginn.scrubbing`:
`tokens` (tokens, keys and addresses that tell by themselves), `named` (values beside a telling name, `names`),
`headers`, `documents` (manifests and commands), and `shapes`, which tells a secret from an example, a hash or a name.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic_core import core_schema

from huginn.scrubbing import library
from huginn.scrubbing.documents import find_in_documents
from huginn.scrubbing.named import find_named
from huginn.scrubbing.shapes import is_known_form, looks_random
from huginn.scrubbing.tokens import Span, find_tokens

VERSION = "1"
"""To be raised whenever what is masked changes: it is a part of the index's label."""

_MAKER = object()  # the key to making `Clean`, which stays in this file
_MASK = re.compile(r"\[secret: [a-z0-9][a-z0-9 ]{0,60}\]")
# A mask that was cut in two is still no secret; what a cut leaves stands at the edge of a text.
_CUT_MASK_BEFORE = re.compile(r"[a-z0-9: ]{0,70}\]")
_CUT_MASK_BEHIND = re.compile(r"\[s?e?c?r?e?t?:? ?[a-z0-9 ]{0,60}\Z")

_APART = "\n" * 64  # between lines that are looked at together

_LONG_WORD = re.compile(r"[^\s\"'`<>(){},;]{12,}")
_ID_FORM = re.compile(r"[$!#@].*|(?:0x|sha\d+[:-])?[0-9a-fA-F]+|[\w-]+(?:\.[\w-]+)+(?:[/:][\w./:-]*)?|.*\[secret: .*")


class Clean(str):
    """Text from which secrets have been taken out. Only `scrub` makes it; a cut of it is clean as well."""

    __slots__ = ()

    def __new__(cls, text: str, maker: object = None) -> Clean:
        """Refuse all that do not hold the key."""
        if maker is not _MAKER:
            raise TypeError("only huginn.scrub makes Clean: call scrub(text).clean")
        return super().__new__(cls, text)

    def part(self, start: int, end: int) -> Clean:
        """The characters from `start` up to `end`, which are as clean as the whole."""
        return Clean(self[start:end], _MAKER)

    def __copy__(self) -> Clean:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Clean:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return from_our_process, (str(self),)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> core_schema.CoreSchema:
        """A field takes a `Clean` and nothing else, and is written as a string."""
        return core_schema.is_instance_schema(cls, serialization=core_schema.to_string_ser_schema())

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: core_schema.CoreSchema, handler: Any) -> dict[str, str]:
        return {"type": "string"}


def from_our_process(text: str) -> Clean:
    """A `Clean` that was pickled by another process of ours."""
    return Clean(text, _MAKER)


@dataclass(frozen=True)
class Scrubbed:
    """A scrubbed text, and how many places were masked, by kind."""

    clean: Clean
    masked: Mapping[str, int]


def scrub(text: str) -> Scrubbed:
    """Mask the secrets in `text`. A second time changes nothing."""
    masked: Counter[str] = Counter()
    # A mask can bring a name and a value closer together. Each round hides at least one more character for good, so
    # this ends; nearly always after the second look.
    while spans := _find(text):
        text = _masked(text, spans)
        masked.update(kind for _, _, kind in spans)
    return Scrubbed(Clean(text, _MAKER), MappingProxyType(dict(sorted(masked.items()))))


def scrub_lines(lines: Collection[str]) -> dict[str, Clean]:
    """Each line as `scrub` leaves it, for many short ones that hardly ever hold a secret: they are looked at together.

    Between two lines stands more white space than any rule reaches over, and no rule tells the end of a text from that
    of a line. So where nothing is found in all, nothing is in one; else each is scrubbed by itself.
    """
    together = _APART.join(lines)
    if together.count("\n") != len(_APART) * (len(lines) - 1) or _find(together):
        return {line: scrub(line).clean for line in lines}
    return {line: Clean(line, _MAKER) for line in lines}


def scrub_question(text: str) -> Scrubbed:
    """Mask the secrets in what somebody searches for.

    A question has no name beside a value, so that here a word that looks drawn by lot is masked by its shape alone.
    Nobody searches for one, save for ids: hashes and commits, UUIDs, events and rooms, versions and addresses.
    """
    scrubbed = scrub(text)
    words = [match for match in _LONG_WORD.finditer(scrubbed.clean) if _is_drawn_by_lot(match[0])]
    if not words:
        return scrubbed
    spans = [(match.start(), match.end(), "random word") for match in words]
    masked = Counter(scrubbed.masked) + Counter({"random word": len(words)})
    return Scrubbed(Clean(_masked(scrubbed.clean, spans), _MAKER), MappingProxyType(dict(sorted(masked.items()))))


def _is_drawn_by_lot(word: str) -> bool:
    return looks_random(word) and not is_known_form(word) and not _ID_FORM.fullmatch(word)


def join(*lines: Clean) -> Clean:
    """Clean texts below one another."""
    return Clean("\n".join(lines), _MAKER)


def holds_secret(text: str) -> bool:
    """Whether `text`, a path say, holds a secret."""
    return bool(_find(text))


@cache
def fingerprint() -> str:
    """A short digest of all that decides what is masked: this version, the rules' text, the library's version.

    Of what this process has loaded: it is made once.
    """
    import importlib.metadata  # noqa: PLC0415 -- it takes as long to import as all the rest

    digest = hashlib.sha256(VERSION.encode())
    here = Path(__file__)
    for path in (here, *sorted(here.with_name("scrubbing").glob("*.*"))):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    digest.update(importlib.metadata.version("kingfisher-secret-scanner").encode())
    return digest.hexdigest()[:16]


def prepare(cache_dir: Path) -> None:
    """Keep the compiled rules in `cache_dir`, a folder of the state: the first compilation takes seconds."""
    library.use_cache(cache_dir)


def _find(text: str) -> list[Span]:
    """All places of `text` that are to be masked, in order, none overlapping another."""
    view = text.replace("\0", " ") if "\0" in text else text
    masks = _masks(view)
    view = _MASK.sub(lambda m: "*" * len(m[0]), view)
    lowered = view.lower()
    if len(lowered) != len(view):  # a few capitals become two letters
        lowered = "".join(small if len(small := c.lower()) == 1 else c for c in view)
    spans = [
        *library.find_known(view),
        *find_tokens(view),
        *find_named(view, lowered),
        *find_in_documents(view, lowered),
    ]
    return _without_masks(_merged(spans), masks, view)


def _masks(text: str) -> list[tuple[int, int]]:
    """Where masks stand already, whole ones and the two that a cut may have left at the edges."""
    masks = [m.span() for m in _MASK.finditer(text)]
    if before := _CUT_MASK_BEFORE.match(text):
        masks.insert(0, before.span())
    if behind := _CUT_MASK_BEHIND.search(text, max(0, len(text) - 80)):
        masks.append(behind.span())
    return masks


def _merged(spans: list[Span]) -> list[Span]:
    """Overlapping spans become one, named after the one that was found by the most exact rule."""
    rank = {span: number for number, span in reversed(list(enumerate(spans)))}
    merged: list[tuple[int, int, Span]] = []
    for span in sorted(set(spans)):
        start, end, _ = span
        if merged and start < merged[-1][1]:
            first, last, best = merged[-1]
            merged[-1] = (first, max(last, end), min(best, span, key=rank.__getitem__))
        elif start < end:
            merged.append((start, end, span))
    return [(start, end, best[2]) for start, end, best in merged]


def _without_masks(spans: list[Span], masks: list[tuple[int, int]], view: str) -> list[Span]:
    """What of the spans is not masked yet."""
    left: list[Span] = []
    for start, end, kind in spans:
        position = start
        for mask_start, mask_end in masks:
            if mask_end <= position or mask_start >= end:
                continue
            left.append((position, max(position, mask_start), kind))
            position = max(position, mask_end)
        left.append((position, end, kind))
    return [(start, end, kind) for start, end, kind in left if any(c.isalnum() for c in view[start:end])]


def _masked(text: str, spans: list[Span]) -> str:
    """`text` with its spans replaced. The lines stay as many: a mask keeps the line breaks of what it covers."""
    pieces = []
    position = 0
    for start, end, kind in spans:
        pieces.append(text[position:start])
        pieces.append(f"[secret: {kind}]" + "\n" * text.count("\n", start, end))
        position = end
    return "".join([*pieces, text[position:]])
