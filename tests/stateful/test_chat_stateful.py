"""Whatever happens in rooms and wherever a refresh is cut off: the index is what a fresh build would give.

Hypothesis plays on a homeserver in memory, with the real engine, embedder and checkpoint store; after each refresh that
ends, all points (ids, payloads and the bits of the vectors) are held against a build from nothing.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from huginn.errors import Refused
from huginn.index.payload import moment_of
from huginn.purges import in_force
from huginn.purging import entries, lift
from tests.support.chat_workspace import ChatWorkspace
from tests.support.faults import Fuse, Killed, fused
from tests.support.model_homeserver import HOUR, READER, START, ModelRoom

ROOMS = st.sampled_from(["garden", "kitchen"])
USERS = st.sampled_from(["@a:example.org", "@b:example.org"])
WORDS = st.lists(st.sampled_from(["heron", "walrus", "osprey", "quince", "ladder"]), min_size=1, max_size=4)
TIMES = st.none() | st.integers(0, 60).map(lambda n: START + n * HOUR // 4)


class ChatMachine(RuleBasedStateMachine):
    """Two rooms, one index, and everything that may happen to either."""

    @initialize()
    def begin(self) -> None:
        memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self.root = Path(tempfile.mkdtemp(prefix="stateful-", dir=memory))
        self.workspace = ChatWorkspace.at(self.root)
        self.homeserver = self.workspace.homeserver
        for name in ("garden", "kitchen"):
            self.homeserver.new_room(name).send("@a:example.org", f"the first heron of the {name}")

    def teardown(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def room(self, name: str) -> ModelRoom:
        return self.homeserver.rooms[f"!{name}:example.org"]

    def event(self, data: st.DataObject, room: ModelRoom) -> str:
        return str(data.draw(st.sampled_from([event["event_id"] for _, event in room.events])))

    @rule(name=ROOMS, user=USERS, words=WORDS, times=st.sampled_from([1, 1, 1, 120]), at=TIMES)
    def send(self, name: str, user: str, words: list[str], times: int, at: int | None) -> None:
        self.room(name).send(user, " ".join(words * times), at)

    @rule(name=ROOMS, user=USERS, words=WORDS, data=st.data(), at=TIMES)
    def edit(self, name: str, user: str, words: list[str], data: st.DataObject, at: int | None) -> None:
        room = self.room(name)
        room.edit(user, self.event(data, room), " ".join(words) + " anew", at)

    @rule(name=ROOMS, user=USERS, words=WORDS, data=st.data())
    def edit_from_elsewhere(self, name: str, user: str, words: list[str], data: st.DataObject) -> None:
        """An edit in one room of an event of the other."""
        other = self.room("kitchen" if name == "garden" else "garden")
        self.room(name).edit(user, self.event(data, other), " ".join(words))

    @rule(name=ROOMS, data=st.data())
    def redact(self, name: str, data: st.DataObject) -> None:
        room = self.room(name)
        messages = [event["event_id"] for _, event in room.events if "state_key" not in event]
        if messages:
            room.redact("@admin:example.org", data.draw(st.sampled_from(messages)))

    @rule(name=ROOMS, user=USERS, data=st.data())
    def react(self, name: str, user: str, data: st.DataObject) -> None:
        room = self.room(name)
        room.react(user, self.event(data, room))

    @rule(name=ROOMS, sign=st.sampled_from(["bridge", "puppet", "direct", "none", "none", "none", "none"]))
    def show_a_sign(self, name: str, sign: str) -> None:
        room = self.room(name)
        if sign == "bridge":
            room.state("m.bridge", "irc://x", {})
        elif sign == "puppet":
            room.join("@_irc_somebody:example.org")
        elif sign == "direct":
            self.homeserver.direct ^= {room.id}

    @rule(name=ROOMS, alias=st.sampled_from(["#garden:example.org", "#green:example.org"]))
    def name_it(self, name: str, alias: str) -> None:
        self.room(name).state("m.room.canonical_alias", "", {"alias": alias})

    @rule(name=ROOMS, there=st.booleans())
    def come_and_go(self, name: str, there: bool) -> None:
        (self.room(name).join if there else self.room(name).leave)(READER)

    @rule(rooms=st.sampled_from([(), (), ("!kitchen:example.org",)]))
    def exclude(self, rooms: tuple[str, ...]) -> None:
        self.workspace.exclude_rooms = rooms

    @rule()
    def lose_checkpoints(self) -> None:
        self.workspace.lose_checkpoints()

    @rule(name=ROOMS, start=st.integers(0, 60), length=st.integers(1, 8), fuse=st.none() | st.integers(0, 30))
    def purge(self, name: str, start: int, length: int, fuse: int | None) -> None:
        """A span is purged, or refused: the room may be unknown, or have nothing else. It may be cut off."""
        span = [moment_of(START + quarter * HOUR // 4) for quarter in (start, start + length)]
        with fused(Fuse(fuse)), suppress(Killed, Refused):
            self.workspace.purge(self.room(name).id, *span)

    @rule(data=st.data())
    def lift(self, data: st.DataObject) -> None:
        purges = in_force(entries(self.workspace.settings))
        if purges:
            one = data.draw(st.sampled_from(range(len(purges))))
            lift(self.workspace.settings, purges[one].id, "a mistake", "ann")

    @rule()
    def lose_the_purge_file(self) -> None:
        """Only where the store has what it says: what both have lost is lost."""
        state = self.workspace.settings.state
        if (state / "checkpoints.duckdb").exists():
            self.workspace.refresh()
            (state / "purges.jsonl").unlink(missing_ok=True)
            self.workspace.refresh()

    @rule(length=st.integers(0, 60))
    def refresh_and_be_killed(self, length: int) -> None:
        with fused(Fuse(length)), suppress(Killed):
            self.workspace.refresh()

    @rule(call=st.sampled_from(["facts", "messages", "event", "edits", "direct_rooms"]), name=ROOMS | st.just(""))
    def refresh_in_vain(self, call: str, name: str) -> None:
        """The homeserver fails in the middle, for one room or for all."""
        self.homeserver.away = {f"{call} {self.room(name).id}" if name else call}
        self.workspace.refresh()
        self.homeserver.away = set()

    @rule(name=ROOMS)
    def refresh_one(self, name: str) -> None:
        self.workspace.refresh(self.room(name).id)

    @rule()
    def refresh(self) -> None:
        report = self.workspace.refresh()
        assert {source.outcome for source in report.sources} <= {"ok", "unchanged", "refused"}, report
        fresh = self.workspace.fresh()
        fresh.refresh()
        assert self.workspace.points() == fresh.points()
        again = self.workspace.refresh()
        assert sum(source.embedded + source.written + source.updated + source.removed for source in again.sources) == 0
        assert {source.outcome for source in again.sources} <= {"unchanged"}, again


TestChat = ChatMachine.TestCase
TestChat.settings = settings(
    max_examples=20,
    stateful_step_count=15,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@pytest.mark.soak
@pytest.mark.timeout(3600)
class TestChatSoak(TestChat):  # type: ignore[misc, valid-type] # its base is made by Hypothesis
    """The same with many more examples."""

    settings = settings(TestChat.settings, max_examples=300)
