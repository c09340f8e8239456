"""Values that are assigned to a name: a name goes in, the span of the secret beside it comes out.

The rules that live here: values with and without quotes, in the assignments of many languages and settings formats,
in calls and in subscripts; and what may be taken for a literal where there are no quotes.
"""

from __future__ import annotations

import re

from huginn.scrubbing.names import Name, Sureness
from huginn.scrubbing.shapes import (
    decodes_to_login,
    is_example,
    is_mixed_password,
    is_secret_bareword,
    is_secret_literal,
    looks_random,
)

Place = tuple[int, int]

_CLOSE = r"(?P<close>(?:\\{0,3}[\"'`]|[\])}]){0,3})"
_WRAPPERS = (
    r"SecretStr|Secret|String(?:::from)?|Some|str|bytes|SecureString|Password|Buffer\.from|sensitive|pulumi\.secret"
)
_QUOTED = re.compile(
    _CLOSE + r"[ \t]*"
    r"(?:(?P<type>:[ \t]*[\w.\[\]|<>?*&, ]{1,60}?|[\w.\[\]<>*?]{1,40})[ \t]*(?==))?"  # an annotation, or Go's type
    r"(?P<op>=>|:=|[=!]==?|\?\?=|\|\|=|[?+]=|=|:|：|＝|->|,|\(|<-|\|\||\?\?|or\b|)"
    r"[ \t]*(?:\\?\r?\n[ \t]*|\([ \t]*\r?\n[ \t]*)?"
    r"(?:(?:new )?(?:" + _WRAPPERS + r")\([ \t]*)?"
    r"(?:[bBrRuUfFlL$@]{1,2}(?=[\"'`]))?"
    r"(?P<quote>\\{1,3}[\"']|\"\"\"|'''|[\"'`]|“|«|„|‘|『|「)"
)
# `password = os.getenv("X") or "value"`
_FALLBACK = re.compile(
    r"[ \t]*(?P<op>:=|=|:)[ \t]*[\w.$>-]{1,80}[(\[][\"'][^\"'\n]{1,80}[\"'][)\]]?[ \t]*"
    r"(?:\|\||\?\?|or|,)[ \t]*(?P<quote>[\"'])"
)
_QUOTE_ENDS = {"“": "”", "«": "»", "„": "“", "‘": "’", "『": "』", "「": "」"}
_BARE_OPERATOR = re.compile(_CLOSE + r"(?P<space>[ \t]*)(?P<op>=>|:=|[?+]?=|:|：|＝|->)(?!=)[ \t]*(?=[^\s\"'`])")
_BARE_VALUE = re.compile(r"[^\s\"'`<>,;，；。、「」（）]{6,1024}")
_REST_OF_LINE = re.compile(r"(?P<value>[^\s\"'`]\S{3,1023}+)(?=[ \t]*+(?:(?<=[ \t])#[^\n]*)?\r?(?:\n|\Z))")
_NEXT_PARAMETER = re.compile(r"&[\w.\-\[\]]+=")
_LITERAL_START = re.compile(
    r"[ \t]*(?:(?:export|set|ENV|ARG|env|setx|-e|--env|--build-arg|-\s)[ \t]+|[-#;*/]+[ \t]*|\$env:|[\"'])?",
    re.IGNORECASE,
)
_SCREAMING = re.compile(r"[A-Z][A-Z0-9_]*")
_OTHER_SETTING = re.compile(r"\b(?:user|host|dbname|uid|username|server|port|ansible_\w+)[ ]?=[^=,\s]+[ \t]")


def quoted(name: Name) -> Place | None:
    """The value in quotes that belongs to `name`."""
    found = _QUOTED.match(name.text, name.end, name.end + 400)
    if not found or not _belongs(found, name):
        found = _FALLBACK.match(name.text, name.end, name.end + 400)
    if not found:
        return None
    first = found.end()
    last = _closing(name.text, first, _QUOTE_ENDS.get(found["quote"], found["quote"]))
    return (first, last) if _is_quoted_secret(name.text[first:last], name, found["op"]) else None


def _belongs(found: re.Match[str], name: Name) -> bool:
    """A pair in a call needs the name in quotes, a call needs it without; nothing between needs a space between."""
    op, close = found["op"], found["close"]
    if op == ",":
        return any(c in close for c in "\"'`")
    if op == "(":
        return not close
    if name.is_verb and found["type"]:
        return False
    if op == "":
        return not close and name.next in (" ", "\t") and "\n" not in found[0] and not name.is_verb
    return True


