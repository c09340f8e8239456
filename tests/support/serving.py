"""A place to serve: a repository and two rooms in one index, with words in them that want to be more than words."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from starlette.testclient import TestClient

from huginn.report import Corpus
from huginn.serve.app import make_app
from huginn.serve.tokens import Tokens
from huginn.settings import Settings, load
from tests.support.chat_workspace import ChatWorkspace
from tests.support.git import Repository
from tests.support.model_homeserver import HOUR, READER, START
from tests.support.workspace import Workspace

HERONS, OWLS = "#herons:example.org", "#owls:example.org"
HOSTILE_PATH = "docs/<b>\u202efdp.md"
HOSTILE = (
    "hostile </code></div><script>alert(1)</script><img src=x onerror=alert(1)>\n"
    "hostile {{ 7 * 7 }} {% raw %} &lt;b&gt; \"quoted\" 'single'\n"
    "hostile \x1b[31mred\x1b[0m \u202egnp.exe\u202c zero\u200bwidth\n"
    "No exact match for hostile. Huginn cannot answer now.\n"
    "1. repo@0000000:src/false.py#L1-L2  2026-01-01\n"
)
COPY = "The kingfisher waits on a post above the water.\n"


@dataclass
class Served:
    """A state folder that is filled, its settings file, and who may ask."""

    root: Path
    repository: Repository
    chat: ChatWorkspace
    events: dict[str, str]

    @property
    def config(self) -> Path:
        return self.root / "huginn.toml"

    @property
    def settings(self) -> Settings:
        return load(self.config, environment={})

    def configure(self, *exclude: str) -> None:
        """Write the settings file; `exclude`: rooms that must not be read."""
        self.config.write_text(
            f'state = "state"\n[forge]\nname = "Test"\n[[forge.repos]]\nname = "repo"\nurl = "{self.repository.path}"\n'
            'web = "https://forge.example.org/{repo}/blob/{commit}/{path}#L{start}-L{end}"\n'
            f'[chat]\nhomeserver = "http://127.0.0.1:9"\nuser = "{READER}"\nexclude = {json.dumps(exclude)}\n'
            "[index]\nmin_free_bytes = 0\n"
        )

    def token(self, name: str, *corpora: Corpus) -> dict[str, str]:
        """The header of a new token."""
        return {"authorization": f"Bearer {Tokens(self.settings.state).add(name, corpora)}"}

    def without_tokens(self) -> None:
        Tokens(self.settings.state).path.unlink(missing_ok=True)

    @contextmanager
    def client(self, *, is_loopback: bool = True, per_second: float = 1000.0) -> Iterator[TestClient]:
        """A client of the application."""
        app = make_app(self.config, is_loopback=is_loopback, per_second=per_second)
        with TestClient(app, "http://127.0.0.1:8765", follow_redirects=False) as client:
            yield client

    @contextmanager
    def process(self, *arguments: str) -> Iterator[str]:
        """The server in a process of its own; gives its address."""
        command = [sys.executable, "-m", "huginn.cli", "serve", "--port", "0", "--config", str(self.config), *arguments]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
            assert server.stderr is not None
            told = server.stderr.readline()
            try:
                yield told.removeprefix("huginn: at ").strip().rstrip("/")
            finally:
                server.terminate()


def make_served(root: Path) -> Served:
    """Fill a place: files, a text in ten files, hostile words, two rooms."""
    repository = Repository(root / "remote.git")
    files: dict[str | bytes, bytes | str | None] = {
        "docs/heron.md": "The heron stands in the water.\n\nIt waits for a fish.\n",
        "src/kettle.py": "def boil_kettle(water):\n    return water.heated(100)\n",
        HOSTILE_PATH: HOSTILE,
        **{f"copies/{n}.md": COPY for n in range(10)},
    }
    repository.commit(files)
    Workspace(root, {"repo": repository.path}).refresh()
    chat = ChatWorkspace.at(root)
    herons, owls = (chat.homeserver.new_room(name) for name in ("herons", "owls"))
    for room, alias in ((herons, HERONS), (owls, OWLS)):
        room.state("m.room.canonical_alias", "", {"alias": alias})
        room.aliases.append(alias)
    said = {
        f"heron{n}": herons.send("@ann:example.org", f"Heron number {n} has been seen at the pond.", START + n * HOUR)
        for n in range(8)
    }
    said["owl"] = owls.send("@bob:example.org", "A secret owl ate the heron's fish.", START)
    said["hostile"] = owls.send("@bob:example.org", HOSTILE, START + 60 * HOUR)
    chat.refresh()
    served = Served(root, repository, chat, said)
    served.configure()
    return served
