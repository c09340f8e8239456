"""Purging a span of time from a room, and lifting a purge: what the flow and the command line share.

In: settings and a request. Out: a report of ids and counts. The order: parameters checked, the room found and its
messages counted under the writer's lock, the purge recorded, the windows removed from every index on disk, their
surroundings written again, every index looked through once more and, where that is asked for, its files written anew.
A run that is cut off behind the record is finished by the next run of anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict

from huginn import scrub
from huginn.chat.naming import room_named
from huginn.chat.notes import upstream_of
from huginn.chat.purge import Found, Mending, find, remove, remove_purged, rewrite_marked
from huginn.checkpoints import Checkpoints
from huginn.embed import open_embedder
from huginn.embed.away import reachable
from huginn.errors import Refused, Unavailable
from huginn.index.opening import labels, open_all
from huginn.index.port import Index
from huginn.lock import writer_lock
from huginn.purges import Entry, Purged, PurgeRecord, in_force, standing
from huginn.rules import current_label
from huginn.settings import Settings

FLOW = "purge-window"
WAIT_SECONDS = 600.0
"""How long a purge waits for another writer: it must not be lost because a refresh is at work."""

_INDEX_WAIT_SECONDS = 30.0
_LONGEST_WORDS = 1000


@dataclass(frozen=True)
class Request:
    """A span of a room, by id or alias, that is to be purged: from `start` to before `end`, both with their zone."""

    room: str
    start: datetime
    end: datetime
    reason: str
    steward: str

    def check(self) -> None:
        """Raise `Refused` for what is wrong whatever the index holds."""
        for name, moment in (("from", self.start), ("to", self.end)):
            if moment.utcoffset() is None:
                raise Refused(name, "it has no zone", next_step="write it like 2026-03-04T05:06:07Z")
            if not datetime.min.replace(tzinfo=UTC) <= moment <= datetime.max.replace(tzinfo=UTC):
                raise Refused(name, "it is outside of the years 1 to 9999 in UTC", next_step="give another")
        if self.start >= self.end:
            raise Refused("to", "the window ends before it starts", next_step="give a later --to, it does not belong")
        require_words("reason", self.reason)
        require_words("steward", self.steward)


class PurgeReport(BaseModel):
    """What a purge did, or would do (`dry_run`): ids and counts only.

    `messages` are those that go, `windows` those with one of them, `points` how many points these are over all indexes;
    `written` are the points that the rest of those windows went into. `pending`: why some of that rest is missing
    until the next refresh. `rewritten`: how many indexes have new files throughout. `purge` is the id of the entry in
    the record.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    purge: str | None
    room: str
    start: datetime
    end: datetime
    dry_run: bool
    messages: int
    windows: int
    points: int
    written: int = 0
    pending: str | None = None
    rewritten: int = 0


def purge(
    settings: Settings,
    request: Request,
    *,
    dry_run: bool,
    expect: int | None = None,
    hard: bool = False,
    wait: float = WAIT_SECONDS,
) -> PurgeReport:
    """Purge a span of a room. `expect`: how many messages may go, as a dry run told; more stop it in time.

    `hard`: the files of every index on disk are written anew as well, so that the words are in none of them.
    Raises `Refused`, `Unavailable`, and `Busy` when another writer does not end within `wait` seconds.
    """
    request.check()
    if not dry_run and expect is None:
        raise Refused("expect", "it is not given", next_step="give the number of messages that a dry run tells")
    with _opened(settings, is_writing=not dry_run, wait=wait) as held:
        room = room_named(request.room, settings, held.indexes, held.checkpoints, held.before.entries)
        asked = Purged({room: ((request.start, request.end),)})
        found = [find(index, room, asked) for index in held.indexes]
        report = _counted(request, room, found, dry_run=dry_run)
        _require_some_left(room, found)
        if dry_run:
            return report
        if expect is not None and report.messages > expect:
            reason = f"{report.messages} messages would go, {expect} were expected"
            raise Refused("expect", reason, next_step="look at the window with a dry run")
        if hard:  # before it is recorded: from then on whoever comes next finishes it
            for index in held.indexes:
                index.mark_for_rewriting()
        entry = held.recorded(request, room)
        written, pending = held.carry_out(room, found)
        held.verify(room, asked)
        done = {"purge": entry.id, "written": written, "pending": pending, "rewritten": rewrite_marked(held.indexes)}
    return report.model_copy(update=done)