def _closing(text: str, first: int, quote: str) -> int:
    """Where a quoted value ends; where it begins if its line has no end of it."""
    line = text.find("\n", first, first + 1200)
    limit = line if line >= 0 else min(len(text), first + 1200)
    last = text.find(quote, first, limit)
    while last > first and len(quote) == 1 and text[last - 1] == "\\":
        last = text.find(quote, last + 1, limit)
    return max(last, first)


def _is_quoted_secret(value: str, name: Name, op: str) -> bool:
    if name.kind == "credential":
        return looks_random(value) or decodes_to_login(value)
    if name.sureness == Sureness.HOLDS:
        return op != "," and looks_random(value) and len(value) >= 12
    if "==" in op or op == "!=":
        return is_secret_bareword(value)
    if name.kind == "password":
        return is_secret_literal(value) or (value.isdigit() and len(value) >= 6 and not is_example(value))
    if op in ("(", ","):
        return looks_random(value) and len(value) >= 12
    return is_secret_literal(value, 8)


def bare(name: Name) -> Place | None:
    """The value without quotes that belongs to `name`."""
    operator = _BARE_OPERATOR.match(name.text, name.end, name.end + 200)
    if not operator:
        return None
    place = _rest_of_line(name, operator)
    literal = operator["op"] == "=" or not _is_type(name, place)
    if place and _is_bare_secret(name.text[slice(*place)], name, literal=literal):
        return place
    found = _BARE_VALUE.match(name.text, operator.end())
    if not found:
        return None
    parameter = _NEXT_PARAMETER.search(found[0])
    last = found.start() + parameter.start() if parameter else found.end()
    first, last = trimmed(name.text, found.start(), last)
    literal = _is_literal(name, operator, last)
    return (first, last) if _is_bare_secret(name.text[first:last], name, literal=literal) else None


def _is_bare_secret(value: str, name: Name, *, literal: bool) -> bool:
    if name.kind == "credential":
        return (looks_random(value) and len(value) >= 16) or decodes_to_login(value)
    if name.sureness == Sureness.HOLDS:
        return literal and looks_random(value) and len(value) >= 12
    if literal:
        return is_secret_literal(value, 6 if name.kind == "password" else 8) and not re.search(r"\w\(", value)
    if name.kind == "password" and is_mixed_password(value):
        return True
    return is_secret_bareword(value)


def _rest_of_line(name: Name, operator: re.Match[str]) -> Place | None:
    """The rest of the line, where a line of a settings file holds a name and its value and nothing else."""
    if not _LITERAL_START.fullmatch(name.line_before):
        return None
    if operator["op"] == "=" and operator["space"] and "." not in name.text[name.start : name.end]:
        return None  # `password = password2`: might be code
    found = _REST_OF_LINE.match(name.text, operator.end())
    if not found or found["value"][-1] in ",;)]}{([\"'" or _NEXT_PARAMETER.search(found["value"]):
        return None
    return found.span("value")


def _is_type(name: Name, place: Place | None) -> bool:
    """Whether the value might be the type of a variable (`passwd: HTTPPasswordMgr`): letters only."""
    return place is not None and name.text[slice(*place)].isalpha()


def _is_literal(name: Name, operator: re.Match[str], last: int) -> bool:
    """Whether the value up to `last` cannot be an expression: shells, connection strings."""
    if operator["op"] != "=" or operator["space"] or operator[0].endswith((" ", "\t")):
        return False
    before = name.line_before
    after = name.text[last : last + 1]
    if _SCREAMING.fullmatch(name.text, name.start, name.end):
        return after not in ("(", "[", ".")
    if before.rstrip().endswith(("export", "-e", "set", "--env", "--")):
        return after not in ("(", "[", ".")
    if any(sign in name.text[operator.end() : last] for sign in "(){}"):
        return False
    return ";" in before or after == ";" or _OTHER_SETTING.search(before) is not None


def trimmed(text: str, first: int, last: int) -> Place:
    """The place without the brackets and marks that belong to the sentence, not to the value."""
    pairs = {")": "(", "]": "[", "}": "{"}
    while last > first and (mark := text[last - 1]) in ")]}.:|\\_*?":
        value = text[first:last]
        if mark in pairs and value.count(pairs[mark]) >= value.count(mark):
            break
        last -= 1
    return first, last
