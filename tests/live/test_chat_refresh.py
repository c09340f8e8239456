"""The deployment of the chat corpus on a real Prefect server, run by a real worker on rooms of a real Synapse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.live.conftest import Host
from tests.live.test_forge_refresh import ended
from tests.support.chat_on_synapse import SynapseWorkspace
from tests.support.synapse import Synapse, User

pytestmark = pytest.mark.slow

CANARY = "the-words-of-a-message-that-stay-here"
FLOW = "chat-refresh"


class Rooms:
    """Rooms in which Ada speaks, as a host's settings name them: one is bridged, one has an alias."""

    def __init__(self, host: Host, synapse: Synapse, folder: Path) -> None:
        self.host = host
        self.ada: User = synapse.user("ada")
        self.workspace = SynapseWorkspace.at(folder, synapse)
        self.garden, self.bridged = self.ada.create_room(), self.ada.create_room()
        self.alias = f"#garden-{self.ada.id.strip('@')}"
        self.ada.set_alias(self.garden, self.alias)
        self.ada.set_state(self.garden, "m.room.canonical_alias", {"alias": self.alias})
        for room in (self.garden, self.bridged):
            self.workspace.reader.join(room)
            first, second = (self.ada.send(room, f"{CANARY} {number}") for number in range(2))
            self.ada.edit(room, first, f"{CANARY} again")
            self.ada.redact(room, second)
            self.ada.send(room, {"msgtype": "m.image", "body": f"{CANARY}.jpg", "url": "mxc://hs.test/1"})
        self.ada.set_state(self.bridged, "m.bridge", {"protocol": {"id": CANARY}}, CANARY)

    def write_settings(self, *, with_chat: bool = True) -> None:
        """The host's settings, with a state of their own."""
        chat = {name: value for name, value in self.workspace.chat.items() if name not in ("exclude", "puppets")}
        lines = [f"{name} = {json.dumps(value)}" for name, value in chat.items()]
        head = f'state = "{self.workspace.root / "state"}"\n[forge]\nname = "team"\n'
        index = "[index]\nmin_free_bytes = 0\n"
        self.host.config.write_text(
            head + index + ("[chat]\n" + "\n".join(lines) if with_chat else ""), encoding="utf-8"
        )

    def run(self, **parameters: Any) -> tuple[str, Any]:
        """The id of a run that has ended, and how."""
        run = self.host.server.start_run(FLOW, FLOW, parameters=parameters)
        return run, ended(self.host, run)

    def table(self, run: str) -> dict[str, dict[str, Any]]:
        artifacts = self.host.server.ask("/artifacts/filter", {"artifacts": {"flow_run_id": {"any_": [run]}}})
        [found] = [one for one in artifacts if one["type"] == "table"]
        assert found["key"] == FLOW
        return {row["room"]: row for row in json.loads(found["data"])}


@pytest.fixture
def rooms(worker: Host, synapse: Synapse, tmp_path: Path) -> Rooms:
    return Rooms(worker, synapse, tmp_path)


def test_the_deployment_refreshes_rooms_and_tells_ids_and_counts_alone(rooms: Rooms) -> None:
    rooms.write_settings()

    run, state = rooms.run()

    assert state.type == "COMPLETED", state
    table = rooms.table(run)
    assert table.keys() == {rooms.alias, rooms.bridged}
    row = table[rooms.alias]
    assert (row["outcome"], row["messages"], row["edits"], row["redactions"]) == ("ok", 1, 1, 1)
    assert row["written"] == 1
    assert "media without caption 1" in row["skipped"]
    assert "redacted 1" in row["skipped"]
    refused = table[rooms.bridged]
    assert (refused["outcome"], refused["messages"], refused["written"]) == ("refused", 0, 0)
    assert refused["reason"].startswith("bridged: state event m.bridge")
    tasks = rooms.host.server.ask("/task_runs/filter", {"flow_runs": {"id": {"any_": [run]}}})
    assert sorted(task["name"] for task in tasks) == sorted([rooms.garden, rooms.bridged])
    assert rooms.host.server.ask(f"/flow_runs/{run}")["name"] == "chat: all"
    assert CANARY in rooms.workspace.texts()

    again, state = rooms.run(rooms=[rooms.bridged, rooms.alias], dry_run=True)
    assert state.type == "COMPLETED", state
    assert "dry run" in state.message
    assert rooms.table(again)[rooms.bridged]["outcome"] == "refused"
    _, state = rooms.run(rooms=["garden"])
    assert state.type == "FAILED"
    assert "rooms[0]: 'garden' names no room" in state.message
    rooms.workspace.reader.log_out()
    _, state = rooms.run()
    assert state.type == "FAILED"
    assert "chat.token_file" in state.message

    kept, printed = rooms.host.kept_by_prefect(), (rooms.host.folder / "worker.log").read_text()
    for secret in (CANARY, rooms.workspace.reader.token):
        leaked = secret.encode() in kept
        assert not leaked
        assert secret not in printed


def test_without_the_section_there_is_nothing_to_do(rooms: Rooms) -> None:
    rooms.write_settings(with_chat=False)

    run, state = rooms.run()

    assert state.type == "COMPLETED", state
    assert "nothing to do: the settings have no [chat]" in state.message
    assert rooms.host.server.ask("/task_runs/filter", {"flow_runs": {"id": {"any_": [run]}}}) == []
