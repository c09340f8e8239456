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
    """Two processes share the tests by file, so that what a file sets up is set up once.

    One of them has Prefect and one, perhaps the same, has Synapse.
    """
    for item in items:
        has_server = item.path.parent.name == "live" and item.path.stem in (
            "test_forge_refresh",
            "test_flow_rules",
            "test_chat_refresh",
        )
        has_synapse = "synapse" in getattr(item, "fixturenames", ())
        group = "prefect" if has_server else "synapse" if has_synapse else item.path.stem
        item.add_marker(pytest.mark.xdist_group(group))
        if has_synapse:
            item.add_marker(pytest.mark.slow)
