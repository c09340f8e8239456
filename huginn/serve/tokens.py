"""The tokens of `huginn serve`: who may ask, and which corpora.

A token is 256 random bits, shown once. Kept is its SHA-256 alone (nothing that long can be guessed, so no slow hash is
needed), in `serve-tokens.json` in the state folder, mode 600.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Sequence
from datetime import datetime
from hmac import compare_digest
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from huginn.errors import Refused
from huginn.report import Corpus, now

FILE = "serve-tokens.json"
_PREFIX = "huginn_"  # by which scanners for secrets know it
_NAME = re.compile(r"\w[\w.-]{0,63}")


class Token(BaseModel):
    """A token as it is kept: its name, what it may read, since when, and the SHA-256 of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    corpora: tuple[Corpus, ...]
    created: datetime
    sha256: str


class Tokens:
    """The tokens in a state folder. Raises `Refused` for a file that somebody else may read, or that is none."""

    def __init__(self, state: Path) -> None:
        self.path = state / FILE

    def exist(self) -> bool:
        """Whether tokens have ever been given, also when all have been taken back."""
        return self.path.exists()

    def all(self) -> list[Token]:
        """All of them, by name."""
        try:
            if self.path.stat().st_mode & 0o077:
                raise Refused("token", f"others may read {self.path}", next_step=f"chmod 600 {self.path}")
            return [Token.model_validate(each) for each in json.loads(self.path.read_text(encoding="utf-8"))]
        except FileNotFoundError:
            return []
        except (ValueError, TypeError, ValidationError):
            raise Refused("token", f"{self.path} holds no tokens", next_step="delete it, and add tokens anew") from None

    def add(self, name: str, corpora: Sequence[Corpus]) -> str:
        """Make a token, and give it: it cannot be had again. Raises `Refused` for a name that is none or taken."""
        if not _NAME.fullmatch(name):
            raise Refused("name", "is no name", next_step="use letters, digits and . _ -, at most 64")
        if not corpora:
            raise Refused("corpora", "none is given", next_step="name what it may read: --corpus forge, --corpus chat")
        tokens = self.all()
        if any(token.name == name for token in tokens):
            raise Refused("name", f"there is a token {name!r} already", next_step=f"huginn serve token remove {name}")
        secret = _PREFIX + secrets.token_urlsafe(32)
        made = Token(name=name, corpora=tuple(dict.fromkeys(corpora)), created=now(), sha256=_digest(secret))
        self._write([*tokens, made])
        return secret

    def remove(self, name: str) -> None:
        """Take one back: it opens nothing from now on. Raises `Refused` if there is none of this name."""
        tokens = self.all()
        left = [token for token in tokens if token.name != name]
        if len(left) == len(tokens):
            raise Refused("name", f"there is no token {name!r}", next_step="see 'huginn serve token list'")
        self._write(left)

    def find(self, secret: str) -> Token | None:
        """The token that this is, if it is one. Takes the same time for each."""
        digest = _digest(secret)
        matching = [token for token in self.all() if compare_digest(token.sha256, digest)]
        return matching[0] if matching else None

    def _write(self, tokens: Sequence[Token]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(".draft")
        draft.unlink(missing_ok=True)
        told = [token.model_dump(mode="json") for token in sorted(tokens, key=lambda token: token.name)]
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump(told, file, indent=1)
        draft.replace(self.path)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
