"""What an edit or a redaction does: events in, what must change in the index out. Pure.

Of all events that a room has, in whatever order they come and however often:
- A message is gone if it is redacted: a redaction aims at it, or it comes pruned. Redaction beats edit.
- Else it says what its newest edit says, by time, then id, of those that count: by the sender of the message, aimed at
  a message (no edit, no state event, nothing redacted) and not redacted themselves. Without one, what itself says.
- Events do not change: what comes again under an id is not taken, save that it is pruned now.

Bodies are kept nowhere but in the index, so what a redacted edit replaced must be asked of the homeserver (`restore`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from huginn.chat.events import Edit, Message, Other, Parsed, Pruned, Redaction, Textless, parse
from huginn.chat.known import Known, KnownKind

FOLD_VERSION = "1"
"""To be raised whenever the same events give other messages: with what `events` and `text` take for text."""

_KINDS: Mapping[type[Parsed], KnownKind] = {
    Message: "message",
    Textless: "message",
    Edit: "edit",
    Redaction: "redaction",
    Pruned: "pruned",
    Other: "other",
}


@dataclass(frozen=True)
class Folded:
    """What some events change in a room. No message is in two of `texts`, `gone` and `restore`.

    `texts`: what a message must say now, by its id, with its own sender and time. `gone`: messages that must be in no
    point. `restore`: messages whose text must be asked of the homeserver, and must be in no point until then, for what
    they say in the index may be what was redacted. `rebuild`: redactions of ids that nobody knows, or of nobody knows
    what, as they have been redacted themselves since.

    `learned` is to be kept. An id that is known comes again only to say that it is redacted: such a record, of kind
    `pruned` and with the target that an edit had, takes the place of what was known.

    `messages`, `edits` and `redactions` were taken in; with `skipped`, by reason, they are all entries.
    """

    texts: Mapping[str, Message]
    gone: frozenset[str]
    restore: frozenset[str]
    rebuild: frozenset[str]
    learned: Sequence[Known]
    skipped: Mapping[str, int]
    messages: int
    edits: int
    redactions: int


@dataclass(frozen=True)
class Restored:
    """What the homeserver says of one message: the text in force, None if it holds none, and the ids it told of.

    `learned` is to be kept as that of `Folded`: an edit that was told ahead of its turn may be redacted by then.
    """

    message: Message | None
    learned: Sequence[Known]


def wanted_ids(parsed: Iterable[Parsed]) -> set[str]:
    """What must be looked up to fold these: their own ids, and those that they aim at."""
    ids: set[str] = set()
    for event in parsed:
        if event.id is not None:
            ids.add(event.id)
        if isinstance(event, Edit):
            ids.add(event.target)
        elif isinstance(event, Redaction):
            ids |= event.targets
    return ids


def fold(
    parsed: Sequence[Parsed], known: Mapping[str, Known], about: Mapping[str, Sequence[Known]], *, is_whole: bool
) -> Folded:
    """What these events of a room change, given what is known of it.

    `known` are the records of `wanted_ids`; of two with one id, the pruned one. `about` has for each of these ids the
    records that aim at it. `is_whole`: the room is read from its beginning, so that a redaction of an unknown id is
    noted and asks for nothing.
    """
    batch = _Batch(known, about)
    batch.take(parsed)
    batch.redact(parsed, is_whole=is_whole)
    batch.say()
    return batch.folded()


def restored(
    event_id: str, original: object, edits: Sequence[object], known: Mapping[str, Known], room: str
) -> Restored:
    """What the message `event_id` says by the homeserver's word, and by what is known to be redacted.

    `original` is the event, None if the homeserver has none; `edits` are all that want to replace it; `known` holds
    the records of its id and of theirs. A message that is not known to be one has no text.
    """
    there = known.get(event_id)
    if there is None or there.kind != "message":
        return Restored(None, ())
    told = [event for entry in (original, *edits) for event in parse(entry, room)]
    told = [event for event in told if event.id == event_id or (isinstance(event, Edit) and event.target == event_id)]
    redacted = {one.id: one for one in known.values() if one.kind == "pruned"}
    folded = fold(told, redacted, {}, is_whole=True)
    learned = [one for one in folded.learned if one.id not in known or one.kind == "pruned"]
    return Restored(folded.texts.get(event_id), tuple(learned))


@dataclass
class _Batch:
    """Some events on their way: what is new is taken, what is redacted is struck out, what is left is said."""

    known: Mapping[str, Known]
    about: Mapping[str, Sequence[Known]]
    fresh: dict[str, Parsed] = field(default_factory=dict)  # the first of each id that is not known
    redacted: set[str] = field(default_factory=set)
    learned: dict[str, Known] = field(default_factory=dict)
    texts: dict[str, Message] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    restore: set[str] = field(default_factory=set)
    rebuild: set[str] = field(default_factory=set)
    skipped: Counter[str] = field(default_factory=Counter)

    def take(self, parsed: Iterable[Parsed]) -> None:
        """Take what is new. An edit of its own goes before the same one bundled: entries are what is counted."""
        for event in sorted(parsed, key=_is_bundled):
            if event.id is None or not (event.id in self.fresh or event.id in self.known):
                if isinstance(event, Other | Textless):
                    self.skipped[event.reason] += 1
                if event.id is not None:
                    self.fresh[event.id] = event
                    self.learned[event.id] = _record(event)
            elif not _is_bundled(event):
                self.skipped["known already"] += 1

    def redact(self, parsed: Iterable[Parsed], *, is_whole: bool) -> None:
        """Strike out what these events redact, the known ones among them too."""
        self.redacted = {event_id for event_id, one in self.known.items() if one.kind == "pruned"}
        for event in parsed:
            if isinstance(event, Pruned):
                self._strike(event.id)
            elif isinstance(event, Redaction):
                are_known = [self._strike(target) for target in event.targets] or [event.id in self.known]
                if not all(are_known) and not is_whole:
                    self.rebuild.add(event.id)

    def say(self) -> None:
        """Find what the messages say that are new, or newly edited."""
        edits: dict[str, list[Edit]] = {}
        for event_id, event in self.fresh.items():
            if isinstance(event, Message | Textless):
                edits.setdefault(event_id, [])
            elif isinstance(event, Edit) and self._why_not(event) is None:
                edits.setdefault(event.target, []).append(event)
        for event_id, candidates in edits.items():
            if event_id not in self.redacted:
                self._say(event_id, candidates)

    def folded(self) -> Folded:
        """The outcome, and what was counted."""
        skipped, taken = self.skipped.copy(), Counter[type]()
        for event in self.fresh.values():
            if _is_bundled(event) or isinstance(event, Other | Textless):
                continue
            reason = "redacted" if event.id in self.redacted and not isinstance(event, Redaction) else None
            if reason is None and isinstance(event, Edit):
                reason = self._why_not(event)
            if reason is None:
                taken[type(event)] += 1
            else:
                skipped[reason] += 1
        restore = frozenset(self.restore - self.redacted)
        return Folded(
            texts={one: message for one, message in self.texts.items() if one not in restore},
            gone=frozenset(self.gone) - restore,
            restore=restore,
            rebuild=frozenset(self.rebuild),
            learned=tuple(self.learned.values()),
            skipped=dict(skipped),
            messages=taken[Message],
            edits=taken[Edit],
            redactions=taken[Redaction],
        )

    def _strike(self, event_id: str) -> bool:
        """Note that an event is redacted, and what that does. Gives whether anything was known of it."""
        there = self._record_of(event_id)
        if event_id in self.redacted or (there and there.kind in ("redaction", "other")):
            return True
        self.redacted.add(event_id)
        self.learned[event_id] = replace(there, kind="pruned") if there else Known(event_id, "pruned", None, "", 0)
        if there is None or (there.kind == "message" and event_id in self.known):
            self.gone.add(event_id)
        elif there.kind == "edit" and there.target and event_id in self.known:
            self.restore.add(there.target)  # which says what the edit said, if it is a message at all
        return there is not None

    def _why_not(self, edit: Edit) -> str | None:
        """Why an edit does not count; None if it does."""
        original = self._record_of(edit.target)
        if edit.id in self.redacted:
            return "redacted"
        if edit.target in self.redacted:
            return "edit of a redacted message"
        if original is None:
            return "edit of an unknown message"
        if original.kind != "message":
            return "edit of no message"
        return None if original.sender == edit.sender else "edit by somebody else"

    def _say(self, event_id: str, edits: Sequence[Edit]) -> None:
        own, message = self.fresh.get(event_id), self.known.get(event_id) or self.learned[event_id]
        records = self.about.get(event_id, ())
        void = self.redacted | {one.id for one in records if one.kind == "pruned"}
        older = [one for one in records if one.kind == "edit" and one.sender == message.sender and one.id not in void]
        candidates: list[Known | Edit] = [*older, *edits]
        newest = max(candidates, key=lambda one: (one.time, one.id), default=None)
        if isinstance(newest, Known):  # where the message is known, this edit is what it says already
            if own is not None:
                self.restore.add(event_id)
        elif isinstance(newest, Edit) and newest.body is not None:
            self.texts[event_id] = Message(event_id, message.sender, message.time, newest.body)
        elif isinstance(newest, Edit):
            self.gone.add(event_id)
        elif isinstance(own, Message):
            self.texts[event_id] = own

    def _record_of(self, event_id: str) -> Known | None:
        return self.known.get(event_id) or self.learned.get(event_id)


def _is_bundled(event: Parsed) -> bool:
    return isinstance(event, Edit) and event.is_bundled


def _record(event: Parsed) -> Known:
    assert event.id is not None
    aims = {event.target} if isinstance(event, Edit) else event.targets if isinstance(event, Redaction) else ()
    return Known(event.id, _KINDS[type(event)], min(aims, default=None), event.sender, event.time)
