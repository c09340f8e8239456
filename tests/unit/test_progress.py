"""How far the sources of a run are can be read at any time, and is told while there is work."""

from __future__ import annotations

import threading

from huginn.progress import Progress, Step, watched


def test_a_source_tells_how_much_is_done_and_left_and_at_what_rate() -> None:
    assert Step("heron", 1200, 20000, 4.0).told() == "heron: 1200 of 20000 done, 18800 left, 300 a second"
    assert Step("!garden:example.org", 5000, None, 2.0).told() == "!garden:example.org: 5000 done, 2500 a second"
    assert Step("heron", 0, None, 31.4).told() == "heron: begun 31 s ago"
    assert Step("heron", 0, 20000, 0.0).told() == "heron: 0 of 20000 done, 20000 left, 0 a second"


def test_only_sources_that_are_at_work_are_told() -> None:
    progress = Progress()
    count = 0
    with progress.at_work_on("heron"), progress.at_work_on("wren"):
        progress.follow("wren", lambda: count, total=9)
        count = 7
        assert [(step.source, step.done, step.total) for step in progress.steps()] == [
            ("heron", 0, None),
            ("wren", 7, 9),
        ]
    assert progress.steps() == []


def test_whoever_watches_is_told_again_and_again_until_the_work_ends() -> None:
    progress = Progress()
    told: list[int] = []
    often = threading.Event()

    def tell(steps: object) -> None:
        told.append(len(told))
        if len(told) == 3:
            often.set()

    with watched(progress, tell, every=0.001), progress.at_work_on("heron"):
        assert often.wait(10)
    assert not [thread for thread in threading.enumerate() if thread.name == "progress"]
