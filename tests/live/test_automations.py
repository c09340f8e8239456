"""What the Prefect server does by itself: a push, a run without a heartbeat, a notice; on a real server."""

from __future__ import annotations

import http.server
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from prefect.blocks.notifications import CustomWebhookNotificationBlock
from prefect.client.orchestration import SyncPrefectClient, get_client
from pydantic import SecretStr

from deployments.automations import FLOWS, NoBlock, make_automations, of_dead_workers, of_notices
from tests.live.conftest import Host
from tests.live.test_forge_refresh import FLOW
from tests.live.test_standing import until

pytestmark = pytest.mark.slow

DEAD = "huginn: runs of dead workers"


@pytest.fixture
def client(host: Host) -> Iterator[SyncPrefectClient]:
    with get_client(sync_client=True) as client:
        yield client


def emit(client: SyncPrefectClient, event: str, resource: str, **more: object) -> None:
    """An event, as whoever receives a webhook sends it to the server."""
    named = {"prefect.resource.id": resource}
    told = {"event": event, "id": str(uuid.uuid4()), "occurred": datetime.now(UTC).isoformat(), "resource": named}
    client.request("POST", "/events", json=[{**told, **more}]).raise_for_status()


def test_a_push_starts_a_refresh_of_that_repository_alone(host: Host, client: SyncPrefectClient) -> None:
    deployment = host.server.ask(f"/deployments/name/{FLOW}/{FLOW}")["id"]
    name = f'Her"on {uuid.uuid4().hex[:6]}'

    def runs() -> list[dict[str, object]]:
        found = host.server.ask("/flow_runs/filter", {"flow_runs": {"deployment_id": {"any_": [deployment]}}})
        return [run for run in found if run["parameters"].get("sources") == [name]]

    emit(client, "forge.push", "forge.push.test", payload={"repository": name})
    until(runs, seconds=30)
    [run] = runs()
    assert run["parameters"] == {"sources": [name], "dry_run": False}
    client.delete_flow_run(uuid.UUID(str(run["id"])))


def started(host: Host, client: SyncPrefectClient) -> tuple[str, dict[str, str]]:
    """A run that is said to be at work, and the flow as its events name it."""
    deployment = host.server.ask(f"/deployments/name/{FLOW}/{FLOW}")
    run = host.server.ask("/flow_runs/", {"flow_id": deployment["flow_id"], "state": {"type": "RUNNING"}})["id"]
    flow = {"prefect.resource.id": f"prefect.flow.{deployment['flow_id']}", "prefect.resource.name": FLOW}
    return run, {**flow, "prefect.resource.role": "flow"}


def test_a_run_whose_heartbeat_stops_is_marked_as_crashed_and_one_of_another_flow_is_not(
    host: Host, client: SyncPrefectClient
) -> None:
    assert make_automations(client) == [f"automation {DEAD}: there"]
    [there] = client.read_automations_by_name(DEAD)
    client.update_automation(there.id, of_dead_workers(timedelta(seconds=10)))
    run, flow = started(host, client)
    other, _ = started(host, client)
    emit(client, "prefect.flow-run.heartbeat", f"prefect.flow-run.{run}", related=[flow])
    foreign = {**flow, "prefect.resource.name": "somebody-elses"}
    emit(client, "prefect.flow-run.heartbeat", f"prefect.flow-run.{other}", related=[foreign])

    until(lambda: host.server.run_state(run).is_final, seconds=40)

    assert host.server.run_state(run).type == "CRASHED"
    assert host.server.run_state(run).message == "its heartbeat has stopped"
    assert host.server.run_state(other).type == "RUNNING"
    assert make_automations(client) == [f"automation {DEAD}: set right"]
    client.create_automation(of_dead_workers())
    assert make_automations(client) == [f"automation {DEAD}: there"]
    [there] = client.read_automations_by_name(DEAD)
    assert there.trigger == of_dead_workers().trigger
    for one in (run, other):
        client.delete_flow_run(uuid.UUID(one))


@contextmanager
def receiver() -> Iterator[tuple[str, list[str]]]:
    """An address, and what has been sent to it."""
    told: list[str] = []

    class Receiving(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.append(self.rfile.read(int(self.headers["content-length"])).decode())
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiving) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", told
        server.shutdown()


def test_a_run_that_fails_and_a_refresh_that_goes_stale_are_told_through_the_block_that_is_named(
    host: Host, client: SyncPrefectClient
) -> None:
    with pytest.raises(NoBlock, match="slack-webhook/nobody"):
        make_automations(client, "slack-webhook/nobody")
    with receiver() as (address, told):
        block = CustomWebhookNotificationBlock(
            name="here",
            url=address,
            method="POST",
            json_data={"text": "{{subject}} | {{body}}"},
            allow_private_urls=True,
            secrets={"unused": SecretStr("x")},
        )
        block.save("here", overwrite=True)
        made = make_automations(client, "custom-webhook/here")
        assert [line.rpartition(": ")[2] for line in made] == ["there", "made", "made"]
        _, silent = of_notices(block._block_document_id or uuid.uuid4(), stale=timedelta(seconds=10))
        [there] = client.read_automations_by_name(silent.name)
        client.update_automation(there.id, silent)
        runs = [started(host, client)[0] for _ in range(2)]
        for run, state in zip(runs, ("FAILED", "COMPLETED"), strict=True):
            ending = {"type": state, "message": "1 of 2 sources failed"}
            host.server.ask(f"/flow_runs/{run}/set_state", {"state": ending})
        until(lambda: len(told) > 1, seconds=40)
    for name in ("huginn: a run failed", silent.name):
        [there] = client.read_automations_by_name(name)
        client.delete_automation(there.id)
    for run in runs:
        client.delete_flow_run(uuid.UUID(run))
    assert f"Huginn: {FLOW} Failed | " in told[0]
    assert "1 of 2 sources failed" in told[0]
    assert f"{host.server.page}/runs/flow-run/{runs[0]}" in told[0]
    assert f"No run of {FLOW} has ended well for 0:00:10. " in told[1]


def test_every_flow_is_watched(host: Host) -> None:
    deployed = host.server.ask("/deployments/filter", {})
    flows = {host.server.ask(f"/flows/{deployment['flow_id']}")["name"] for deployment in deployed}
    assert flows == set(FLOWS)
