"""What went wrong with a remote, in words for people.

In go git's own words, already harmless, out comes an error that says what is the matter and what to do. The rule that
lives here: git's many ways of saying that a remote is away, locked or gone.
"""

from __future__ import annotations

import re

from huginn.errors import Unavailable
from huginn.forge.address import Address
from huginn.forge.process import GitFailed, GitTimedOut

# (what git says, why, what to do); the first that fits counts.
_KNOWN: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), reason, next_step)
    for pattern, reason, next_step in [
        (
            r"dubious ownership",
            "the repository belongs to another user, and git refuses to read it",
            "let that user run Huginn, or give an https or ssh address of the repository",
        ),
        (
            r"host key verification failed|no .* host key is known",
            "the host's ssh key is not known",
            "log in to the host once by hand with ssh, and check its key",
        ),
        (
            r"authentication failed|could not read (username|password)|permission denied|terminal prompts disabled"
            r"|error: 40[13]|invalid credentials|access denied|too many authentication failures",
            "the remote does not let us in",
            "check the token or the ssh key, and that its account may read the repository",
        ),
        (
            r"unable to update url base from redirection|error: 30[12378]",
            "the repository has moved to another address",
            "put its new address into the settings",
        ),
        (
            r"does not appear to be a git repository|not a git repository|repository .*not found|error: 404",
            "there is no repository, or this account may not see it",
            "check the address",
        ),
        (
            r"certificate",
            "the host's certificate is not accepted",
            "have it mended, or make its authority known to this machine",
        ),
        (
            r"could not resolve host",
            "the host's name is not known",
            "check the address and the network",
        ),
        (
            r"connection (refused|timed out|reset|closed)|failed to connect|network is unreachable|no route to host"
            r"|timed out|hung up unexpectedly|early eof|unexpected disconnect|error: 5\d\d"
            r"|rpc failed|operation too slow|could not connect|gnutls|openssl|ssl_(connect|read|error)",
            "the remote cannot be reached",
            "it is tried again in the next run",
        ),
        (
            r"out of memory",
            "the repository lists more paths than git can hold in memory",
            "leave it out, or choose another branch",
        ),
        (
            r"transport '.*' not allowed",
            "the remote wants a transport that is not allowed",
            "give an https or ssh address",
        ),
    ]
)


def explained(failure: GitFailed, address: Address) -> Unavailable:
    """Return the error for a git that failed: in our words where they are known, else in git's."""
    if _is_disk_full(failure):
        return Unavailable("disk", "it is full", next_step="make room where the state folder is")
    for pattern, reason, next_step in _KNOWN:
        if pattern.search(failure.words):
            return Unavailable("upstream", f"{address.shown}: {reason}", next_step=next_step)
    return Unavailable("upstream", f"{address.shown}: {failure}", next_step="it is tried again in the next run")


def is_mirrors(failure: GitFailed) -> bool:
    """Tell whether another mirror might help: not where git had no room, on disk or in memory."""
    return not _is_disk_full(failure) and "out of memory" not in failure.words.lower()


def _is_disk_full(failure: GitFailed) -> bool:
    words = failure.words.lower()
    return "no space left on device" in words or "disk quota exceeded" in words


def timed_out(failure: GitTimedOut, address: Address) -> Unavailable:
    """Return the error for a git that did not end."""
    return Unavailable(
        "upstream",
        f"{address.shown}: no end within {failure.seconds:g} s",
        next_step="it is tried again in the next run",
    )
