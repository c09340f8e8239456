"""What a place lists: repositories by ids that stay when names change, and what was listed last.

The last complete listing is kept in the checkpoint store, whole: the settings choose from it each time anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from huginn.checkpoints import Checkpoints
from huginn.errors import HuginnError
from huginn.forge.discovery_settings import DiscoverSettings
from huginn.settings import Settings
from huginn.store import Store


class ListingFailed(HuginnError):
    """The repositories of a place could not be listed to the end: what was listed before stands."""


@dataclass(frozen=True)
class Found:
    """A repository that a place lists. `id` is the place's own, `url` as it says it: not yet judged."""

    id: str
    name: str
    url: str
    is_archived: bool = False
    is_fork: bool = False


def origin_of(discover: DiscoverSettings) -> str:
    """The place that is asked, as one text: what is listed there belongs to no other."""
    where = discover.root or str(discover.path)
    return json.dumps([discover.kind, where, discover.owner])


def last_listed(store: Store, discover: DiscoverSettings) -> list[Found]:
    """What the last complete listing of a place held, in the order of names; nothing if there was none."""
    if not store.exists():
        return []
    with store.transaction() as db:
        rows = db.execute(
            "SELECT id, name, url, is_archived, is_fork FROM discovered WHERE origin = ? ORDER BY name, id",
            [origin_of(discover)],
        ).fetchall()
    return [Found(*row) for row in rows]


def keep_listing(store: Store, discover: DiscoverSettings, listed: Iterable[Found]) -> None:
    """Put a complete listing in the place of the last one."""
    origin = origin_of(discover)
    rows = [[origin, one.id, one.name, one.url, one.is_archived, one.is_fork] for one in listed]
    with store.transaction() as db:
        db.execute("DELETE FROM discovered WHERE origin = ?", [origin])
        if rows:
            db.executemany("INSERT INTO discovered VALUES (?, ?, ?, ?, ?, ?)", rows)


def end_failing(store: Store, keys: Iterable[str]) -> None:
    """Note that the places with these keys in the settings have been listed: since when they failed counts no more."""
    with store.transaction() as db:
        db.execute("DELETE FROM sources WHERE corpus = 'forge' AND source IN (SELECT unnest(?::VARCHAR[]))", [[*keys]])


def wanted(discover: DiscoverSettings, listed: Sequence[Found]) -> list[Found]:
    """Those of a listing that the settings want."""
    return [one for one in listed if discover.wants(one.name, is_archived=one.is_archived, is_fork=one.is_fork)]


def known_listings(settings: Settings) -> list[list[Found]]:
    """For each place of the settings what is wanted of its last listing; nobody is asked."""
    store = Checkpoints(settings.state).store
    return [wanted(discover, last_listed(store, discover)) for discover in settings.forge.discover]


def known_names(settings: Settings) -> set[str]:
    """The names of all repositories: those of the settings, and those that were listed last. Asks nobody."""
    names = {repository.name for repository in settings.forge.repos}
    return names.union(one.name for listed in known_listings(settings) for one in listed)
