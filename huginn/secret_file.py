"""A secret that lies in a file of its own: a token or a key, alone on one line."""

from __future__ import annotations

from pathlib import Path

from huginn.errors import Refused


def read_secret(path: Path, *, field: str, kind: str) -> str:
    """The secret in the file that the setting `field` names; `kind` is the word for it, such as "token".

    Raises `Refused` for a file that cannot be read or holds anything but one line of printable ASCII.
    """
    try:
        secret = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise Refused(field, f"cannot read {path} ({error.strerror})", next_step="check its name and rights") from None
    except UnicodeDecodeError:
        secret = ""
    if not is_secret(secret):
        raise Refused(field, f"{path} holds no {kind}", next_step=f"put the {kind} alone into it, on one line")
    return secret


def is_secret(text: str) -> bool:
    """Whether it can be sent as a token or key: printable ASCII, and not nothing."""
    return bool(text) and text.isascii() and text.isprintable()
