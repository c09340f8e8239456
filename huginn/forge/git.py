"""How git is run.

In goes a folder and arguments, out comes what git wrote, or `GitFailed` with harmless words. Rules that live here: git
sees none of the caller's `GIT_*` settings, nor the user's, nor the system's; it never asks for a password, never runs a
hook, speaks https, ssh and to local folders only; a credential is passed in the environment, never as an argument.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from huginn.errors import Unavailable
from huginn.forge.address import Address
from huginn.forge.process import GitFailed, Process

LONGEST_WORDS = 300
_LARGEST_OUTPUT = 64 << 20
MOST_MEMORY = 2 << 30  # for reading: two commits with two million paths take a third of it

# The settings of the user and the system are not read, so everything that matters stands here.
_SETTINGS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "credential.helper": "",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    # A pack comes in whole or not at all; loose objects would be written one by one, a commit before its files.
    "fetch.unpackLimit": "1",
    # Objects are checked against their ids always, but not for style: nothing is checked out, no link is followed and
    # no submodule entered, while many honest old repositories hold commits that a strict check refuses.
    "fetch.fsckObjects": "false",
    # Nothing of git may go on when its command has ended: the next run cleans up what it left.
    "gc.autoDetach": "false",
    "maintenance.autoDetach": "false",
    "gc.bigPackThreshold": "128m",  # packing the packs together stays short in large repositories
    "http.lowSpeedLimit": "1",
    "http.lowSpeedTime": "60",
    # A redirect takes the header with the token along, so with a token none is followed (see `for_address`).
    "http.followRedirects": "initial",
    "transfer.bundleURI": "false",
}

_SSH = (
    "ssh -oBatchMode=yes -oConnectTimeout=20 -oServerAliveInterval=15 -oServerAliveCountMax=4"
    " -oForwardAgent=no -oClearAllForwardings=yes -oPermitLocalCommand=no"
)

# What an operator sets to make a private certificate authority known: it has no other place to be read from.
_KEPT = frozenset({"GIT_SSL_CAINFO", "GIT_SSL_CAPATH"})
_DROPPED = re.compile(r"GIT_.*|SSH_ASKPASS.*|LC_.*|LANG|LANGUAGE|PAGER|EDITOR|VISUAL|DISPLAY")


@dataclass(frozen=True)
class Git:
    """Git in one bare repository, or outside of any (`folder` None)."""

    folder: Path | None
    seconds: float
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    memory: int | None = None

    def start(self, *arguments: str, asked: bool = False, held: Sequence[int] = ()) -> Process:
        """Start git for reading piece by piece; to be used in a `with` block."""
        try:
            environment = self.environment()
            return Process(arguments, environment, seconds=self.seconds, asked=asked, held=held, memory=self.memory)
        except FileNotFoundError:
            raise Unavailable(
                "upstream", "git is not installed, or not on the PATH", next_step="install git 2.34 or newer"
            ) from None

    def run(self, *arguments: str, held: Sequence[int] = ()) -> bytes:
        """Run git to its end and return what it wrote, which must be short."""
        with self.start(*arguments, held=held) as process:
            pieces: list[bytes] = []
            size = 0
            while piece := process.read():
                pieces.append(piece)
                size += len(piece)
                if size > _LARGEST_OUTPUT:
                    raise GitFailed("the answer is too long")
            self.finish(process)
        return b"".join(pieces)

    def succeeds(self, *arguments: str) -> bool:
        """Tell whether git ends well."""
        try:
            self.run(*arguments)
        except GitFailed:
            return False
        return True

    def finish(self, process: Process) -> None:
        """Wait for the end of a process whose output has been read; raise `GitFailed` if it went wrong."""
        if process.wait() != 0:
            raise GitFailed(harmless(process.complaint, self.secrets))

    def environment(self) -> dict[str, str]:
        """Return the whole environment that git gets."""
        environment = {
            name: value for name, value in os.environ.items() if name in _KEPT or not _DROPPED.fullmatch(name)
        }
        environment.update(
            # Outside of any repository means outside: not in the one that happens to lie around the current folder.
            GIT_DIR=str(self.folder) if self.folder else os.devnull,
            GIT_CONFIG_GLOBAL=os.devnull,
            GIT_CONFIG_NOSYSTEM="1",
            GIT_ATTR_NOSYSTEM="1",
            GIT_TERMINAL_PROMPT="0",
            GIT_ASKPASS="",
            SSH_ASKPASS="",
            GIT_ALLOW_PROTOCOL="https:ssh:file",
            GIT_NO_REPLACE_OBJECTS="1",
            GIT_NO_LAZY_FETCH="1",
            GIT_OPTIONAL_LOCKS="0",
            GIT_SSH_COMMAND=_SSH,
            GIT_SSH_VARIANT="ssh",
            LC_ALL="C",
        )
        settings = {**_SETTINGS, **self.settings}
        environment["GIT_CONFIG_COUNT"] = str(len(settings))
        for number, (key, value) in enumerate(settings.items()):
            environment[f"GIT_CONFIG_KEY_{number}"] = key
            environment[f"GIT_CONFIG_VALUE_{number}"] = value
        return environment


def for_address(address: Address, *, token: str | None, username: str, seconds: float) -> Git:
    """Return git outside of any repository, knowing the credential for this address."""
    if not token or not address.url.startswith("https://"):
        return Git(None, seconds)
    basic = base64.b64encode(f"{username}:{token}".encode()).decode()
    origin = "/".join(address.url.split("/", 3)[:3]) + "/"
    settings = {f"http.{origin}.extraHeader": f"Authorization: Basic {basic}", "http.followRedirects": "false"}
    return Git(None, seconds, settings, secrets=(token, basic))


def harmless(words: bytes | str, secrets: Sequence[str] = ()) -> str:
    """Return what git or a remote said on one short line, without control characters, credentials and hints."""
    text = words.decode(errors="replace") if isinstance(words, bytes) else words
    for secret in secrets:
        text = text.replace(secret, "[secret]")
    text = re.sub(r"://[^/\s@]*(?:@[^/\s@]*)*@", "://", text)
    lines = [line for line in re.split(r"[\r\n]+", text) if line.strip() and not line.startswith(("hint:", "warning:"))]
    # What git itself says is worth more than what the remote sends along.
    lines.sort(key=lambda line: not line.startswith(("fatal:", "error:")))
    joined = "".join(character if character.isprintable() else " " for character in " / ".join(lines))
    joined = " ".join(joined.split())
    return joined if len(joined) <= LONGEST_WORDS else joined[: LONGEST_WORDS - 1] + "…"
