"""The metrics that a caller may see: those of their corpora alone."""

from __future__ import annotations

import re

from huginn.serve.access import ALL, Caller

_OF_CORPUS = re.compile(r'\w+\{corpus="(\w+)"')
_OF_FLOW = re.compile(r'\w+\{flow="([\w-]*)"')
_OF_THE_HOST = re.compile(r"huginn_(disk|writer|metrics|embedder)_")


def seen_by(caller: Caller, text: str) -> str:
    """The lines of `text` that tell of the caller's corpora, and of the host; sums over all corpora are left out."""
    if set(caller.corpora) == set(ALL):
        return text
    return "".join(f"{line}\n" for line in text.splitlines() if _is_seen(caller, line))


def _is_seen(caller: Caller, line: str) -> bool:
    if line.startswith("#") or _OF_THE_HOST.match(line):
        return True
    if found := _OF_CORPUS.match(line):
        return found[1] in caller.corpora
    found = _OF_FLOW.match(line)
    return found is not None and caller.sees(found[1])
