"""A public chat archive as rooms with questions: topic titles ask, windows with a message of the topic answer.

The archive is a git repository with one JSON file for each topic, `zulip_json/STREAM/TOPIC.json`, as the project
`zulip/zulip-archive` writes them. Each stream becomes a room: the messages of all its topics, mixed in order of time.
Nothing of an archive is kept with this project: people wrote it.
"""

from __future__ import annotations

import html
import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from huginn.chat.window import Line
from huginn.scrub import scrub
from tests.bench.relevance_sets import git
from tests.support.rooms import Room

_TAG = re.compile(r"<[^>]*>")
_BLANK_LINES = re.compile(r"\n\s*\n+")
_LEAST_MESSAGES, _LEAST_WORDS = 3, 3


@dataclass(frozen=True)
class Topic:
    """A title, and the ids of the messages that were written under it."""

    title: str
    messages: frozenset[str]


@dataclass(frozen=True)
class Stream:
    """A room with the first messages of a stream, and its topics with enough messages and words in the title to ask."""

    room: Room
    topics: list[Topic]


def stream_of(clone: Path, name: str, most: int) -> Stream:
    """A stream with its first `most` messages that have a text."""
    found: list[tuple[Line, str]] = []
    for title, messages in _topics(clone, name):
        for message in messages:
            body = _plain(str(message["content"]))
            if body:
                sender = f"@{re.sub(r'[^a-z]', '', str(message['sender_full_name']).lower())}:example.org"
                found.append(
                    (Line(f"${message['id']}", sender, int(message["timestamp"]) * 1000, scrub(body).clean), title)
                )
    found = sorted(found, key=lambda each: (each[0].time, each[0].event_id))[:most]
    titles: dict[str, set[str]] = {}
    for line, title in found:
        titles.setdefault(title, set()).add(line.event_id)
    topics = [
        Topic(title, frozenset(ids))
        for title, ids in titles.items()
        if len(ids) >= _LEAST_MESSAGES and len(title.split()) >= _LEAST_WORDS
    ]
    return Stream(Room(f"!{name}:example.org", [line for line, _ in found]), topics)


def _topics(clone: Path, stream: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Each topic's title, without the mark of a topic that is resolved, and its messages."""
    folder = f"HEAD:zulip_json/{stream}"
    listed = git(clone, "ls-tree", "-z", folder).split("\0")
    names = [entry.partition("\t")[2] for entry in listed if entry.endswith(".json")]
    asked = "".join(f"{folder}/{name}\n" for name in names).encode()
    command = ["git", "--git-dir", str(clone), "cat-file", "--batch"]
    answer = subprocess.run(command, input=asked, check=True, capture_output=True).stdout
    start = 0
    for name in names:
        end = answer.index(b"\n", start)
        size = int(answer[start:end].split()[-1])
        content = answer[end + 1 : end + 1 + size]
        start = end + 2 + size
        title = unquote(name.removesuffix(".json").replace(".", "%")).removeprefix("✔").strip()
        yield title, json.loads(content)


def _plain(content: str) -> str:
    """What is written in a message of HTML."""
    return _BLANK_LINES.sub("\n", html.unescape(_TAG.sub("", content))).strip()
