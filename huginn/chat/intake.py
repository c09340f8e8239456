"""The chat corpus in a run: which rooms need a look, what the verdict on each is, and where the run token goes.

Each run asks which rooms the reader is in, which of them its account data lists as direct, and what has happened since
the last run. A room is looked at if something has happened in it, if it is behind, or if its verdict is due; all others
cost nothing. A room that is out of scope is forgotten in the same run; one that could not be looked at keeps what it
has, and is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from huginn.chat.homeserver import FactsUnread, RoomFacts, TokenUnknown
from huginn.chat.matrix import open_homeserver
from huginn.chat.notes import LEVEL, RoomNote, RoomNotes, upstream_of
from huginn.chat.reading import SignSeen
from huginn.chat.scope import Refusal, Rules, ScopedRoom, Unread, accepted_before, judge
from huginn.chat.sync import Upstream, is_level, refresh
from huginn.errors import Refused, Unavailable
from huginn.forget import empty, forget, known_sources
from huginn.parts import Parts
from huginn.report import Corpus, SourceOutcome, SourceReport, now
from huginn.settings import Settings

_STATE_IS_GOOD_FOR = timedelta(days=1)


class ChatIntake:
    """See `huginn.run.Intake`. `only`: ids or aliases of rooms; one that is out of scope is told, not read."""

    corpus: Corpus = "chat"

    def __init__(self, settings: Settings, only: Sequence[str]) -> None:
        if settings.chat is None:
            raise Refused(
                "chat", "the settings have no [chat] section", next_step="add one with homeserver, user and token_file"
            )
        self._only = only
        self._fingerprint = upstream_of(settings.chat)
        self._homeserver = open_homeserver(settings.chat)
        self._rules = Rules(settings.chat.user, settings.chat.exclude, settings.chat.puppets)

    def begin(self, parts: Parts, *, dry_run: bool) -> Sequence[str]:
        """Ask the homeserver what there is to do, and give the rooms to look at: those to be forgotten first."""
        self._parts, self._dry_run = parts, dry_run
        self._notes = RoomNotes(parts.checkpoints.store, self._fingerprint, parts.index.id)
        self._noted, self._level = self._notes.all()
        if parts.start_over:
            empty(parts, "chat", self._named([]))
        self._known = known_sources(parts, "chat")
        try:
            self._ask()
        except Unavailable as error:
            if parts.emptied:
                gone = f"{sum(parts.emptied.values())} points of the rooms named are gone"
                raise Unavailable(
                    error.part,
                    f"{error.reason.removeprefix(f'{error.part}: ')}; {gone}",
                    next_step="the next refresh takes them in again",
                ) from None
            raise
        following = self._changes.token if self._only else LEVEL
        self._upstream = Upstream(self._homeserver, self._rules, self._fingerprint, self._level, following)
        left = sorted(self._known - self._joined)
        if self._only:
            return self._named(left)
        due = [room for room in sorted(self._joined) if self._is_due(room)]
        # A room that is read from its beginning takes long; what others have to lose must not wait for it.
        return [*left, *sorted(due, key=lambda room: room not in self._noted)]

    def refresh(self, name: str) -> SourceReport:
        """Judge one room, and read it if it is in scope. Raises `Unavailable`."""
        verdict = self._verdict(name)
        try:
            if isinstance(verdict, ScopedRoom):
                return refresh(verdict, self._upstream, self._parts, dry_run=self._dry_run)
        except SignSeen as sign:
            verdict = sign.refusal
        except FactsUnread as error:
            verdict = Unread(str(error))
        if isinstance(verdict, Unread):
            return self._unread(name, verdict)
        assert isinstance(verdict, Refusal)
        return self._refuse(name, verdict)

    def end(self, reports: Sequence[SourceReport]) -> list[SourceReport]:
        """Move the run token, and tell of the rooms in which nothing has happened."""
        if self._only:
            return []
        behind = [report.source for report in reports if report.outcome in (SourceOutcome.FAILED, SourceOutcome.UNREAD)]
        self._notes.move_token(self._changes.token, behind)
        told = {report.source for report in reports}
        idle = [room for room in sorted(self._joined - told) if room in self._noted and not self._noted[room].reason]
        return [self._unchanged(room) for room in idle]

    def close(self) -> None:
        """Close the connection to the homeserver."""
        self._homeserver.close()

    def _ask(self) -> None:
        """What the homeserver says of all rooms, since the run token; without one it no longer knows: since ever."""
        self._joined = self._homeserver.joined_rooms()
        self._direct = self._listed_as_direct()
        try:
            self._changes = self._homeserver.changes(self._level)
        except TokenUnknown:
            self._level, self._changes = None, self._homeserver.changes(None)

    def _listed_as_direct(self) -> frozenset[str] | None:
        try:
            return self._homeserver.direct_rooms()
        except FactsUnread:
            return None

    def _named(self, left: Sequence[str]) -> list[str]:
        by_alias = {note.alias: room for room, note in self._noted.items() if note.alias}
        named = [by_alias.get(name, name) for name in self._only]
        return sorted(dict.fromkeys(named), key=lambda room: room not in left)

    def _is_due(self, room: str) -> bool:
        if self._direct is None or not self._is_judged(room):
            return True
        note = self._noted[room]
        if note.reason is not None:
            return room in self._known  # what is held of it must go
        scoped = accepted_before(room, note.alias)
        is_idle = room not in self._changes.rooms
        return not (is_idle and is_level(self._parts.ledger.cursor(room), scoped, self._upstream, self._parts))

    def _is_judged(self, room: str) -> bool:
        """Whether the verdict that is noted still stands without another look at the room's state."""
        note = self._noted.get(room)
        return (
            note is not None
            and self._level is not None  # without a token nobody tells whose state has changed since
            and note.rules == self._rules.fingerprint
            and room not in self._changes.state_changed
            and note.is_listed_direct == (room in (self._direct or ()))
            and note.checked is not None
            and (note.reason is not None or not self._parts.compare_all)
            and now() - note.checked < _STATE_IS_GOOD_FOR
        )

    def _verdict(self, room: str) -> ScopedRoom | Refusal | Unread:
        is_joined = room in self._joined
        if is_joined and self._direct is not None and self._is_judged(room):
            note = self._noted[room]
            if note.reason is None:
                return accepted_before(room, note.alias)
            return Refusal(note.reason, note.detail or "", note.event)
        facts: RoomFacts | None = None
        why = ""
        if is_joined and self._direct is not None:
            try:
                facts = self._homeserver.facts(room)
            except FactsUnread as error:
                why = str(error)
        verdict = judge(room, facts, joined=is_joined, direct=self._direct, rules=self._rules)
        if isinstance(verdict, Unread):
            return Unread(why or verdict.reason)
        self._note(room, verdict)
        return verdict

    def _note(self, room: str, verdict: ScopedRoom | Refusal) -> None:
        if self._dry_run:
            return
        refusal = verdict if isinstance(verdict, Refusal) else None
        self._notes.note(
            RoomNote(
                room=room,
                reason=refusal.reason if refusal else None,
                detail=refusal.detail if refusal else None,
                event=refusal.event if refusal else None,
                alias=verdict.alias if isinstance(verdict, ScopedRoom) else None,
                is_listed_direct=room in (self._direct or ()),
                rules=self._rules.fingerprint,
                checked=now(),
            )
        )

    def _refuse(self, room: str, refusal: Refusal) -> SourceReport:
        """Forget what is held of a room that is out of scope."""
        removed = 0
        if not self._dry_run:
            if room in self._known or room in self._parts.opened:
                removed = forget(self._parts, "chat", room)
            self._note(room, refusal)
        return SourceReport(
            source=room,
            corpus="chat",
            outcome=SourceOutcome.REFUSED,
            reason=f"{refusal.reason}: {refusal.detail}" if refusal.detail else refusal.reason,
            removed=removed,
        )

    def _unread(self, room: str, unread: Unread) -> SourceReport:
        if not self._dry_run:
            self._notes.look_again(room)
        cursor = self._parts.ledger.cursor(room).position
        return SourceReport(
            source=room,
            corpus="chat",
            outcome=SourceOutcome.UNREAD,
            reason=unread.reason,
            cursor={"before": cursor, "after": cursor},
        )

    def _unchanged(self, room: str) -> SourceReport:
        cursor = self._parts.ledger.cursor(room).position
        return SourceReport(
            source=room,
            corpus="chat",
            outcome=SourceOutcome.UNCHANGED,
            name=self._noted[room].alias,
            cursor={"before": cursor, "after": cursor},
        )
