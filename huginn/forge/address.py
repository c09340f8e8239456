"""What may be handed to git as an address or a branch name.

In goes text from the settings, out comes an `Address` or a branch name that git cannot take for an option, a command or
another transport. The rules are allow lists, they are pure, and they are checked before any git process starts.
What is refused is never repeated in the refusal: it may hold a password.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote_to_bytes

from huginn.errors import Refused

LONGEST_ADDRESS = 2_000
LONGEST_BRANCH_BYTES = 200  # a name becomes a file name with `.lock` behind it, and file systems stop at 255

_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*\])"
_PORT = r"(?::(?P<port>[0-9]{1,5}))?"
_USER = r"(?:[A-Za-z0-9_][A-Za-z0-9._-]*@)?"
# `@` stands only behind a slash: elsewhere it is more likely the end of a password with a slash in it.
_PATH = r"(?:[\w.~!$&'()*+,;=:%/-]|(?<=/)@)*[\w.~!$&'()*+,;=:%-]/*"

_HTTPS = re.compile(rf"https://{_HOST}{_PORT}/{_PATH}")
_SSH = re.compile(rf"ssh://{_USER}{_HOST}{_PORT}/{_PATH}")
_SCP = re.compile(rf"(?P<user>{_USER})(?P<host>{_HOST}):(?![:-]){_PATH}")
_FILE = re.compile(r"file:///[\w.~!$&'()*+,;=:@%/-]*")

# With one colon and no user these would be taken for the names of ssh hosts, which nobody can mean.
_SCHEMES = frozenset(
    (
        "about",
        "blob",
        "data",
        "dav",
        "davs",
        "ext",
        "fd",
        "file",
        "ftp",
        "ftps",
        "git",
        "gopher",
        "http",
        "https",
        "javascript",
        "mailto",
        "rsync",
        "ssh",
        "svn",
    )
)

_BRANCH = re.compile(r"[\w./+@#=,-]+")


@dataclass(frozen=True)
class Address:
    """Where a repository is: what git is given, whether that is on this machine, and how it is shown to people."""

    url: str
    local: bool
    shown: str


def check_address(text: str, *, base: Path, local_allowed: bool = True) -> Address:
    """Return the address that `text` is, relative paths starting from `base`, or raise `Refused`."""
    _check_characters(text)
    if "://" in text or _has_colon_before_slash(text):
        address = _remote(text)
    else:
        address = Address(url=os.path.abspath(base / text), local=True, shown=text)
    if address.local and not local_allowed:
        raise Refused("url", "a path on this machine is not allowed here", next_step="give an https or ssh address")
    return address


def _check_characters(text: str) -> None:
    if not text:
        raise Refused("url", "is empty", next_step="give an https or ssh address, or a path")
    if len(text) > LONGEST_ADDRESS:
        raise Refused("url", f"is longer than {LONGEST_ADDRESS} characters")
    if text.startswith("-"):
        raise Refused("url", "begins with '-', as options do", next_step="write ./ in front if it is a path")
    if any(character.isspace() for character in text):
        raise Refused("url", "holds white space", next_step="write file:// and %20 for a path with spaces")
    if not text.isprintable():
        raise Refused("url", "holds control characters")
    if "?" in text or "#" in text:
        raise Refused("url", "holds '?' or '#', which addresses of repositories do not have")
    if not unquote_to_bytes(text).decode(errors="replace").isprintable():
        raise Refused("url", "holds control characters, percent-encoded")
    if text.startswith("~"):
        raise Refused("url", "begins with '~', which is not looked up", next_step="write the whole path")


def _has_colon_before_slash(text: str) -> bool:
    return ":" in text.split("/", 1)[0]


def _remote(text: str) -> Address:
    """Read everything that names a transport: the four forms that are allowed, and nothing else."""
    scheme = text.split("://", 1)[0] if "://" in text else ""
    if scheme == "https":
        _refuse_userinfo(text)
        return _matched(_HTTPS, text, "https://host/path")
    if scheme == "ssh":
        if ":" in _userinfo(text):
            raise Refused("url", "holds a password", next_step="use a key of ssh, known to its agent or its settings")
        return _matched(_SSH, text, "ssh://user@host/path")
    if scheme == "file":
        return _matched(_FILE, text, "file:///path")
    if scheme:
        raise Refused("url", "is none of https, ssh, file or a path", next_step="give an https or ssh address")
    address = _matched(_SCP, text, "user@host:path")
    host = text.split(":", 1)[0]
    if host.lower() in _SCHEMES:
        raise Refused("url", "is none of https, ssh, file or a path", next_step="write two slashes after the colon")
    return address


def _userinfo(text: str) -> str:
    authority = text.split("://", 1)[1].split("/", 1)[0]
    return authority.rpartition("@")[0]


def _refuse_userinfo(text: str) -> None:
    # Also an empty one, or one that is only a name: tokens are written as names.
    if "@" in text.split("://", 1)[1].split("/", 1)[0]:
        raise Refused(
            "url",
            "holds a user name or a password",
            next_step="take it out; put the token into a file and name that file as token_file",
        )


def _matched(form: re.Pattern[str], text: str, model: str) -> Address:
    match = form.fullmatch(text)
    if match is None or not 0 <= int(match.groupdict().get("port") or 1) <= 65535:
        raise Refused("url", f"is not of the form {model}", next_step="percent-encode what is not a letter or a digit")
    if form is not _SCP and re.search(r"%(?![0-9A-Fa-f]{2})", text):
        raise Refused("url", "holds a '%' that encodes nothing", next_step="write %25 for a percent sign")
    return Address(url=text, local=form is _FILE, shown=text)


def check_branch(text: str) -> str:
    """Return `text` if it can be a branch and nothing else to git, or raise `Refused`."""
    if not text:
        raise Refused("branch", "is empty", next_step="leave it out to follow the remote's HEAD")
    if len(text.encode(errors="replace")) > LONGEST_BRANCH_BYTES:
        raise Refused("branch", f"is longer than {LONGEST_BRANCH_BYTES} bytes")
    if text.startswith("-"):
        raise Refused("branch", "begins with '-', as options do")
    if not _BRANCH.fullmatch(text):
        raise Refused("branch", "holds characters other than letters, digits and . _ / + @ # = , -")
    if text.startswith("refs/"):
        raise Refused("branch", "begins with refs/", next_step="write the branch's name alone, such as main")
    if text in ("@", "HEAD"):
        raise Refused("branch", "is no branch", next_step="leave it out to follow the remote's HEAD")
    if ".." in text or text.endswith("."):
        raise Refused("branch", "holds '..' or ends with '.'")
    for part in text.split("/"):
        if not part or part.startswith(".") or part.endswith(".lock"):
            raise Refused("branch", "has a part that is empty, begins with '.' or ends with '.lock'")
    return text
