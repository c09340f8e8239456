"""Secrets that only the document around them gives away: text goes in, spans (start, end, kind) come out.

The rules that live here: the values of a Kubernetes `Secret`, the logins of a docker config, options of well-known
commands (`curl -u`, `mysql -p`, `sshpass -p`), and lines of a `.pgpass` file.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from huginn.scrubbing.shapes import is_example, is_secret_literal, looks_random
from huginn.scrubbing.tokens import Span

_KIND_SECRET = re.compile(r"(?:^|[{,\n])[ \t-]*[\"']?kind[\"']?[ \t]*:[ \t]*[\"']?Secret[\"']?[ \t]*(?=[,}#\r\n]|$)")
_DOCUMENT_END = re.compile(r"^---", re.MULTILINE)
_DATA_LINE = re.compile(r"(?P<indent>[ \t]*)(?:- )?[\"']?(?:data|stringData)[\"']?[ \t]*:[ \t]*(?:#.*)?$")
_ENTRY = re.compile(r"(?P<indent>[ \t]*)[\"']?[\w.\-/]+[\"']?[ \t]*:[ \t]*(?P<value>[^\s#].*?)?[ \t]*$")
_DATA_OBJECT = re.compile(r"[\"']?(?:data|stringData)[\"']?[ \t]*:\s*\{(?P<entries>[^{}]*+)\}")
_OBJECT_ENTRY = re.compile(
    r"[\"']?[\w.\-/]+[\"']?\s*:\s*(?P<quote>[\"'])(?P<value>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)"
)

_VALUE = r"[ ]*(?P<value>[^\s\"'|;&-][^\s\"'|;&]*|\"[^\"\n]+\"|'[^'\n]+')"
_LOGIN_VALUE = r"[ =]?[\"']?[^\s:\"'@/]{1,100}:(?P<value>[^\s\"'|;&]+)"
# The words of which one must be in the text, and a command up to its password.
_COMMANDS = (
    (("mysql", "mariadb"), re.compile(r"\b(?:mysql|mariadb)\w*\b[^\n|;&]{0,300}?[ ]-p" + _VALUE[4:])),
    (("sshpass",), re.compile(r"\bsshpass[ ]+-p" + _VALUE)),
    (
        ("login -", "mongo", "ldap", "redis-cli"),
        re.compile(
            r"\b(?:(?:docker|podman|helm|az|oc|buildah|skopeo|nerdctl|registry)\b[^\n|;&]{0,40}\blogin"
            r"|mongo\w*|ldap\w+|redis-cli)\b[^\n|;&]{0,300}?[ ]-[pwa]" + _VALUE
        ),
    ),
    ((" --auth", " -a "), re.compile(r"\bhttps?\b[^\n|;&]{0,600}?[ ](?:-a|--auth)" + _LOGIN_VALUE)),
    ((" -u", "-user"), re.compile(r"\b(?:curl|wget)\b[^\n|;&]{0,600}?[ ](?:-u|--user|-U|--proxy-user)" + _LOGIN_VALUE)),
)
_LOOSE_USER = re.compile(
    r"(?:^|[ \t\"',\[])(?:-u|--user)[ =\"',]{1,5}[\w.@+-]{1,100}:(?P<value>[^\s\"'|;&]{6,})", re.MULTILINE
)
_IDENTIFIED = re.compile(
    r"identified\s+(?:with\s+\w+\s+)?by\s+(?P<value>'[^'\n]{4,100}'|\"[^\"\n]{4,100}\")", re.IGNORECASE
)
_PGPASS = re.compile(r"^(?:[\w.*-]+):(?:\d{2,5}|\*):[\w*.-]+:[\w*.-]+:(?P<value>[^\s:]{4,})[ \t]*$", re.MULTILINE)


def find_in_documents(text: str, lowered: str) -> Iterator[Span]:
    """The spans of `text` that are secrets by the document or the command in which they stand."""
    if "Secret" in text and "kind" in text and "ata" in text:
        yield from _manifests(text)
    for literals, rule in _COMMANDS:
        if any(literal in lowered for literal in literals):
            yield from _commands(text, rule)
    if "identified" in lowered:
        yield from _commands(text, _IDENTIFIED)
    if " -u" in text or "--user" in text:
        yield from _commands(text, _LOOSE_USER)
    if ":5432:" in text or ":*:" in text:
        yield from _commands(text, _PGPASS)


def _commands(text: str, rule: re.Pattern[str]) -> Iterator[Span]:
    for found in rule.finditer(text):
        start, end = found.span("value")
        if text[start] in "\"'" and text[end - 1] == text[start]:
            start, end = start + 1, end - 1
        if is_secret_literal(text[start:end], 4):
            yield start, end, "password"


def _manifests(text: str) -> Iterator[Span]:
    """All values of the Kubernetes Secrets in `text`, which may be among other documents."""
    bounds = [0, *(m.end() for m in _DOCUMENT_END.finditer(text)), len(text)]
    for first, last in itertools.pairwise(bounds):
        if not _KIND_SECRET.search(text, first, last):
            continue
        for entries in _DATA_OBJECT.finditer(text, first, last):
            for entry in _OBJECT_ENTRY.finditer(text, entries.start("entries"), entries.end("entries")):
                if _is_filled(entry["value"]):
                    yield entry.start("value"), entry.end("value"), "kubernetes secret"
        yield from _data_lines(text, first, last)


def _data_lines(text: str, first: int, last: int) -> Iterator[Span]:
    depth: int | None = None  # the indentation of `data:`, while inside it
    block: int | None = None  # the indentation of an entry whose value stands in the lines below
    start = first
    while start < last:
        end = text.find("\n", start, last)
        end = last if end < 0 else end
        line = text[start:end].rstrip("\r")
        indent = len(line) - len(line.lstrip(" \t"))
        if not line.strip():
            pass
        elif depth is not None and indent > depth and not line.lstrip().startswith("#"):
            if block is not None and indent > block:
                yield start + indent, start + len(line.rstrip()), "kubernetes secret"
            elif entry := _ENTRY.fullmatch(line):
                value = entry["value"] or ""
                block = indent if not value or re.fullmatch(r"[>|][+-]?\d?", value) else None
                if block is None and _is_filled(value.strip("\"'")):
                    yield _inner(start + entry.start("value"), value)
        else:
            found = _DATA_LINE.fullmatch(line)
            depth, block = (len(found["indent"]) if found else None), None
        start = end + 1


def _inner(start: int, value: str) -> Span:
    """The span of a value without its quotes."""
    if len(value) > 1 and value[0] in "\"'" and value[-1] == value[0]:
        return start + 1, start + len(value) - 1, "kubernetes secret"
    return start, start + len(value), "kubernetes secret"


def _is_filled(value: str) -> bool:
    """Whether a place in a Secret holds a value at all, not a template, an example or a mask."""
    return (
        len(value) >= 2
        and (looks_random(value) or not is_example(value))
        and not value.startswith(("{", "[", "*", "&", "!"))
    )
