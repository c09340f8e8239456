"""Times, as people write them on the command line: RFC 3339, or a date; in UTC unless a zone is given.

In: text of an argument, or a moment. Out: a moment in UTC, or a text that tells it in full.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

import click

_SHAPE = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:\d{2})?)?", re.ASCII
)

_HAS_ZONE = re.compile(r":\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$", re.ASCII)


def parsed(text: str) -> datetime | None:
    """The moment that `text` means, or None when it means none. A date is its first moment."""
    if _SHAPE.fullmatch(text.strip()) is None:
        return None
    try:
        moment = datetime.fromisoformat(text.strip().upper())
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):  # no such day or hour, or none of the years 1 to 9999 in UTC
        return None


def shown(moment: datetime) -> str:
    """`2026-03-04T05:06:07Z`, with the fraction of a second if there is one."""
    fraction = "auto" if moment.microsecond % 1000 else "milliseconds" if moment.microsecond else "seconds"
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=fraction) + "Z"


def read(_context: click.Context, parameter: click.Parameter, value: str | None) -> datetime | None:
    """Read an option's text, or fail with what would be right."""
    if value is None:
        return None
    moment = parsed(value)
    if moment is None:
        words = "is no time; write it like 2026-03-04, 2026-03-04T05:06:07Z or 2026-03-04T05:06:07+02:00"
        raise click.BadParameter(f"{value!r} {words}", param=parameter)
    return moment


def read_with_zone(_context: click.Context, parameter: click.Parameter, value: str | None) -> datetime | None:
    """Read an option's text that must say its zone, or fail with what would be right."""
    if value is None:
        return None
    moment = parsed(value)
    if moment is None or not _HAS_ZONE.search(value.strip()):
        words = "is no time with a zone; write it like 2026-03-04T05:06:07Z or 2026-03-04T05:06:07+02:00"
        raise click.BadParameter(f"{value!r} {words}", param=parameter)
    return moment
