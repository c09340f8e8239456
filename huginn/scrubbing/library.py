"""Providers' tokens, found by the kingfisher library: text goes in, spans (start, end, kind) come out.

The rules that live here: which of the library's rules count, and how they are called. It is never asked to validate
what it finds, so nothing goes over the network. It is imported and compiled when the first text comes, not before.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from huginn.scrubbing.shapes import is_example
from huginn.scrubbing.tokens import Span

if TYPE_CHECKING:
    from kingfisher_sdk import Scanner


def use_cache(cache_dir: Path) -> None:
    """Keep the compiled rules in `cache_dir`. Without it nothing is kept."""
    _compiled.use_cache(cache_dir)


class _Compiled:
    """The kingfisher scanner, compiled when the first text comes, once for all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cache_dir: Path | None = None
        self._scanner: Scanner | None = None

    def use_cache(self, cache_dir: Path) -> None:
        with self._lock:
            self._cache_dir = cache_dir

    def scanner(self) -> Scanner:
        scanner = self._scanner
        if scanner is None:
            with self._lock:
                scanner = self._scanner = self._scanner or self._compile()
        return scanner

    def _compile(self) -> Scanner:
        from kingfisher_sdk import Rules, Scanner  # noqa: PLC0415 -- not before a text is to be scrubbed

        if self._cache_dir is None:
            return Scanner(Rules(cache=False))
        self._cache_dir.mkdir(parents=True, exist_ok=True)
        self._cache_dir.chmod(0o700)  # others' write permission would switch the cache off
        return Scanner(Rules(cache_dir=self._cache_dir))


_compiled = _Compiled()

# Own rules do better there: private keys (also without an end) and logins in addresses.
_LEFT_OUT = re.compile(r"\.private-key|generic-credential-uri|client-id|pub-api-key|access-id|curl-auth")
# Helpers of other rules: most are names and addresses, these are secrets.
_HELPERS = frozenset(
    f"betterleaks.{name}"
    for name in (
        "alibaba-sts-security-token",
        "aws-secret-access-key",
        "exoscale-api-secret",
        "polymarket-api-secret",
        "polymarket-passphrase",
    )
)
_SPACED = bytes(byte if byte < 128 and chr(byte) not in "#@()[]{}<>*~!?&|,;:/\\" else 32 for byte in range(256))
_PLAIN_KINDS = {
    "github pat": "github token",
    "github fine grained pat": "github token",
    "gitlab pat": "gitlab token",
    "aws access token": "aws key id",
    "aws secret access key": "aws secret key",
    "gcp api key": "google api key",
    "npmjsaccesstoken": "npm token",
    "stripe access token": "stripe key",
}


def _kind(rule_id: str) -> str:
    """A rule's id in plain words: `betterleaks.slack-bot-token.1` is `slack bot token`."""
    name = re.sub(r"^[\w.]*?[./](?=[a-z])|\.\d+$", "", rule_id.removeprefix("veles.secrets/"))
    words = re.sub(r"[^a-z0-9]+", " ", name.lower()).strip()
    return _PLAIN_KINDS.get(words, words)


def _spaced(data: bytes) -> bytes:
    """`data`, as long as it was, with spaces for signs, written-out line breaks and full stops."""
    return data.replace(b"\\n", b"  ").translate(_SPACED).replace(b". ", b"  ").replace(b".\n", b" \n")


# No rule that counts matches words of letters: all want a digit, a sign, or more letters in a row. So a question of
# such words goes without the library, which takes a quarter of a second to load.
_PLAIN = re.compile(r"[ ?]*(?:[A-Za-z]{1,15}(?![A-Za-z])[ ?]*)*")


def find_known(text: str) -> Iterator[Span]:
    """What the library finds, as spans of characters (it counts bytes)."""
    if _PLAIN.fullmatch(text):
        return
    data = text.encode("utf-8", "replace")
    found = []
    scanner = _compiled.scanner()
    # Many of its rules want a space, a quote or the end of the text behind a token. So it looks a second time, with
    # spaces in the place of all other signs.
    for finding in [*scanner.scan(data), *scanner.scan(_spaced(data))]:
        if _LEFT_OUT.search(finding.rule_id) or not (finding.visible or finding.rule_id in _HELPERS):
            continue
        location = finding.location
        found.append((location["start_offset"], location["end_offset"], _kind(finding.rule_id)))
    if found and len(data) != len(text):
        found = [(len(data[:s].decode()), len(data[:e].decode()), kind) for s, e, kind in found]
    for start, end, kind in found:
        while end < len(text) and ((text[end].isalnum() and text[end].isascii()) or text[end] in "_="):
            end += 1  # the library's patterns end at a length, the secret may not
        if not is_example(text[start:end]):
            yield start, end, kind
