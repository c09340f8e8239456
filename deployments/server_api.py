"""The few questions that the local stack asks a Prefect server, over plain HTTP.

In: the server's address. Out: ids, states and counts. Not through Prefect's client, whose import costs two seconds
and takes its settings from the environment at that moment.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from dataclasses import dataclass
from typing import Any

_FINAL = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")
_PATIENCE_SECONDS = 60.0
"""How long a server may be busy: on SQLite it answers 503 for as long as its own services hold the database."""


class NoAnswer(Exception):
    """The server does not answer, or refuses what was asked."""


@dataclass(frozen=True)
class RunState:
    """How a flow run stands."""

    type: str
    name: str
    message: str

    @property
    def is_final(self) -> bool:
        """Whether the run has ended."""
        return self.type in _FINAL


@dataclass(frozen=True)
class Server:
    """A Prefect server at `page`, the address for a browser."""

    page: str

    @property
    def api(self) -> str:
        """The address for Prefect's own programs (PREFECT_API_URL)."""
        return f"{self.page}/api"

    def is_up(self) -> bool:
        """Whether the server answers."""
        return self._found("/health")

    def has_pool(self, name: str) -> bool:
        """Whether there is a work pool of this name."""
        return self._found(f"/work_pools/{urllib.parse.quote(name)}")

    def worker_is_online(self, pool: str) -> bool:
        """Whether a worker of the pool has said that it is there."""
        workers = self.ask(f"/work_pools/{urllib.parse.quote(pool)}/workers/filter", {})
        return any(worker["status"] == "ONLINE" for worker in workers)

    def start_run(self, flow: str, deployment: str, **wanted: Any) -> str:
        """Start a run of a deployment, now and as it is set up unless `wanted` (`state`, `parameters`) says otherwise.

        Returns the run's id.
        """
        found = self.ask(f"/deployments/name/{flow}/{deployment}")
        # With the key a second try gets the run of the first one, if that one was carried out without an answer.
        body = {"state": {"type": "SCHEDULED"}, "idempotency_key": str(uuid.uuid4()), **wanted}
        run = self.ask(f"/deployments/{found['id']}/create_flow_run", body)
        return str(run["id"])

    def run_state(self, run: str) -> RunState:
        """How the flow run stands."""
        state = self.ask(f"/flow_runs/{run}")["state"]
        return RunState(state["type"], state["name"], state["message"] or "")

    def run_page(self, run: str) -> str:
        """The address of the flow run's page."""
        return f"{self.page}/runs/flow-run/{run}"

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """What the server's API answers to `path`, asked with GET, or with POST where there is a body.

        Asked again after a pause: a server that is busy may be slow, break a connection, or say 503. NoAnswer says that
        it refuses, or is busy for longer than a minute.
        """
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return self._ask_once(path, body)
            except OSError as error:
                refused = isinstance(error, urllib.error.HTTPError) and error.code < 500
                if refused or time.monotonic() > deadline:
                    raise NoAnswer(f"the Prefect server gives no answer to {path} ({error})") from error
                time.sleep(0.5)

    def _found(self, path: str) -> bool:
        try:
            self._ask_once(path)
        except OSError:
            return False
        return True

    def _ask_once(self, path: str, body: dict[str, Any] | None = None) -> Any:
        request = urllib.request.Request(
            self.api + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"content-type": "application/json"},
        )
        # Without proxies: the server is on this host, whatever the environment says about the world outside.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=10) as answer:
            return json.load(answer)
