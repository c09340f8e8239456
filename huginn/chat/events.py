"""What an entry of a room's history is: an event as it came in, what it means out. Pure, and it never raises.

Words: a *message* is an `m.room.message` that is no state event, no edit, and not redacted; a redacted event comes
*pruned*, with its content emptied. Anybody can send anything, so nothing is taken for what it claims to be: neither a
type nor a body, neither an id nor a clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from huginn.chat.text import MEDIA_KINDS, TEXT_KINDS, text_of

_LATEST = 253_402_300_799_999  # the last millisecond of the year 9999
_LONGEST_ID = 255  # bytes; the Matrix specification, appendices, "Common Identifier Format"
_REASONS = {"m.room.encrypted": "encrypted", "m.reaction": "reaction", "m.sticker": "sticker"}


@dataclass(frozen=True)
class Message:
    """Somebody said something. `time` is in milliseconds since 1970, `body` plain text that holds more than blanks."""

    id: str
    sender: str
    time: int
    body: str


@dataclass(frozen=True)
class Textless:
    """A message without text of its own, such as media without a caption; an edit can give it one."""

    id: str
    sender: str
    time: int
    reason: str


@dataclass(frozen=True)
class Edit:
    """Wants to replace what the message `target` says; `body` None: by something that holds no text.

    `is_bundled`: it was found inside another entry, and is none of its own.
    """

    id: str
    sender: str
    time: int
    target: str
    body: str | None
    is_bundled: bool = False


@dataclass(frozen=True)
class Redaction:
    """Takes back what `targets` say, whatever they are. Without a usable sender or time, these are empty and 0.

    Where it is redacted itself, versions of rooms before 11 keep no target.
    """

    id: str
    sender: str
    time: int
    targets: frozenset[str]


@dataclass(frozen=True)
class Pruned:
    """Has been redacted, whatever it was. Without a usable sender or time, these are empty and 0."""

    id: str
    sender: str
    time: int


@dataclass(frozen=True)
class Other:
    """Nothing that is or changes a message. `id` None: it leaves no trace, as it has none or belongs elsewhere."""

    id: str | None
    sender: str
    time: int
    reason: str


Parsed = Message | Textless | Edit | Redaction | Pruned | Other


def parse(entry: object, room: str) -> list[Parsed]:
    """What an entry of this room's history is. A second one is the edit that the server has bundled in it."""
    if not isinstance(entry, Mapping):
        return [Other(None, "", 0, "no event")]
    event_id = usable_id(entry.get("event_id"))
    if event_id is None:
        return [Other(None, "", 0, "no usable id")]
    if entry.get("room_id", room) != room:
        return [Other(None, "", 0, "other room")]
    parsed = _event(entry, event_id)
    if isinstance(parsed, Message | Textless) and (edit := _bundled(entry, event_id, room)):
        return [parsed, edit]
    return [parsed]


def struck(parsed: Iterable[Parsed]) -> frozenset[str]:
    """All that these events show to be redacted, known or not, whatever it is: nothing of it may be left anywhere."""
    ids = set[str]()
    for event in parsed:
        if isinstance(event, Pruned):
            ids.add(event.id)
        elif isinstance(event, Redaction):
            ids |= event.targets
    return frozenset(ids)


def usable_id(value: object) -> str | None:
    """An id as it can be stored, shown and looked up; None for what cannot."""
    if not isinstance(value, str) or not value or not value.isprintable():
        return None
    return value if len(value.encode()) <= _LONGEST_ID else None


def usable_user(value: object) -> str | None:
    """The id of a user; None for what is none."""
    user = usable_id(value)
    return user if user and user.startswith("@") else None


def _event(event: Mapping[str, object], event_id: str) -> Parsed:
    sender = usable_user(event.get("sender"))
    time = _usable_time(event.get("origin_server_ts"))
    head = (event_id, sender or "", time or 0)
    kind, content = event.get("type"), event.get("content")
    # Servers do not ask whether a redaction is a state event: it takes its targets away all the same.
    if kind == "m.room.redaction" and (targets := _targets(event)):
        return Redaction(*head, targets)
    if event.get("state_key") is not None:
        return Other(*head, "state event")
    if content == {} or _is_redacted(event):
        return Redaction(*head, frozenset()) if kind == "m.room.redaction" else Pruned(*head)
    if kind != "m.room.message":
        return Other(*head, _REASONS.get(kind, "no message") if isinstance(kind, str) else "no type")
    if not isinstance(content, Mapping):
        return Other(*head, "no content")
    if sender is None or time is None:
        return Other(*head, "no usable sender" if sender is None else "no usable time")
    return _message_or_edit(content, event_id, sender, time)


def _message_or_edit(content: Mapping[str, object], event_id: str, sender: str, time: int) -> Parsed:
    target, new = _replaced(content), content.get("m.new_content")
    if isinstance(new, Mapping):
        if target is None:  # its body is for clients that know no edits, and repeats the text behind a star
            return Other(event_id, sender, time, "edit of nothing")
        is_reply = _is_reply(content) or _is_reply(new)
        body = text_of({"msgtype": content.get("msgtype"), **new}, is_reply=is_reply)
        return Edit(event_id, sender, time, target, body)
    if target is not None:
        return Other(event_id, sender, time, "edit without new content")
    body = text_of(content, is_reply=_is_reply(content))
    if body is None:
        return Textless(event_id, sender, time, _why_no_text(content.get("msgtype")))
    return Message(event_id, sender, time, body)


def _bundled(event: Mapping[str, object], event_id: str, room: str) -> Edit | None:
    """The newest edit of a message, as the server tells it within the message."""
    inner = _mapping(_mapping(event.get("unsigned")).get("m.relations")).get("m.replace")
    edit_id = usable_id(inner.get("event_id")) if isinstance(inner, Mapping) else None
    if not isinstance(inner, Mapping) or edit_id is None or inner.get("room_id", room) != room:
        return None
    edit = _event(inner, edit_id)
    if not isinstance(edit, Edit) or edit.target != event_id:
        return None
    return Edit(edit.id, edit.sender, edit.time, edit.target, edit.body, is_bundled=True)


def _usable_time(value: object) -> int | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= _LATEST else None


def _targets(redaction: Mapping[str, object]) -> frozenset[str]:
    """What a redaction aims at, in either of the places where versions of rooms keep it; where they differ, both."""
    targets: set[str] = set()
    for named in (redaction.get("redacts"), _mapping(redaction.get("content")).get("redacts")):
        for value in named if isinstance(named, list) else [named]:
            if target := usable_id(value):
                targets.add(target)
    return frozenset(targets)


def _is_redacted(event: Mapping[str, object]) -> bool:
    unsigned = _mapping(event.get("unsigned"))
    return unsigned.get("redacted_because") is not None or unsigned.get("redacted_by") is not None


def _replaced(content: Mapping[str, object]) -> str | None:
    relation = _mapping(content.get("m.relates_to"))
    return usable_id(relation.get("event_id")) if relation.get("rel_type") == "m.replace" else None


def _is_reply(content: Mapping[str, object]) -> bool:
    return "m.in_reply_to" in _mapping(content.get("m.relates_to"))


def _why_no_text(kind: object) -> str:
    if not isinstance(kind, str):
        return "unknown kind of message"
    if kind in TEXT_KINDS:
        return "no text"
    return "media without caption" if kind in MEDIA_KINDS else "unknown kind of message"


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
