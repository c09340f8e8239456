"""The server in a process of its own: there at once, no word of a question in its log, a refresh goes on beside it."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.support.serving import Served, make_served

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
_STARTS_IN = 2.0
_ON_A_BUSY_MACHINE = 3  # times as long


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Served:
    return make_served(tmp_path_factory.mktemp("process"))


@pytest.fixture(scope="module")
def address(served: Served) -> Iterator[str]:
    with served.process("--rate", "10000") as address:
        yield address


def test_it_is_there_at_once_and_logs_no_question(served: Served) -> None:
    command = [sys.executable, "-m", "huginn.cli", "serve", "--port", "0", "--config", str(served.config)]
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        address = server.stderr.readline().removeprefix("huginn: at ").strip()
        assert httpx.get(f"{address}healthz", timeout=20).json() == {"status": "ok"}
        assert time.monotonic() - began < _STARTS_IN * _ON_A_BUSY_MACHINE
        assert httpx.get(f"{address}api/search?texts=heron+standing", timeout=20).json()["hits"]
        httpx.get(f"{address}api/search?texts=heron&top_k=heron", timeout=20)
        httpx.get(f"{address}heron?heron", timeout=20)
        server.send_signal(signal.SIGTERM)
        out, err = server.communicate(timeout=20)
    assert (out, err) == ("", "")


def test_a_port_that_is_taken_is_told(served: Served, address: str) -> None:
    port = address.rpartition(":")[2]
    command = [sys.executable, "-m", "huginn.cli", "serve", "--port", port, "--config", str(served.config)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 3
    assert f"cannot listen at port {port}" in ended.stderr


def test_a_refresh_gets_the_index_and_every_question_its_answer(served: Served, address: str) -> None:
    served.repository.commit({f"new/{n}.md": f"A bittern booms, number {n}.\n" for n in range(400)})
    codes, is_over = list[int](), threading.Event()

    def ask() -> None:
        while not is_over.is_set():
            codes.append(httpx.get(f"{address}/api/search?texts=heron", timeout=20).status_code)

    asking = threading.Thread(target=ask)
    asking.start()
    refresh = [sys.executable, "-m", "huginn.cli", "refresh", "--config", str(served.config)]
    ended = subprocess.run(refresh, capture_output=True, text=True, check=False, timeout=120)
    is_over.set()
    asking.join()
    assert ended.returncode == 0, ended.stderr
    assert len(codes) > 5
    assert set(codes) == {200}
    found = httpx.get(f"{address}/api/search?texts=bittern+booms", timeout=20).json()
    assert "bittern" in found["hits"][0]["text"]


def test_the_openapi_document_tells_the_truth(address: str) -> None:
    """Whatever it lets one ask has an answer that it describes."""
    schema = schemathesis.openapi.from_url(f"{address}/api/openapi.json")
    operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
    assert len(operations) == 7
    for operation in operations:

        @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @given(case=operation.as_strategy())
        def ask(case: Any) -> None:
            case.call_and_validate(checks=CHECKS, timeout=20)

        ask()


def test_the_openapi_document_names_every_address_and_loads_nothing(address: str) -> None:
    document = httpx.get(f"{address}/api/openapi.json").json()
    assert set(document["paths"]) == {
        "/api/search", "/api/chat/search", "/api/chat/window/{event_id}", "/api/status", "/metrics", "/healthz",
    }  # fmt: skip
    assert httpx.get(f"{address}/docs").status_code == 404
