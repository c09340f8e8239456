"""The text that a message holds: the content of an event in, plain text or nothing out. Pure.

Text is the plain `body` of `m.text`, `m.notice` and `m.emote`, and the caption of media (a `body` beside another
`filename`). Formatted bodies are never read. A quote of another message is left out: it would outlive what it quotes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from itertools import dropwhile

TEXT_KINDS = frozenset({"m.text", "m.notice", "m.emote"})
MEDIA_KINDS = frozenset({"m.image", "m.file", "m.audio", "m.video"})

# Lines end at \n alone: clients put the > behind nothing else, so a line of a quote may hold other breaks.
_QUOTED = re.compile(r"[ \t]*>")
_HEAD = re.compile(r"[ \t>]*>[ \t]*(?:\*[ \t]*)?<@")  # "> <@who:example.org> said", nested, or an emote


def text_of(content: Mapping[str, object], *, is_reply: bool) -> str | None:
    """What the content of an `m.room.message` says, without quotes; None if it holds no text."""
    kind, body = content.get("msgtype"), content.get("body")
    if not isinstance(kind, str) or not isinstance(body, str):
        return None
    if kind in MEDIA_KINDS:
        name = content.get("filename")
        if not isinstance(name, str) or not has_text(name) or name.strip() == body.strip():
            return None
    elif kind not in TEXT_KINDS:
        return None
    text = _without_quotes(_repaired(body), is_reply=is_reply)
    return text if has_text(text) else None


def has_text(text: str) -> bool:
    """Whether there is anything to be seen: more than blanks and marks."""
    return any(unicodedata.category(character)[0] not in "ZCM" for character in text)


def is_blank(character: str) -> bool:
    """Whether a character is a separator, or a control, format or unassigned one."""
    return unicodedata.category(character)[0] in "ZC"


def _repaired(text: str) -> str:
    """`text` without NUL, and with halves of surrogate pairs joined, or replaced where the other half is missing."""
    return text.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _without_quotes(text: str, *, is_reply: bool) -> str:
    """`text` without quotes of other messages.

    A quote is a run of lines with > in front that names who is quoted (the Matrix specification, "Fallbacks for rich
    replies"), wherever it stands, and in a reply whatever is quoted at its beginning.
    """
    if ">" not in text:
        return text
    lines = text.split("\n")
    kept: list[str] = []
    is_beginning = True
    number = 0
    while number < len(lines):
        line = lines[number]
        has_head = _HEAD.match(line) is not None
        if has_head or (is_reply and is_beginning and _QUOTED.match(line)):
            number = _end_of_quote(lines, number, with_rest=has_head and is_beginning)
            continue
        kept.append(line)
        is_beginning = is_beginning and not has_text(line)
        number += 1
    if len(kept) == len(lines):
        return text
    return "\n".join(dropwhile(lambda line: not has_text(line), kept))


def _end_of_quote(lines: list[str], start: int, *, with_rest: bool) -> int:
    """The number of the line behind the quote that begins at `start`.

    `with_rest`: some clients mark the first line alone. So what follows the marked lines without a blank one between
    is quoted as well, if the blank line and an answer come later.
    """
    end = start + 1
    while end < len(lines) and _QUOTED.match(lines[end]):
        end += 1
    if not with_rest:
        return end
    rest = end
    while rest < len(lines) and has_text(lines[rest]):
        rest += 1
    return rest if any(has_text(line) for line in lines[rest:]) else end
