"""How everything stands, in the text format of Prometheus: for node_exporter's textfile collector, or for a scrape.

In: the settings. Out: one text. Labels hold ids only: names of repositories, ids of rooms, flows, hosts without the
rest of their addresses. Moments are given, not ages: an age in a file that nobody writes any more would stay young.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from urllib.parse import urlsplit

from huginn.checkpoints import Checkpoints
from huginn.index.disk import LEAST_FREE_BYTES
from huginn.index.noted import noted
from huginn.journal import LastRun, last_runs
from huginn.lock import holder
from huginn.report import Corpus, RunOutcome, SourceStatus, now
from huginn.settings import Settings
from huginn.status import status

_CORPORA: tuple[Corpus, ...] = ("forge", "chat")
Sample = tuple[Mapping[str, str], float]


@dataclass(frozen=True)
class Metric:
    """One metric: its name, what it tells, and its samples (labels and value)."""

    name: str
    help: str
    samples: Iterable[Sample]
    type: Literal["gauge"] = "gauge"

    def told(self) -> str:
        """It, in the text format of Prometheus, version 0.0.4; names without samples are told too."""
        lines = [f"# HELP {self.name} {self.help}", f"# TYPE {self.name} {self.type}"]
        lines += [f"{self.name}{_labels(labels)} {value!r}" for labels, value in self.samples]
        return "\n".join(lines) + "\n"


def metrics(settings: Settings) -> str:
    """All metrics. Nothing is fetched or opened; only hosts of Ollama are asked, for a few seconds at most.

    Raises `Refused` or `Unavailable` when the checkpoint store cannot be read.
    """
    report = status(settings)
    checkpoints = Checkpoints(settings.state)
    parts = [
        *_of_sources(report.sources),
        *_of_runs(last_runs(checkpoints.store)),
        Metric("huginn_index_points", "Points of the index in use.", [({}, float(report.index.points or 0))]),
        Metric(
            "huginn_open_intents",
            "Sources whose cursor is open: being written, or cut off and compared as a whole by the next run.",
            _open_intents(settings, checkpoints),
        ),
        *_of_host(settings),
        Metric(
            "huginn_embedder_host_in_service",
            "1: this host of Ollama answers and has the model.",
            _hosts(settings),
        ),
        Metric("huginn_metrics_timestamp_seconds", "When this was written.", [({}, now().timestamp())]),
    ]
    return "".join(part.told() for part in parts)


def _of_sources(sources: list[SourceStatus]) -> list[Metric]:
    inside = [source for source in sources if not source.out_of_scope]
    return [
        Metric(
            "huginn_source_last_success_timestamp_seconds",
            "When the source was last refreshed well; 0: never.",
            [(_of(source), _seconds(source.last_success)) for source in inside],
        ),
        Metric(
            "huginn_source_failing_since_timestamp_seconds",
            "Since when the source fails; 0: it does not, or has never been tried.",
            [(_of(source), _seconds(source.failing_since)) for source in inside],
        ),
        Metric(
            "huginn_source_points",
            "Points of the source, when its cursor moved last.",
            [(_of(source), float(source.points or 0)) for source in inside],
        ),
        Metric(
            "huginn_source_skipped",
            "Paths or messages that are left out, by reason.",
            [
                ({**_of(source), "reason": reason}, float(number))
                for source in inside
                for reason, number in sorted(Counter(item.reason for item in source.skipped).items())
            ],
        ),
        Metric(
            "huginn_source_failed",
            "Paths or messages that could not be taken in.",
            [(_of(source), float(len(source.failed))) for source in inside],
        ),
        Metric(
            "huginn_source_refused",
            "1: a room that the rules of scope keep out, of which nothing is held.",
            [(_of(source), float(source.out_of_scope)) for source in sources if source.corpus == "chat"],
        ),
    ]


def _of_runs(runs: list[LastRun]) -> list[Metric]:
    # `refused` and `busy` runs have done nothing, and are in no journal.
    outcomes = (RunOutcome.OK, RunOutcome.PARTIAL, RunOutcome.FAILED)
    return [
        Metric(
            "huginn_run_finished_timestamp_seconds",
            "When the last run of a flow ended.",
            [({"flow": run.flow}, _seconds(run.finished)) for run in runs],
        ),
        Metric(
            "huginn_run_last_success_timestamp_seconds",
            "When a run of a flow last ended with all sources well; 0: not in the last 90 days.",
            [({"flow": run.flow}, _seconds(run.last_well)) for run in runs],
        ),
        Metric(
            "huginn_run_duration_seconds",
            "How long the last run of a flow took.",
            [({"flow": run.flow}, (run.finished - run.started).total_seconds()) for run in runs],
        ),
        Metric(
            "huginn_run_outcome",
            "1: the outcome of the last run of a flow.",
            [
                ({"flow": run.flow, "outcome": outcome.value}, float(run.outcome is outcome))
                for run in runs
                for outcome in outcomes
            ],
        ),
    ]


def _open_intents(settings: Settings, checkpoints: Checkpoints) -> list[Sample]:
    collection = noted(settings)
    if collection is None or not checkpoints.store.exists():
        return [({"corpus": corpus}, 0.0) for corpus in _CORPORA]
    ledgers = {corpus: checkpoints.ledger(collection.id, corpus) for corpus in _CORPORA}
    return [
        ({"corpus": corpus}, float(sum(cursor.is_open for cursor in ledger.cursors.values())))
        for corpus, ledger in ledgers.items()
    ]


def _of_host(settings: Settings) -> list[Metric]:
    existing = next(path for path in (settings.state, *settings.state.parents) if path.exists())
    least = max(settings.index.min_free_bytes, LEAST_FREE_BYTES)
    return [
        Metric(
            "huginn_disk_free_bytes",
            "Free bytes where the state folder is.",
            [({}, float(shutil.disk_usage(existing).free))],
        ),
        Metric("huginn_disk_needed_bytes", "With less free nothing is written.", [({}, float(least))]),
        Metric(
            "huginn_writer_at_work",
            "1: somebody holds the writer's lock.",
            [({}, float(holder(settings.state) is not None))],
        ),
    ]


def _hosts(settings: Settings) -> list[Sample]:
    """Each host of Ollama, asked side by side."""
    urls = (*settings.embedder.urls, *settings.embedder.reserve_urls)
    if not urls:
        return []
    with ThreadPoolExecutor(len(urls)) as asking:
        answers = asking.map(lambda url: _serves(settings, url), urls)
    return [({"host": urlsplit(url).netloc}, float(serves)) for url, serves in zip(urls, answers, strict=True)]


def _serves(settings: Settings, url: str) -> bool:
    from huginn.embed.host import HostAway  # noqa: PLC0415 - Ollama's client is an extra, and its import slow
    from huginn.embed.opening import hosts_of  # noqa: PLC0415 - as above

    [host] = hosts_of(settings.embedder, (url,))
    try:
        host.digest()
    except HostAway:
        return False
    return True


def _of(source: SourceStatus) -> dict[str, str]:
    return {"corpus": source.corpus, "source": source.source}


def _seconds(moment: datetime | None) -> float:
    return moment.timestamp() if moment else 0.0


def _labels(labels: Mapping[str, str]) -> str:
    told = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{told}}}" if told else ""


def _escaped(value: str) -> str:
    """A label's value as the format wants it. What UTF-8 cannot hold would make the whole file unreadable."""
    text = value.encode("utf-8", "backslashreplace").decode("utf-8")
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
