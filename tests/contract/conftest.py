"""The index in each of its kinds: the embedded engine, the stand-in server, and a real server if one is named."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from qdrant_client import QdrantClient

from huginn.settings import Settings
from tests.support.qdrant_server import StandIn

REAL = os.environ.get("HUGINN_TEST_QDRANT_URL")


@pytest.fixture
def standin(tmp_path: Path) -> Iterator[StandIn]:
    """A stand-in for a Qdrant server; nothing that it saw or said may be unlike the real one's."""
    server = StandIn(tmp_path / "server")
    yield server
    server.stop()
    assert server.violations == []


@pytest.fixture
def embedded_settings(tmp_path: Path) -> Settings:
    return Settings.model_validate({"state": tmp_path / "state", "index": {"min_free_bytes": 0}})


@pytest.fixture
def server_settings(tmp_path: Path, standin: StandIn) -> Settings:
    return Settings.model_validate({"state": tmp_path / "state", "index": {"url": standin.url}})


@pytest.fixture
def real_settings(tmp_path: Path) -> Iterator[Settings]:
    """An alias of its own on the server named by HUGINN_TEST_QDRANT_URL; what was made under it goes afterwards."""
    alias = f"huginn-test-{uuid.uuid4().hex}"
    yield Settings.model_validate({"state": tmp_path / "state", "index": {"url": REAL, "alias": alias}})
    client = QdrantClient(url=REAL)
    for collection in client.get_collections().collections:
        if collection.name.startswith(alias):
            client.delete_collection(collection.name)


@pytest.fixture(params=["embedded", "server", *(["real"] if REAL else [])])
def settings(request: pytest.FixtureRequest) -> Settings:
    """Settings of each kind."""
    settings: Settings = request.getfixturevalue(f"{request.param}_settings")
    return settings
