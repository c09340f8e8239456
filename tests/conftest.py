"""For all tests: the scrub's compiled rules are kept between runs, and nobody's git settings matter."""

from __future__ import annotations

import pytest

from huginn import scrub


@pytest.fixture(scope="session", autouse=True)
def _compiled_rules(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.cache is not None
    scrub.prepare(pytestconfig.cache.mkdir("scrub-rules"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Two processes share the tests by file, so that what a file sets up is set up once; one of them has Prefect."""
    for item in items:
        has_server = item.path.parent.name == "live" and item.path.stem in ("test_forge_refresh", "test_flow_rules")
        group = "prefect" if has_server else item.path.stem
        item.add_marker(pytest.mark.xdist_group(group))
