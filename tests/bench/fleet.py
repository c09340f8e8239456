"""A fleet of Ollama hosts of a known speed: how near a first refresh comes to what they could do."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack

from tests.bench.place import Place
from tests.bench.rows import Row
from tests.support.ollama_server import MODEL, OllamaServer

_FILES = 200
_SECONDS_PER_TOKEN = 1e-4


def measure(place: Place) -> list[Row]:
    """A first refresh with 1, 2 and 4 hosts, each of which takes a fixed time for a token.

    Ideal is the time in which the hosts together take all the tokens that they were given. It is not scaled: a small
    job could not be shared among four.
    """
    return [_row(place, hosts) for hosts in (1, 2, 4)]


def _row(place: Place, hosts: int) -> Row:
    with ExitStack() as stack:
        running = [
            stack.enter_context(place.started("tests.bench.fleet:host", seconds_per_token=_SECONDS_PER_TOKEN))
            for _ in range(hosts)
        ]
        urls = []
        for host in running:
            host.line()
            urls.append(host.line())
        repos = {"corpus": place.corpus(files=_FILES)}
        config = str(place.settings(f"fleet{hosts}", repos, kind="ollama", model=MODEL, urls=urls))
        whole = place.child("tests.bench.runs:refresh", config=config, only=[])["seconds"]
        for host in running:
            host.stop()
        busy = [host.answer() for host in running]
    ideal = sum(busy) / hosts
    shares = ", ".join(f"{seconds / whole:.0%}" for seconds in busy)
    what = f"throughput of {hosts} Ollama host{'s' if hosts > 1 else ''}, of what is ideal"
    return Row(what, ideal / whole, 0.95, f"{whole:.1f} s, ideal {ideal:.1f} s; busy {shares}", at_least=True)


def host(seconds_per_token: float) -> float:
    """A stand-in for a host, in this process, until standard input ends; gives the seconds that its tokens took."""
    with OllamaServer(seconds_per_token=seconds_per_token) as server:
        sys.stdout.write(f"\n{server.url}\n")
        sys.stdout.flush()
        sys.stdin.read()
        time.sleep(0.1)
        return sum(len(text) for text in server.state.texts) / 4 * seconds_per_token
