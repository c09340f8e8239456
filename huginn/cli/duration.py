"""Durations, as people write them: `90s`, `15m`, `2h`, `3d`, `1h30m`.

In: text of an argument, or seconds. Out: a `timedelta`, or a short text.
"""

from __future__ import annotations

import re
from datetime import timedelta

import click

_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_SHAPE = re.compile(r"(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,9})s)?", re.ASCII)


def parsed(text: str) -> timedelta | None:
    """The duration that `text` means, or None when it means none. Units come from large to small, each once."""
    match = _SHAPE.fullmatch(text.strip().lower())
    if match is None or not any(match.groups()):
        return None
    return timedelta(
        seconds=sum(int(count or 0) * size for count, size in zip(match.groups(), _SECONDS.values(), strict=True))
    )


def shown(seconds: float) -> str:
    """`seconds` with its two largest units: `45s`, `3m`, `2h10m`, `5d`."""
    rest = max(0, int(seconds))
    parts: list[str] = []
    for unit, size in _SECONDS.items():
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
        elif parts:
            break
    return "".join(parts[:2]) or "0s"


def read(_context: click.Context, parameter: click.Parameter, value: str | None) -> timedelta | None:
    """Read an option's text, or fail with what would be right."""
    if value is None:
        return None
    duration = parsed(value)
    if duration is None:
        raise click.BadParameter(f"{value!r} is no duration; write it like 90s, 15m, 2h, 3d or 1h30m", param=parameter)
    return duration
