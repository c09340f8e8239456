"""What is known of an event: of several records the one that says it is redacted, kept or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from huginn.chat.known import Known, KnownEvents
from huginn.store import Store


@pytest.mark.parametrize("kept", ["none", "the first", "both"])
def test_a_record_that_an_event_is_redacted_takes_the_place_of_the_one_before(tmp_path: Path, kept: str) -> None:
    edit, pruned = Known("$e", "edit", "$o", "@a:x", 5), Known("$e", "pruned", "$o", "@a:x", 5)
    events = KnownEvents(Store(tmp_path / "checkpoints.duckdb"), "index", "!room", is_whole=False)
    events.learn([edit])
    if kept != "none":
        events.keep(at_least=1)
    events.learn([pruned])
    if kept == "both":
        events.keep(at_least=1)
    known, about = events.look_up(["$e", "$o"])
    assert known == {"$e": pruned}
    assert pruned in about["$o"]
