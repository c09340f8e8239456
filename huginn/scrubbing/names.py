"""What a name announces: a name goes in, the kind of the secret beside it comes out, and how surely it says so.

The rules that live here: which names there are (in many languages), and which only sound like one (`password_file`,
`next_token`, `max_tokens`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from huginn.scrubbing.shapes import WORDS

# By these words, in small letters, a place is found at all. Plain words only: alternatives of another form make the
# search many times slower. What they mean is for `announces`.
MENTION = re.compile("pass|pwd|secret|token|key|credential|auth|bearer|basic |pw")
FOREIGN = WORDS["foreign_passwords"]
FOREIGN_MENTION = re.compile("|".join(sorted(FOREIGN, key=lambda word: (-len(word), word))))

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z][^\W\d_]*|[a-z]*[^\W\d_A-Za-z][^\W\d_]*")
_GLUED = re.compile(
    rf".*(?:password|passwd|passwort|passphrase)|(?:{'|'.join(sorted(WORDS['glued_owners']))})(?:pass|pwd|pw)"
)
_GLUED_KEY = tuple(f"{owner}key" for owner in sorted(WORDS["key_owners"] - {"app"}))


class Sureness(IntEnum):
    """How surely a name announces a secret."""

    NOT = 0
    HOLDS = 1  # a secret's word is somewhere in it: `password_of_db`
    IS = 2  # it ends with one: `db_password`, `DB_PASSWORD_2`


@dataclass(frozen=True, slots=True)
class Name:
    """A name that announces a secret, where it stands: `text[start:end]`."""

    text: str
    start: int
    end: int
    kind: str
    sureness: Sureness

    @property
    def next(self) -> str:
        """The character behind the name; empty at the end of the text."""
        return self.text[self.end : self.end + 1]

    @property
    def line_before(self) -> str:
        """What stands in front of the name in its line (the last 300 characters of it)."""
        return self.text[max(0, self.text.rfind("\n", 0, self.start) + 1, self.start - 300) : self.start]

    @property
    def is_verb(self) -> bool:
        """Whether the name is "pass", which more often means to hand over."""
        return self.end - self.start == 4 and self.text[self.start : self.end].lower() == "pass"


@lru_cache(maxsize=8192)
def announces(name: str) -> tuple[str, Sureness]:
    """The kind of secret that `name` announces ("" for none), and how surely."""
    words = _words_of(name)
    while words and words[-1].isdigit():
        words.pop()
    if not words:
        return "", Sureness.NOT
    bare = list(words)
    while len(bare) > 1 and (bare[-1] in WORDS["harmless_endings"] or bare[-1].isdigit()):
        bare.pop()
    if WORDS["other_beginnings"].intersection(bare[:-1]):
        return "", Sureness.NOT
    if kind := _kind_of(bare):
        return kind, Sureness.IS
    if not WORDS["other_endings"].intersection(words):
        for end in range(len(bare) - 1, 0, -1):
            if kind := _kind_of(bare[:end]):
                return kind, Sureness.HOLDS
    return "", Sureness.NOT


def _words_of(name: str) -> list[str]:
    lowered = name.lower()
    if lowered in FOREIGN:
        return [lowered]
    return [word.lower() for word in _PARTS.findall(name)]


def _kind_of(words: list[str]) -> str:
    """What the last of these words announces."""
    last = words[-1]
    before = words[-2] if len(words) > 1 else ""
    if last in WORDS["passwords"] or last in FOREIGN or _GLUED.fullmatch(last):
        return "password"
    if last == "secrets" or last.endswith(("secret", "secretkey", "secrettoken")):
        return "secret"
    if last.endswith("token"):
        return "token"
    if (last == "key" and (before in WORDS["key_owners"] or before.endswith("secret"))) or last.endswith(_GLUED_KEY):
        return "api key"
    if last in ("credential", "credentials", "auth", "authorization"):
        return "credential"
    return ""
