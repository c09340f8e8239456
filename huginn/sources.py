"""Which corpus a source belongs to, by its name as a person gives it."""

from __future__ import annotations

from collections.abc import Sequence

from huginn.errors import Refused
from huginn.forge.found import known_names
from huginn.report import Corpus
from huginn.settings import Settings


def by_corpus(settings: Settings, names: Sequence[str], *, field: str = "sources") -> dict[Corpus, list[str]]:
    """The names in their corpora: repositories that are known, and ids (`!…`) or aliases (`#…`) of rooms.

    No names give every corpus of the settings, with no names, meaning all of it. Raises `Refused`, naming `field`, for
    what is neither, and for a room without `[chat]`.
    """
    if not names:
        return {"forge": []} if settings.chat is None else {"forge": [], "chat": []}
    known = known_names(settings)
    found: dict[Corpus, list[str]] = {}
    for name in dict.fromkeys(names):
        is_room = name.startswith(("!", "#"))
        if not is_room and name not in known:
            raise Refused(
                field,
                f"{name[:200]!r} is no repository of the settings, and no room",
                next_step="name a repository as the settings do, or a room by its id (!…) or its alias (#…)",
            )
        if is_room and settings.chat is None:
            raise Refused(field, f"{name[:200]!r} is a room, and the settings have no [chat]", next_step="add one")
        found.setdefault("chat" if is_room else "forge", []).append(name)
    return found
