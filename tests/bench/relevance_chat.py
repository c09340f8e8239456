"""`python -m tests.bench.relevance_chat ARCHIVE STREAM…`: how good answers from rooms are.

The titles of an archive's topics ask; a hit is right if it holds a message of the topic. See `relevance_archive`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from huginn import scrub
from huginn.embed import open_embedder
from huginn.index.opening import open_for_refresh
from huginn.rules import current_label
from huginn.search import Query, search
from huginn.settings import load
from tests.bench.place import Place
from tests.bench.relevance import METRICS, MODES, interval
from tests.bench.relevance_archive import Topic, stream_of
from tests.bench.relevance_sets import git_folder
from tests.support.rooms import write_room

_SETTINGS = """
state = "state"
[index]
min_free_bytes = 0
[chat]
homeserver = "https://matrix.example.org"
user = "@huginn:example.org"
"""


def main(arguments: Sequence[str]) -> int:
    """Measure and tell."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.relevance_chat", description="Measure answers.")
    parser.add_argument("archive", type=Path)
    parser.add_argument("streams", nargs="+")
    parser.add_argument("--most", type=int, default=8000, help="how many messages of each stream")
    parser.add_argument("--modes", nargs="*", choices=MODES, default=MODES)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="relevance-") as folder:
        config = Path(folder) / "huginn.toml"
        config.write_text(_SETTINGS, encoding="utf-8")
        topics = _indexed(config, git_folder(options.archive), options.streams, options.most)
        with Place(Path(folder)).started("tests.bench.runs:hold", config=str(config)) as holder:
            holder.line()
            for mode in options.modes:
                rows = np.array([_scores(config, topic, mode) for topic in topics])
                told = []
                for number, name in enumerate(METRICS):
                    low, high = interval(rows[:, number])
                    told.append(f"{name} {rows[:, number].mean():.3f} ({low:.3f} to {high:.3f})")
                sys.stdout.write(f"{mode}, {len(topics)} topics: {'; '.join(told)}\n")
    return 0


def _indexed(config: Path, archive: Path, streams: Sequence[str], most: int) -> list[Topic]:
    settings = load(config)
    scrub.prepare(settings.state / "cache")
    embedder = open_embedder(settings.embedder)
    topics: list[Topic] = []
    with open_for_refresh(settings, current_label(settings, embedder.identity), wait=5) as opened:
        for name in streams:
            stream = stream_of(archive, name, most)
            write_room(opened.target, stream.room, embedder=embedder)
            topics += stream.topics
    return topics


def _scores(config: Path, topic: Topic, mode: str) -> list[float]:
    """The metrics of one title over hits; recall is that of one right hit."""
    hits = search(load(config), Query(texts=[topic.title], mode=mode, corpora=["chat"])).hits
    rank = next(
        (
            rank
            for rank, hit in enumerate(hits, start=1)
            if topic.messages.intersection(message.event_id for message in hit.messages)
        ),
        0,
    )
    return [float(rank == 1), float(1 <= rank <= 5), float(rank > 0), 1 / rank if rank else 0.0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
