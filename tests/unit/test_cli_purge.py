"""`huginn purge` on a terminal: it counts, asks, and goes no further than what it has shown."""

from __future__ import annotations

import io
import sys
from datetime import UTC

import pytest

from huginn import purging
from huginn.purging import PurgeReport, Request
from huginn.settings import Settings
from tests.support.command_line import CommandLine, Terminal

SPAN = ("--from", "2024-03-10T00:00:00Z", "--to", "2024-03-11T01:00:00+01:00", "--reason", "as was asked")
ROOM = "!garden:example.org"


class Typing(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bool, int | None]]:
    """What a purge was asked for: whether to count alone, and how many messages were expected."""
    calls: list[tuple[bool, int | None]] = []

    def purge(
        _: Settings, request: Request, *, dry_run: bool, expect: int | None = None, hard: bool = False
    ) -> PurgeReport:
        calls.append((dry_run, expect))
        return PurgeReport(
            purge=None if dry_run else "id-of-it",
            room=request.room,
            start=request.start.astimezone(UTC),
            end=request.end.astimezone(UTC),
            dry_run=dry_run,
            messages=4,
            windows=2,
            points=2,
            rewritten=1 if hard else 0,
        )

    monkeypatch.setattr(purging, "purge", purge)
    return calls


@pytest.mark.parametrize(
    ("answer", "more", "calls", "code"),
    [
        ("y\n", (), [(True, None), (False, 4)], 0),
        ("n\n", (), [(True, None)], 130),
        ("", (), [(True, None)], 130),
        ("y\n", ("--expect", "3"), [(True, None), (False, 3)], 0),
        ("", ("--yes",), [(True, None), (False, 4)], 0),
        ("", ("--yes", "--expect", "4"), [(False, 4)], 0),
        ("", ("--yes", "--expect", "4", "--hard"), [(False, 4)], 0),
        ("", ("--dry-run",), [(True, None)], 0),
    ],
)
def test_on_a_terminal_it_counts_and_asks_first(
    huginn: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
    asked: list[tuple[bool, int | None]],
    answer: str,
    more: tuple[str, ...],
    calls: list[tuple[bool, int | None]],
    code: int,
) -> None:
    told = Terminal()
    monkeypatch.setattr(sys, "stdin", Typing(answer))
    monkeypatch.setattr(sys, "stderr", told)
    ended = huginn("purge", ROOM, *SPAN, *more)
    assert (asked, ended.code) == (calls, code)
    assert ("written anew" in ended.out) == ("--hard" in more)
    shown = told.getvalue() if len(calls) == 2 or code else ended.out
    if "--yes" not in more or len(calls) == 2:
        assert "4 messages in 2 windows" in shown
        assert f"{ROOM} from 2024-03-10T00:00:00Z to before 2024-03-11T00:00:00Z" in shown


def test_moments_must_say_their_zone(huginn: CommandLine, asked: list[tuple[bool, int | None]]) -> None:
    for wrong in ("2024-03-10", "2024-03-10T00:00", "2024-03-10T00:00:00", "yesterday"):
        ended = huginn("purge", ROOM, "--from", wrong, *SPAN[2:], "--dry-run")
        assert ended.code == 2
        assert "zone" in ended.err
    assert asked == []
