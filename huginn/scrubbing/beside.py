"""Values that stand beside a name without being assigned to it: a name goes in, spans of the secret come out.

The rules that live here: elements and attributes, pairs of name and value, options of commands, sentences, blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from huginn.scrubbing.assigned import Place, trimmed
from huginn.scrubbing.names import Name, Sureness
from huginn.scrubbing.shapes import WORDS, is_mixed_password, is_secret_bareword, is_secret_literal, looks_random

_SENTENCE = re.compile(
    r"(?:[^\n:：=＝\"'`<>(){}\[\];&]{0,40}?"
    r"(?:[:：][*_]{0,2}(?:[ \t]*[\w.@+-]{1,40}[ \t]+/)?|[ \t]\|"
    r"|\b(?:is|was|are|ist|lautet|war|est|es|är|to|now|jest|->|→|=>)(?=[ :]):?)|[ ]{0,2}[*_]{1,2}:?)?"
    r"[ \t]*[*_`\"'(]{0,3}(?P<value>[^\s\"'`<>\\，；。、「」（）]{8,1024})"
)
_NEXT_LINE = re.compile(r"[ \t]*[:：]?[ \t]*\r?\n[ \t]*(?P<value>[^\s]{8,1024})[ \t\r]*(?=\n|\Z)")
_OTHER_THINGS = WORDS["other_endings"] - {"is", "at", "has", "set", "start", "end", "reset", "changed"}
_FIRST_WORD = re.compile(r" ([a-z]+)")
_ELEMENT = re.compile(
    r"[\"']?(?:\s[^<>\n]{0,100})?>\s{0,40}(?:<!\[CDATA\[)?(?P<value>[^<>\s\]]{4,1000})\s{0,40}(?:\]\]>\s{0,40})?</"
)
_PAIR = re.compile(
    r"[\"']?\s{0,40}[,;/]?\s{0,40}(?:-\s{0,40})?(?:\{[^{}]{0,300}?)?[\"']?"
    r"\b(?:value|Value|default|content|secretValue|VALUE)[\"']?\s{0,40}(?:=>|[:=])\s{0,40}"
    r"(?:(?P<quote>[\"'])(?P<quoted>[^\"'\n]{4,1000})(?P=quote)|(?P<value>[^\s\"'`<>,;{}]{6,1000}))"
)
_LOGIN = re.compile(
    r"[\"']?\s{0,4}[=:]?\s{0,4}[(\[]\s{0,40}(?:\"[^\"\n]{0,100}\"|'[^'\n]{0,100}'|[\w.]{1,100})\s{0,4},\s{0,40}"
    r"(?P<quote>[\"'])(?P<value>[^\"'\s]{4,1000})(?P=quote)"
)
_OPTION = re.compile(r"(?:[ \t]+|=)(?P<value>[^\s\"'`<>;|]{6,1000})")
_LOGIN_BEFORE = re.compile(r"\b(?:login|machine|user|account)\s+\S+\s+$")
_DIRECTLY = re.compile(r"\W{1,6}|\s*(?:is|ist|est)\s*:?\s*")
_BLOCK = re.compile(
    r"[\"']?[ \t]*:[ \t]*(?:![\w!]+[ \t]+)?[>|][+-]?\d?[ \t]*(?:#[^\n]*)?\r?\n"
    r"(?P<lines>(?P<indent>[ \t]+)[^\n]*(?:\n(?P=indent)[^\n]*|\n(?=[ \t]*\n))*)"
)


def element(name: Name) -> Place | None:
    """`<password>value</password>`, `<entry key="password">value</entry>`."""
    if name.next not in (">", '"', "'", " ") or not (found := _ELEMENT.match(name.text, name.end)):
        return None
    good = is_secret_literal(found["value"], 4) if name.sureness == Sureness.IS else looks_random(found["value"])
    return found.span("value") if good else None


def pair(name: Name) -> Place | None:
    """`name: DB_PASSWORD`, then `value: …`; `variable "password" { default = … }`."""
    if name.next not in ('"', "'", "\n", "\r") or not (found := _PAIR.match(name.text, name.end)):
        return None
    if found["quoted"]:
        return found.span("quoted") if is_secret_literal(found["quoted"]) else None
    return found.span("value") if is_secret_bareword(found["value"]) else None


def login(name: Name) -> Place | None:
    """`auth=("user", "value")`, `NetworkCredential("user", "value")`."""
    found = _LOGIN.match(name.text, name.end) if name.kind == "credential" else None
    return found.span("value") if found and is_secret_literal(found["value"]) else None


def option(name: Name) -> Place | None:
    """`--password value`, `ENV PASSWORD value`, `login x password value`, and a line of just name and value."""
    if name.next not in (" ", "\t", "=") or not (found := _OPTION.match(name.text, name.end)):
        return None
    line = name.line_before
    certain = line.endswith(("--", " -", "ENV ", "setenv ", "set -x ", "set -gx "))
    if certain or (name.kind == "password" and _LOGIN_BEFORE.search(name.text[max(0, name.start - 200) : name.start])):
        good = is_secret_literal(found["value"])
    else:
        rest = name.text[found.end() : found.end() + 1]
        good = not line.strip() and rest in ("", "\n", "\r") and is_secret_bareword(found["value"])
    return found.span("value") if good else None


def sentence(name: Name) -> Place | None:
    """`the password for the door is …`: only what is random through and through."""
    text_after = (name.text, name.end, name.end + 1200)
    found = _NEXT_LINE.match(*text_after) or _SENTENCE.match(*text_after)
    if not found or found.start("value") == name.end or (name.is_verb and name.next != ":"):
        return None
    if (word := _FIRST_WORD.match(name.text, name.end, found.start("value"))) and word[1] in _OTHER_THINGS:
        return None  # `password manager: …`
    first, last = trimmed(name.text, *found.span("value"))
    while last > first and name.text[last - 1] in ",;":
        last -= 1
    value = name.text[first:last]
    random = looks_random(value) or (name.kind == "password" and is_mixed_password(value))
    if not random or re.search(r"[(){}\[\]=,]", value) or value.startswith("--"):
        return None
    if re.fullmatch(r"[0-9a-fA-F]+", value) and not _DIRECTLY.fullmatch(name.text, name.end, first):
        return None  # a commit id further on in the sentence
    return first, last


def block(name: Name) -> Iterator[Place]:
    """A YAML block under a secret's name: every line of it, if none holds several words."""
    found = _BLOCK.match(name.text, name.end, name.end + 5000)
    if not found:
        return
    lines = [line for line in re.finditer(r"[^\n]+", found["lines"]) if line[0].strip()]
    joined = "".join(line[0].strip() for line in lines)
    if any(" " in line[0].strip() for line in lines) or not is_secret_literal(joined):
        return
    for line in lines:
        first = found.start("lines") + line.end() - len(line[0].lstrip())
        yield first, found.start("lines") + line.start() + len(line[0].rstrip())
