"""For all tests: the scrub's compiled rules are kept between runs, nobody's git settings matter, and one Synapse."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from huginn import scrub
from tests.support.synapse import Synapse
from tests.support.synapse_process import running_synapse


@pytest.fixture(scope="session", autouse=True)
def _compiled_rules(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.cache is not None
    scrub.prepare(pytestconfig.cache.mkdir("scrub-rules"))


@pytest.fixture(scope="session")
def synapse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synapse]:
    """A real homeserver, for all tests that ask for one."""
    with running_synapse(tmp_path_factory.mktemp("synapse")) as homeserver:
        yield homeserver


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs Prefect or Synapse is slow."""
    for item in items:
        if {"host", "synapse"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)
