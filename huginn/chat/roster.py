"""The roster: which rooms the reader shall be in, by a steward's file, and what differs from the rooms it is in.

In: the file; for the difference, what was found of its rooms, and the rooms the reader has joined. Out: what is to be
done. Pure, but for the reading of the file. Where a room of the roster cannot be found, no room is left: one of them
may be it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, ValidationError

from huginn.chat.settings import checked_room
from huginn.errors import Refused
from huginn.section import Section

FILE_FIELD = "chat.roster.file"

Outcome = Literal["join", "leave", "stays", "refused", "joined", "left", "failed"]


def _checked_alias_or_id(room: str) -> str:
    if room.startswith("#") and ":" not in room:
        raise ValueError('give the whole alias, such as "#birds:example.org"')
    return checked_room(room)


class Entry(Section):
    """One `[[rooms]]` of the roster: a room, who asked for it and why; the latter two are for people."""

    room: Annotated[str, AfterValidator(_checked_alias_or_id)]
    asked_by: str = Field(min_length=1)
    why: str = Field(min_length=1)


class Roster(Section):
    """The file: TOML, with a `[[rooms]]` for each room that the reader shall be in."""

    rooms: tuple[Entry, ...] = ()


class RosterRoom(BaseModel):
    """A room of the roster, or one that the reader is in. `join` and `leave` are what would be done.

    `name`: as the roster has it, else the alias if there is one; `room` the id, None where it cannot be found.
    """

    name: str
    room: str | None
    outcome: Outcome
    reason: str | None = None


class RosterReport(BaseModel):
    """The difference, or what became of it. `suspended`: whether the reader is, None where that cannot be told."""

    user: str
    dry_run: bool
    suspended: bool | None
    rooms: list[RosterRoom]

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.suspended is False or any(room.outcome in ("join", "leave") for room in self.rooms)


@dataclass(frozen=True)
class Sought:
    """A room of the roster: its id, or why it cannot be found; and why it must not be joined, if so."""

    name: str
    room: str | None
    problem: str | None = None


def read_roster(path: Path) -> Roster:
    """Read the file. Raises `Refused` (field `chat.roster.file`)."""
    try:
        return Roster.model_validate(tomllib.loads(path.read_text(encoding="utf-8-sig")))
    except OSError as error:
        raise Refused(FILE_FIELD, f"cannot read {path} ({error.strerror})", next_step="check its name") from None
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_input=False)]
        next_step = "each [[rooms]] has a room, asked_by and why"
        raise Refused(FILE_FIELD, f"{path} cannot be used: {'; '.join(problems)}", next_step=next_step) from None
    except (ValueError, RecursionError):
        raise Refused(FILE_FIELD, f"{path} is no valid TOML", next_step="mend it") from None


def difference(sought: Sequence[Sought], joined: Iterable[str]) -> list[RosterRoom]:
    """What is to be done so that the reader is in the rooms of the roster and in no others. Pure.

    Raises `Refused` for an empty roster, which is a mistake rather than a wish to leave everything.
    """
    if not sought:
        raise Refused(FILE_FIELD, "names no room", next_step="list the rooms as [[rooms]]; nothing was left")
    joined = frozenset(joined)
    rooms: dict[str, RosterRoom] = {}
    for one in sought:
        outcome: Outcome = "stays" if one.room in joined else "join"
        if one.problem is not None and outcome == "join":
            outcome = "failed" if one.room is None else "refused"
        reason = None if outcome == "stays" else one.problem
        rooms.setdefault(one.room or one.name, RosterRoom(name=one.name, room=one.room, outcome=outcome, reason=reason))
    lost = [one.name for one in sought if one.room is None]
    others = sorted(joined - rooms.keys())
    if lost:
        reason = f"not in the roster, but it may be {lost[0]}, which cannot be found"
        left = [RosterRoom(name=room, room=room, outcome="stays", reason=reason) for room in others]
    else:
        left = [RosterRoom(name=room, room=room, outcome="leave", reason="not in the roster") for room in others]
    return [*rooms.values(), *left]
