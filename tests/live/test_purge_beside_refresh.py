"""A purge and a refresh of the same room at the same time, as processes: whoever is first, the words are gone."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from huginn.purging import entries
from tests.support.beside import all_at_once, purge_after, refresh_slowly, workspace_at

LONGEST = 1.2
"""Seconds after which the refresh has ended as well: purges fall before, into and behind it."""


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [3, pytest.param(20, marks=pytest.mark.soak)])
def test_after_both_have_ended_no_purged_message_is_there(
    tmp_path: Path, pytestconfig: pytest.Config, rounds: int
) -> None:
    assert pytestconfig.cache is not None
    rules = pytestconfig.cache.mkdir("scrub-rules")
    base = workspace_at(tmp_path, is_later=False)
    base.refresh()
    assert "walrus" in base.texts()
    chance = random.Random(int(os.environ.get("HUGINN_TEST_SEED", "7")))
    for number in range(rounds):
        root = base.copy("round").root
        seconds = LONGEST * (number + chance.random()) / rounds
        codes = all_at_once((refresh_slowly, (root, rules)), (purge_after, (root, rules, seconds)))
        assert codes == [0, 0], number
        workspace = workspace_at(root, is_later=True)
        assert len(entries(workspace.settings)) == 1
        assert "walrus" not in workspace.texts(), number
        workspace.refresh()
        assert workspace.points() == workspace.fresh().filled().points(), number
