"""What a bench tells: one row for each thing that was measured, held against its bar; as a table, Markdown and JSON."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HEADINGS = ("what", "bar", "measured", "for reading", "met")


@dataclass(frozen=True)
class Row:
    """One figure and its bar, both in `unit` (× is a ratio); `seconds`: what it was made from, for people to read."""

    what: str
    measured: float
    bar: float
    seconds: str = ""
    unit: str = "×"
    at_least: bool = False

    @property
    def is_met(self) -> bool:
        return self.measured >= self.bar if self.at_least else self.measured <= self.bar

    def cells(self) -> tuple[str, ...]:
        bar = f"{'≥' if self.at_least else '≤'} {_number(self.bar, self.unit)}"
        return self.what, bar, _number(self.measured, self.unit), self.seconds, "yes" if self.is_met else "NO"


def _number(value: float, unit: str) -> str:
    digits = f"{value:.2f}" if abs(value) < 10 and value != int(value) else f"{value:.0f}"
    return f"{digits} {unit}"


def table(rows: Sequence[Row]) -> str:
    """A table for a terminal."""
    lines = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def markdown(rows: Sequence[Row]) -> str:
    """The same table as Markdown."""
    lines = [HEADINGS, ("---",) * len(HEADINGS), *(row.cells() for row in rows)]
    return "".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |\n" for line in lines)


def write_json(path: Path, rows: Sequence[Row], about: dict[str, Any]) -> None:
    """Everything for programs; `about` tells where and how it was measured."""
    told = [{**asdict(row), "met": row.is_met} for row in rows]
    path.write_text(json.dumps({**about, "rows": told}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def interleaved(times: int, *measures: Callable[[], float]) -> list[float]:
    """The median of each measure. They take turns, so that a machine that gets slower does so for all of them."""
    found = [[measure() for measure in measures] for _ in range(times)]
    return [statistics.median(column) for column in zip(*found, strict=True)]


def percentile(values: Sequence[float], part: float) -> float:
    """The smallest value that at least `part` (0 to 1) of all values do not exceed."""
    if not values:
        raise ValueError("nothing was measured")
    ordered = sorted(values)
    return next(value for number, value in enumerate(ordered, start=1) if number >= part * len(ordered))
