"""What the Prefect server does by itself: mark runs of dead workers as crashed, and notify, if it is told through what.

In: the client of a server, and the block that sends notifications, or none. Out: lines telling what is there. An
automation that is there by its name is set right, never made twice. (The one that starts `forge-refresh` on the event
`forge.push` belongs to that deployment, in `prefect.yaml`.)
"""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState, SendNotification
from prefect.events.schemas.automations import Automation, AutomationCore, EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification
from prefect.exceptions import ObjectNotFound

FLOWS = ["forge-refresh", "chat-refresh", "backfill", "room-rebuild", "purge-window"]
SILENCE = timedelta(seconds=90)
"""Three heartbeats of a run (PREFECT_FLOWS_HEARTBEAT_FREQUENCY=30 of its worker)."""
STALE = timedelta(hours=1)
"""A refresh that has not ended well for so long is told; schedules come every 5 and 15 minutes."""
_ENDED = {f"prefect.flow-run.{state}" for state in ("Completed", "Failed", "Crashed", "Cancelled", "TimedOut")}


class NoBlock(Exception):
    """There is no block of the name that was given."""


def of_dead_workers(silence: timedelta = SILENCE) -> AutomationCore:
    """Mark a run as crashed that gave signs of life and gives none any more: its worker and its host are gone.

    A flow whose worker alone has died says so itself, within seconds (`flows.orphan`).
    """
    return AutomationCore(
        name="huginn: runs of dead workers",
        description="A run whose heartbeat has stopped is marked as crashed. Its lock was freed by the kernel.",
        tags=["huginn"],
        trigger=EventTrigger(
            after={"prefect.flow-run.heartbeat"},
            expect={"prefect.flow-run.heartbeat", *_ENDED},
            match=ResourceSpecification(root={"prefect.resource.id": "prefect.flow-run.*"}),
            match_related=_of_flows(FLOWS),
            for_each={"prefect.resource.id"},
            posture=Posture.Proactive,
            threshold=1,
            within=silence,
        ),
        actions=[ChangeFlowRunState(state=StateType.CRASHED, message="its heartbeat has stopped")],
    )


def of_notices(block: UUID, stale: timedelta = STALE) -> list[AutomationCore]:
    """Send a notice through `block` when a run fails, and when no run of a refresh has ended well for so long."""
    failed = AutomationCore(
        name="huginn: a run failed",
        description="Tells each run that failed or crashed: ids and counts only.",
        tags=["huginn"],
        trigger=EventTrigger(
            expect={"prefect.flow-run.Failed", "prefect.flow-run.Crashed", "prefect.flow-run.TimedOut"},
            match=ResourceSpecification(root={"prefect.resource.id": "prefect.flow-run.*"}),
            match_related=_of_flows(FLOWS),
            for_each={"prefect.resource.id"},
            posture=Posture.Reactive,
            threshold=1,
        ),
        actions=[
            SendNotification(
                block_document_id=block,
                subject="Huginn: {{ flow.name }} {{ flow_run.state.name }}",
                body="{{ flow_run.name }}: {{ flow_run.state.message }}\n{{ flow_run|ui_url }}",
            )
        ],
    )
    silent = AutomationCore(
        name="huginn: no refresh ends well",
        description="Tells a refresh of which no run has ended well for long.",
        tags=["huginn"],
        trigger=EventTrigger(
            # One that ended well, and then none: told once, until one ends well again.
            after={"prefect.flow-run.Completed"},
            expect={"prefect.flow-run.Completed"},
            match=ResourceSpecification(root={"prefect.resource.id": "prefect.flow-run.*"}),
            match_related=_of_flows(FLOWS[:2]),
            for_each={"related:flow:prefect.resource.name"},
            posture=Posture.Proactive,
            threshold=1,
            within=stale,
        ),
        actions=[
            SendNotification(
                block_document_id=block,
                subject="Huginn: no refresh ends well",
                body="No run of {{ labels['related:flow:prefect.resource.name'] }} has ended well for "
                "{{ automation.trigger.within }}. "
                "'huginn status' says more.",
            )
        ],
    )
    return [failed, silent]


def make_automations(client: SyncPrefectClient, notify: str | None = None) -> list[str]:
    """Make them, or set them right, and tell. `notify`: a block as `TYPE/NAME`, such as `slack-webhook/team`.

    Without it no notice is set up, and one that is there stays. Raises `NoBlock`.
    """
    wanted = [of_dead_workers()]
    if notify:
        kind, _, name = notify.partition("/")
        try:
            block = client.read_block_document_by_name(name, kind)
        except ObjectNotFound:
            raise NoBlock(f"there is no block {notify}; make it in Prefect's page, under Blocks") from None
        wanted += of_notices(block.id)
    return [_made(client, automation) for automation in wanted]


def _made(client: SyncPrefectClient, wanted: AutomationCore) -> str:
    there = client.read_automations_by_name(wanted.name)
    if not there:
        client.create_automation(wanted)
        return f"automation {wanted.name}: made"
    for further in there[1:]:
        client.delete_automation(further.id)
    if _is_as(there[0], wanted):
        return f"automation {wanted.name}: there"
    client.update_automation(there[0].id, wanted)
    return f"automation {wanted.name}: set right"


def _is_as(there: Automation, wanted: AutomationCore) -> bool:
    return there.model_dump(include=set(AutomationCore.model_fields)) == wanted.model_dump()


def _of_flows(names: list[str]) -> ResourceSpecification:
    return ResourceSpecification(root={"prefect.resource.role": "flow", "prefect.resource.name": names})
