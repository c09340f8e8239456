"""Names in a question, and whether a point holds one to the letter. Pure.

A name is what nobody would write in other words: an identifier, a code with capitals or digits, a path or a file, an
option, an id of an event, a room, a user or a commit; in a question of one word, that word. It is held by a point if
it stands there whole: in the text, in the path, among the enclosing names, or as the id. Letters count as they are
written, save for a plain word in small letters, which stands for capitals too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from huginn.index.port import Payload, Place
from huginn.scrub import Clean

MOST_NAMES = 16

_WORD = re.compile(r"`([^`\s]+)`|(\S+)")
_AROUND = "\"'“”‘’«»()[]{}<>,;:.!?`*"
_NAME = re.compile(
    r"""
      [$!@\#][^\s:]+:[\w.-]+(?::\d+)? | \$[\w+/=-]{20,}   # ids of Matrix
    | --[A-Za-z][\w-]+ | -[A-Za-z]                         # an option
    | .*[^\W_].*_.*  | _+\w+                              # snake_case, __name__
    | .*[a-z0-9][A-Z].*                                   # camelCase, CamelCase
    | [A-Z][A-Z0-9]{4,}                                   # ECONNRESET
    | (?=.{3}).*\d.*                                      # E404, 1.2.3, a hash
    | (?=.*\.|.*/.*/).*\w[/\\]\w.* | .*\w::\w.*           # src/a.py, a/b/c, a::b
    | [\w-]*\w{2}\.\w[\w.-]* | \w[\w-]*\.\w{2,}            # file.py, module.name
    """,
    re.VERBOSE,
)
_COMMIT = re.compile(r"(?=.*\d)[0-9a-f]{7,40}|[0-9a-f]{40}")
_PLAIN = re.compile(r"[a-z\u00df-\u00f6\u00f8-\u00ff]+")


def names_of(texts: Iterable[Clean]) -> list[Clean]:
    """The names in these texts, in order, each once; at most 16."""
    found: dict[str, Clean] = {}
    for text in texts:
        for name in names_in(text):
            start = text.index(name)
            found.setdefault(name, text.part(start, start + len(name)))
    return list(found.values())[:MOST_NAMES]


def name_typed(text: str) -> str | None:
    """The name that a text is, if it is nothing else."""
    words = text.split()
    return _bare(words[0]) or None if len(words) == 1 else None


def names_in(text: str) -> list[str]:
    """The names in one text, in order."""
    if (typed := name_typed(text)) is not None:
        return [typed]
    words = ((quoted, _bare(quoted or word)) for quoted, word in _WORD.findall(text))
    return [word for quoted, word in words if word and (quoted or _NAME.fullmatch(word))]


def _bare(word: str) -> str:
    """A word without quotes and marks around it; a call without its brackets, an id with its sign."""
    word = word.strip(_AROUND).removesuffix("'s").removesuffix("’s")
    return re.sub(r"\([^()]*\Z", "", word)


def place_of_id(name: str) -> Place | None:
    """The points that a name is the id of: an event, a user, a room, an alias, a commit; None: it has no such form."""
    match name[0]:
        case "$":
            return Place(corpus="chat", events=[name])
        case "@" if ":" in name:
            return Place(corpus="chat", senders=[name])
        case "!":
            return Place(corpus="chat", sources=[name])
        case "#" if ":" in name:
            return Place(corpus="chat", aliases=[name])
    return Place(corpus="forge", commits=[name]) if _COMMIT.fullmatch(name) else None


def holds(payload: Payload, name: str) -> bool:
    """Whether the name stands whole in the text, the path or the enclosing names of a point."""
    texts = [*written(payload), str(payload.get("path", "")), *_enclosing(payload)]
    flags = re.IGNORECASE if _PLAIN.fullmatch(name) else re.NOFLAG
    whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", flags)
    return any(whole.search(text) for text in texts)


def defines(payload: Payload, name: str) -> bool:
    """Whether the point lies in what the name names: the innermost definition or heading, or the file."""
    path = str(payload.get("path", ""))
    return name in list(_enclosing(payload))[-1:] or path == name or path.endswith(f"/{name}")


def written(payload: Payload) -> list[str]:
    """The text itself; of a window the bodies alone, without the senders' ids."""
    messages = payload.get("messages")
    return [str(message["body"]) for message in messages] if isinstance(messages, list) else [str(payload["text"])]


def _enclosing(payload: Payload) -> Iterable[str]:
    names = payload.get("names", ())
    assert isinstance(names, list | tuple)
    return map(str, names)
