"""Brings the rooms that the reader is in to what the roster says: looks, and, once confirmed, joins and leaves.

In: settings with a roster. Out: the difference, and what became of it. What the rules of the scope refuse is not
joined, as far as it can be told from outside; every room is judged again from inside, and left at once if it is refused
then or cannot be read. No flow runs this.
"""

from __future__ import annotations

from dataclasses import replace

from huginn.chat.account import open_account
from huginn.chat.faults import Failing, Rejected
from huginn.chat.homeserver import FactsUnread, RoomFacts
from huginn.chat.roster import Outcome, RosterReport, RosterRoom, Sought, difference, read_roster
from huginn.chat.scope import Refusal, Rules, ScopedRoom, Unread, judge
from huginn.chat.settings import ChatSettings, RosterSettings
from huginn.errors import HuginnError

_INVITE = "let a member of the room invite the reader"


class Membership:
    """Which rooms the reader is in, for one run of `huginn roster`.

    Making it raises `Refused` for a roster or token that cannot be used, `Unavailable` for a homeserver that is away.
    """

    def __init__(self, settings: ChatSettings, roster: RosterSettings) -> None:
        self._rules = Rules(settings.user, settings.exclude, settings.puppets)
        self._wanted = [entry.room for entry in read_roster(roster.file).rooms]
        self._account = open_account(settings, roster)

    def close(self) -> None:
        """Let go of the connection."""
        self._account.close()

    def plan(self) -> RosterReport:
        """What would be done; changes nothing. Raises `Refused` and `Unavailable`."""
        joined = self._account.view.joined_rooms()
        rooms = difference([self._sought(name, joined) for name in self._wanted], joined)
        for room in rooms:
            if room.room is not None and room.name not in self._wanted:
                room.name = self._alias(room.room) or room.name
        return self._report(rooms, dry_run=True)

    def carry_out(self, plan: RosterReport) -> RosterReport:
        """Do what the plan says, one room after the other; what goes wrong with one does not stop the others.

        Raises `Unavailable` where the reader cannot be suspended again.
        """
        with self._account.at_work():
            rooms = [self._done(room) for room in plan.rooms]
        return self._report(rooms, dry_run=False)

    def _report(self, rooms: list[RosterRoom], *, dry_run: bool) -> RosterReport:
        suspended = self._account.is_suspended
        return RosterReport(user=self._rules.reader, dry_run=dry_run, suspended=suspended, rooms=rooms)

    def _sought(self, name: str, joined: frozenset[str]) -> Sought:
        try:
            room = name if name.startswith("!") else self._account.room_of(name)
        except (Rejected, Failing) as failure:
            return Sought(name, None, f"cannot be found ({failure})")
        if room in joined:
            return Sought(name, room)
        verdict = self._verdict(room, name, is_inside=False)
        return Sought(name, room, _why(verdict) if isinstance(verdict, Refusal) else None)

    def _done(self, room: RosterRoom) -> RosterRoom:
        if room.room is None or room.outcome not in ("join", "leave"):
            return room
        try:
            if room.outcome == "join":
                return self._joined(room, room.room)
            self._account.leave(room.room)
        except Rejected as no:
            hint = f"; {_INVITE}" if room.outcome == "join" and no.status == 403 else ""
            return _ended(room, "failed", f"the homeserver says no ({no}){hint}")
        except HuginnError as error:
            return _ended(room, "failed", str(error))
        return _ended(room, "left", room.reason)

    def _joined(self, room: RosterRoom, room_id: str) -> RosterRoom:
        self._account.join(room_id, room.name.partition(":")[2])
        try:
            verdict = self._verdict(room_id, room.name, is_inside=True)
        except HuginnError as error:
            verdict = Unread(error.reason)
        if isinstance(verdict, ScopedRoom):
            return _ended(room, "joined", None)
        self._account.leave(room_id)
        outcome: Outcome = "refused" if isinstance(verdict, Refusal) else "failed"
        return _ended(room, outcome, f"joined and left again: {_why(verdict)}")

    def _verdict(self, room: str, name: str, *, is_inside: bool) -> ScopedRoom | Refusal | Unread:
        """What the rules of the scope say of a room; from outside as if the reader were in it."""
        view = self._account.view
        try:
            direct = view.direct_rooms()
        except FactsUnread:
            direct = None
        try:
            facts = view.facts(room)
        except FactsUnread:
            facts = RoomFacts(room, [], [], [])
        if name.startswith("#"):
            facts = replace(facts, aliases=[*facts.aliases, name])
        if not is_inside:
            facts = replace(facts, state=[*facts.state, _membership(room, self._rules.reader)])
        return judge(room, facts, joined=True, direct=direct, rules=self._rules)

    def _alias(self, room: str) -> str | None:
        """The alias of a room that the reader is in, so that people know it."""
        try:
            facts = self._account.view.facts(room)
        except FactsUnread:
            return None
        verdict = judge(room, facts, joined=True, direct=frozenset(), rules=self._rules)
        return verdict.alias if isinstance(verdict, ScopedRoom) else next(iter(facts.aliases), None)


def _membership(room: str, reader: str) -> dict[str, object]:
    return {
        "type": "m.room.member",
        "state_key": reader,
        "sender": reader,
        "room_id": room,
        "content": {"membership": "join"},
    }


def _why(verdict: Refusal | Unread) -> str:
    return f"{verdict.reason}: {verdict.detail}" if isinstance(verdict, Refusal) else verdict.reason


def _ended(room: RosterRoom, outcome: Outcome, reason: str | None) -> RosterRoom:
    return room.model_copy(update={"outcome": outcome, "reason": reason})
