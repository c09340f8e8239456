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


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups: later they would count for nothing, without a word
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Two processes share the tests by file, so that what a file sets up is set up once.

    One of them has Prefect and Synapse.
    """
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        needs_server = "host" in fixtures or "synapse" in fixtures
        item.add_marker(pytest.mark.xdist_group("servers" if needs_server else item.path.stem))
        if needs_server:
            item.add_marker(pytest.mark.slow)
