"""What may leave a task: ids, never the text of an error that nobody foresaw."""

from __future__ import annotations

import logging
import traceback

import pytest
from prefect.states import Failed

from huginn.errors import Busy, Refused, Unavailable, Unforeseen
from tasks.forge import may_help
from tasks.open_run import ids_only

SECRET = "the words of a file"


def test_an_error_of_huginn_leaves_without_the_error_it_was_made_from() -> None:
    with pytest.raises(Unavailable) as caught, ids_only():
        raise Unavailable("upstream", "away") from ValueError(SECRET)

    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_an_error_nobody_foresaw_leaves_as_its_kind_and_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR), pytest.raises(Unforeseen) as caught, ids_only():
        raise ValueError(SECRET)

    assert str(caught.value).startswith("ValueError in test_open_run.py line ")
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert SECRET in caplog.text, "whoever runs the worker can read all of it"


def test_a_signal_to_end_is_let_through() -> None:
    with pytest.raises(KeyboardInterrupt), ids_only():
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("error", "helps"),
    [
        (Unavailable("upstream", "away"), True),
        (Refused("branch", "no such branch"), False),
        (Busy("another writer is at work"), False),
        (Unforeseen("ValueError in chunk.py line 5"), False),
        (TimeoutError(), False),
    ],
)
def test_only_what_is_away_is_tried_again(error: Exception, helps: bool) -> None:
    assert may_help(None, None, Failed(data=error)) is helps
