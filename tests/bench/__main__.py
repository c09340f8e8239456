"""`python -m tests.bench [row…]`: measures, and prints one table; `make bench` is the same.

Every figure is a ratio against a bare baseline that takes turns with it in the same run, or has its bar in seconds for
reading. A bar that is missed is told; only what could not be measured makes the exit code 1.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench.place import CouldNotMeasure, Place
from tests.bench.rows import Row, markdown, table, write_json

MEASURES = {
    "first": "tests.bench.first:measure",
    "idle": "tests.bench.again:measure_idle",
    "commit": "tests.bench.again:measure_commit",
    "memory": "tests.bench.memory:measure",
    "search": "tests.bench.searches:measure",
    "process": "tests.bench.searches:measure_process",
    "during": "tests.bench.during:measure",
    "fleet": "tests.bench.fleet:measure",
    "killed": "tests.bench.killed:measure",
    "serve": "tests.bench.serving:measure",
    "chat": "tests.bench.chat:measure",
    "chat-memory": "tests.bench.chat:measure_memory",
}
"""What can be measured, by name: a function that takes a `Place` and gives rows."""


def main(arguments: Sequence[str]) -> int:
    """Measure and tell; 1 if something could not be measured."""
    parser = _parser()
    options = parser.parse_args(arguments)
    for name in options.rows:
        if name not in MEASURES:
            parser.error(f"there is no row {name!r}; there are: {', '.join(MEASURES)}")
    rows: list[Row] = []
    failed = []
    began = time.strftime("%Y-%m-%d")
    for name in options.rows or MEASURES:
        with tempfile.TemporaryDirectory(prefix="bench-", dir=options.folder) as folder:
            _tell(f"{name} …")
            try:
                found = _measure(name, Place(Path(folder), options.scale, options.times))
            except (CouldNotMeasure, OSError, subprocess.SubprocessError, AssertionError) as error:
                failed.append(name)
                _tell(f"{name} could not be measured: {error}")
                continue
            rows += found
            _tell("".join("  " + "  ".join(row.cells()) + "\n" for row in found))
    sys.stdout.write(table(rows) + "\n")
    about = {"date": began, "cores": os.cpu_count(), "python": platform.python_version(), "scale": options.scale}
    if options.markdown:
        options.markdown.write_text(markdown(rows), encoding="utf-8")
    if options.json:
        write_json(options.json, rows, about)
    return 1 if failed else 0


def _measure(name: str, place: Place) -> list[Row]:
    module, _, function = MEASURES[name].partition(":")
    rows: list[Row] = getattr(importlib.import_module(module), function)(place)
    return rows


def _tell(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measure what Huginn costs.")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"what to measure, else all: {', '.join(MEASURES)}")
    parser.add_argument("--scale", type=float, default=1.0, help="smaller or larger sizes; 1 is that of the bars")
    parser.add_argument("--times", type=int, default=3, help="repetitions, of which the median counts")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there too")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything there for programs")
    parser.add_argument("--folder", type=Path, metavar="FOLDER", help="where to work, a temporary folder inside of it")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
