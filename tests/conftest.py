"""For all tests: the scrub's compiled rules are kept between runs, and nobody's git settings matter."""

from __future__ import annotations

import pytest

from huginn import scrub


@pytest.fixture(scope="session", autouse=True)
def _compiled_rules(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.cache is not None
    scrub.prepare(pytestconfig.cache.mkdir("scrub-rules"))