def lift(settings: Settings, purge_id: str, reason: str, steward: str, *, wait: float = WAIT_SECONDS) -> Entry:
    """Lift a purge: the next refresh of the room takes in again what the homeserver has. Gives the entry of the lift.

    Raises `Refused` where there is no such purge. One that was lifted before stays so, with that entry.
    """
    require_words("reason", reason)
    require_words("steward", steward)
    with writer_lock(settings.state, FLOW, wait=wait):
        record = PurgeRecord(settings.state, Checkpoints(settings.state).store)
        entries = record.reconcile()
        purges = [entry for entry in entries if entry.id == purge_id and entry.lifts is None]
        if not purges:
            raise Refused("lift", f"there is no purge {purge_id[:60]!r}", next_step="see 'huginn purge --list'")
        for entry in entries:
            if entry.lifts == purge_id:
                return entry
        span = {"room": purges[0].room, "start": purges[0].start, "end": purges[0].end}
        entry = Entry(**span, reason=reason, steward=steward, lifts=purge_id)
        record.add(entry)
    return entry


def entries(settings: Settings) -> list[Entry]:
    """The whole purge record, oldest first. Changes nothing."""
    return PurgeRecord(settings.state, Checkpoints(settings.state).store).entries()


def require_words(name: str, text: str) -> None:
    """Raise `Refused` for a text that says nothing, or is too long for the record."""
    if not text.strip() or len(text) > _LONGEST_WORDS:
        raise Refused(name, f"it must have 1 to {_LONGEST_WORDS} characters", next_step="say it in a sentence")


@dataclass(frozen=True)
class _Held:
    """What a purge works with, while it holds the writer's lock."""

    settings: Settings
    checkpoints: Checkpoints
    record: PurgeRecord
    before: Purged
    indexes: Sequence[Index]

    def recorded(self, request: Request, room: str) -> Entry:
        """The entry of this purge in the record: a new one, or that of the same span if it stands already."""
        for entry in in_force(self.record.entries()):
            if (entry.room, entry.start, entry.end) == (room, request.start, request.end):
                return entry
        span = {"room": room, "start": request.start.astimezone(UTC), "end": request.end.astimezone(UTC)}
        entry = Entry(**span, reason=request.reason, steward=request.steward)
        self.record.add(entry)
        return entry

    def carry_out(self, room: str, found: Sequence[Found]) -> tuple[int, str | None]:
        """Remove what was found, and write the rest again; gives how many points that took, and what is pending."""
        upstream = upstream_of(self.settings.chat) if self.settings.chat else None
        mending = Mending(self.checkpoints, upstream, self.before, standing(self.record.entries()))
        were_level = [mending.is_level(index, room) for index in self.indexes]
        for index, there in zip(self.indexes, found, strict=True):
            remove(index, room, there.windows, self.checkpoints)
        try:
            embedder = reachable(open_embedder(self.settings.embedder), labels(self.settings))
            label = current_label(self.settings, embedder.identity)
        except (Unavailable, Refused) as error:
            return 0, str(error)
        written, pending = 0, None
        for index, there, was_level in zip(self.indexes, found, were_level, strict=True):
            if index.label == label:
                number, away = mending.write_again(index, room, there.windows, embedder, was_level=was_level)
                written += number
                pending = str(away) if away else pending if was_level else "the next refresh compares the whole room"
            elif there.windows:
                pending = "an index is of other rules or another model: the next refresh builds it anew"
        return written, pending

    def verify(self, room: str, asked: Purged) -> None:
        """Look through every index once more. Raises `Unavailable` where something is left."""
        left = sum(len(find(index, room, asked).covered) for index in self.indexes)
        if left:
            raise Unavailable("index", f"{left} purged messages of {room} are still there", next_step="purge once more")


@contextmanager
def _opened(settings: Settings, *, is_writing: bool, wait: float) -> Iterator[_Held]:
    with writer_lock(settings.state, FLOW, wait=wait):
        scrub.prepare(settings.state / "cache")
        checkpoints = Checkpoints(settings.state)
        record = PurgeRecord(settings.state, checkpoints.store)
        before = standing(record.reconcile() if is_writing else record.entries())
        with open_all(settings, wait=_INDEX_WAIT_SECONDS) as indexes:
            if is_writing:
                remove_purged(indexes, before, checkpoints)
            yield _Held(settings, checkpoints, record, before, indexes)


def _counted(request: Request, room: str, found: Sequence[Found], *, dry_run: bool) -> PurgeReport:
    return PurgeReport(
        purge=None,
        room=room,
        start=request.start.astimezone(UTC),
        end=request.end.astimezone(UTC),
        dry_run=dry_run,
        messages=len(frozenset[str]().union(*(one.covered for one in found))),
        windows=len({window.id for one in found for window in one.windows}),
        points=sum(len(one.windows) for one in found),
    )


def _require_some_left(room: str, found: Sequence[Found]) -> None:
    covered = frozenset[str]().union(*(one.covered for one in found))
    if covered and covered == frozenset[str]().union(*(one.messages for one in found)):
        raise Refused(
            "room",
            f"the window holds every message of {room}",
            next_step="to be rid of the whole room, exclude it in the settings (chat.exclude) and refresh",
        )
