"""Rooms of a real Synapse: a first read, runs that find nothing or one message; and the memory of a long room."""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.bench.place import ROOT, Place
from tests.bench.rows import Row, interleaved
from tests.support.synapse import Synapse, User
from tests.support.synapse_history import VERSION, write_history
from tests.support.synapse_process import running_synapse

_START = 1_700_000_000_000  # ms since 1970
_WORDS = [f"{a}{b}" for a in ("heron", "osprey", "walrus", "quince", "stoat", "medlar") for b in range(500)]


def measure(place: Place) -> list[Row]:
    """A first read against bare paging and the bare embedder; then 200 rooms, idle and with one new message."""
    with running_synapse(place.folder) as homeserver:
        return [*_measure_first(place, homeserver), *_measure_rooms(place, homeserver)]


def measure_memory(place: Place) -> list[Row]:
    """Peak memory of first reads of a room in memory of no server, and of one ten times as long."""
    peaks = []
    for size in (20_000, 200_000):
        file = place.folder / f"{size}.jsonl"
        with file.open("w", encoding="utf-8") as lines:
            for number, (time, body) in enumerate(_talk(place.sized(size, least=2000))):
                lines.write(json.dumps(_event(number, time, body)) + "\n")
        folder = str(place.folder / f"memory{size}")
        command = [sys.executable, "-m", "tests.support.recorded_room", folder, str(file)]
        done = subprocess.run(command, cwd=ROOT, env=place.environment(), check=True, capture_output=True, text=True)
        peaks.append(json.loads(done.stdout)["peak_kib"] / 1024)
    few, many = peaks
    told = f"{few:.0f} to {many:.0f} MiB"
    return [Row("growth of memory from 20,000 to 200,000 messages", many - few, 32, told, unit="MiB")]


def _measure_first(place: Place, homeserver: Synapse) -> list[Row]:
    ada, reader = homeserver.user("ada"), homeserver.user("reader")
    room = ada.create_room(VERSION)
    reader.join(room)
    size = place.sized(20_000, least=100)
    write_history(homeserver, ada.send(room, "the first of many"), _talk(size))
    homeserver.analyze()
    turn = iter(range(place.times + 1))
    texts = str(place.folder / "windows.json")

    def refresh() -> float:
        config = _settings(place, f"first-read-{next(turn)}", homeserver, reader)
        (told,) = place.child("tests.bench.chat_runs:refresh", config=config)
        assert told["messages"] == size + 1
        place.child("tests.bench.chat_runs:dump", config=config, texts=texts)
        return float(told["seconds"])

    def page() -> float:
        paging = {"url": homeserver.url, "token": reader.token, "room": room}
        return float(place.child("tests.bench.chat_runs:page_through", **paging))

    def embed() -> float:
        return float(place.child("tests.bench.bare:embed", texts=texts))

    refresh()  # so that the server, too, has read all of it once
    whole, paging, embedding = interleaved(place.times, refresh, page, embed)
    bare = paging + embedding
    told = f"{whole:.2f} s against {paging:.2f} s of paging and {embedding:.2f} s of embed"
    return [Row(f"first read of a room of {size} messages, against bare paging and embed", whole / bare, 1.2, told)]


def _measure_rooms(place: Place, homeserver: Synapse) -> list[Row]:
    ada, reader = homeserver.user("ada"), homeserver.user("reader")
    rooms = [ada.create_room(VERSION) for _ in range(place.sized(200, least=5))]
    for room in rooms:
        reader.join(room)
        ada.send(room, f"the first of {room}")
    config = _settings(place, "rooms", homeserver, reader)
    place.child("tests.bench.chat_runs:refresh", config=config)
    times = 3 * place.times
    idle = place.child("tests.bench.chat_runs:refresh", config=config, times=times)
    synced = place.child("tests.bench.chat_runs:sync", url=homeserver.url, token=reader.token, times=times)
    assert not any(run["written"] for run in idle)
    looking, bare = statistics.median(run["rooms"] for run in idle), statistics.median(synced)
    whole = statistics.median(run["seconds"] for run in idle)
    told = f"{looking * 1000:.0f} ms against {bare * 1000:.0f} ms; {whole * 1000:.0f} ms with opening and closing"
    ada.send(rooms[len(rooms) // 2], "one more")
    (new,) = place.child("tests.bench.chat_runs:refresh", config=config)
    return [
        Row("requests of an idle run over 200 rooms", max(run["requests"] for run in idle), 3, unit="requests"),
        Row("idle run over 200 rooms, once it is open, against a bare /sync", looking / bare, 1.5, told),
        Row("requests of a run for one new message", new["requests"], 6, f"{new['seconds']:.2f} s", unit="requests"),
        Row("windows embedded for one new message", new["embedded"], 1, unit="windows"),
        Row("points written for one new message", new["written"], 1, unit="points"),
    ]


def _settings(place: Place, name: str, homeserver: Synapse, reader: User) -> str:
    """A settings file that names the homeserver."""
    file: Path = place.settings(name, {})
    token = file.with_name("token")
    token.write_text(reader.token, encoding="utf-8")
    token.chmod(0o600)
    chat = {"homeserver": homeserver.url, "user": reader.id, "token_file": str(token)}
    section = "\n".join(["[chat]", *(f"{key} = {json.dumps(value)}" for key, value in chat.items()), ""])
    file.write_text(file.read_text(encoding="utf-8") + section, encoding="utf-8")
    return str(file)


def _talk(size: int) -> Iterator[tuple[int, str]]:
    """So many messages as people write them: some long, most short, in stretches."""
    chance = random.Random(7)
    time = _START
    for _ in range(size):
        time += chance.choice((5_000, 20_000, 90_000, 90_000, 3_600_000))
        yield time, " ".join(chance.choices(_WORDS, k=chance.choice((1, 3, 8, 12, 30))))


def _event(number: int, time: int, body: str) -> dict[str, object]:
    return {
        "type": "m.room.message",
        "event_id": f"$n{number:06}",
        "room_id": "!garden:example.org",
        "sender": f"@u{number % 40}:example.org",
        "origin_server_ts": time,
        "content": {"msgtype": "m.text", "body": body},
    }
