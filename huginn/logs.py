"""Log lines for machines: one JSON object a line, ids and counts only.

In: records of loggers. Out: lines on standard error, when that is no terminal. Flows log through Prefect, whose
settings name the class (`deployments`).
"""

from __future__ import annotations

import json
import logging
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

_OF_PREFECT = ("flow_run_id", "flow_run_name", "task_run_id", "task_run_name")


class JsonLines(logging.Formatter):
    """A record as one line: `time`, `level`, `logger`, `message`, and the names that came with `extra={"ids": …}`.

    In a flow also the names and ids of its run and task.
    """

    def __init__(self, *_of_the_configuration: object) -> None:
        super().__init__()

    def format(self, record: logging.LogRecord) -> str:
        """The line, in ASCII, so that it is harmless for a terminal too.

        An exception is told by its kind and the lines it passed through: its text might quote a file.
        """
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: str(record.__dict__[name]) for name in _OF_PREFECT if name in record.__dict__},
            **getattr(record, "ids", {}),
        }
        if record.exc_info and record.exc_info[0]:
            line["exception"] = record.exc_info[0].__name__
            passed = traceback.extract_tb(record.exc_info[2])
            line["passed"] = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in passed]
        return json.dumps(line)


def to_machines(stream: TextIO) -> None:
    """From now on what is logged below `huginn` goes to `stream` as JSON lines, and nowhere else."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("huginn")
    logger.handlers = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False
