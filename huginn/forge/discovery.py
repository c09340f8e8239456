"""From the places that list repositories to the repositories they list: asked, checked, and chosen from.

In: settings, and what was listed last. Out: `Discovered`, with what is known where a place could not be asked, and why.
What a forge says is not trusted: a path on this machine is never taken from it, and the token for reading a
repository goes with addresses on its own host alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from huginn.checkpoints import Checkpoints
from huginn.errors import HuginnError
from huginn.forge.discovery_settings import DiscoverSettings
from huginn.forge.folder_listing import list_folder
from huginn.forge.found import Found, ListingFailed, last_listed, wanted
from huginn.secret_file import read_secret
from huginn.settings import Settings


@dataclass(frozen=True)
class Place:
    """What one place lists, `now` (None: it could not be asked to the end, for this `reason`) and `before`."""

    discover: DiscoverSettings
    before: Sequence[Found]
    now: Sequence[Found] | None
    reason: str = ""

    @property
    def wanted(self) -> list[Found]:
        """Those that shall be taken in: of the last listing, where there is no new one."""
        return wanted(self.discover, self.before if self.now is None else self.now)


@dataclass(frozen=True)
class Discovered:
    """All places of the settings, in their order. `is_complete`: each was asked, and listed something, to the end."""

    places: Sequence[Place] = ()
    is_complete: bool = True

    @property
    def failed(self) -> dict[str, str]:
        """The places that could not be asked, by their keys in the settings, and why."""
        return {key_of(number): place.reason for number, place in enumerate(self.places) if place.reason}

    @property
    def renamed(self) -> dict[str, str]:
        """New names by old ones, of repositories that have kept their ids."""
        moved: dict[str, str] = {}
        for place in self.places:
            names = {one.id: one.name for one in place.now or ()}
            moved |= {one.name: names[one.id] for one in place.before if names.get(one.id, one.name) != one.name}
        return moved


def key_of(number: int) -> str:
    """The key in the settings of the place with this number."""
    return f"forge.discover[{number}]"


def discover(settings: Settings, *, is_asking: bool = True) -> Discovered:
    """Ask every place of the settings what it lists. Without `is_asking` what was listed last is all there is."""
    store = Checkpoints(settings.state).store
    places = []
    for each in settings.forge.discover:
        before = last_listed(store, each)
        now, reason = None, ""
        if is_asking:
            try:
                now = ask(each, before)
            except HuginnError as error:
                reason = str(error)
        places.append(Place(each, before, now, reason))
    return Discovered(places, is_complete=all(place.now for place in places))


def ask(place: DiscoverSettings, before: Sequence[Found] = ()) -> list[Found]:
    """Everything that a place lists. Raises `ListingFailed`, or `Refused` for a token that cannot be read.

    A place that lists nothing where it listed something is not believed: a disk that is not mounted, a token that lost
    its rights.
    """
    if place.path is not None:
        listed = list_folder(place.path)
    else:
        from huginn.forge.forges import list_forge  # noqa: PLC0415 - its client is an extra

        token = read_secret(place.token_file, field="token_file", kind="token") if place.token_file else None
        listed = list_forge(place, token, {one.id for one in before})
    if before and not listed:
        raise ListingFailed(
            "nothing is listed any more",
            next_step="see whether it is as it should be; take this [forge.discover] out to have all of it forgotten",
        )
    return listed


def may_send_token(place: DiscoverSettings, url: str) -> bool:
    """Whether the token of a place may go to this address of a repository: https, on the forge's own host."""
    try:
        there, here = urlsplit(url), urlsplit(place.root)
        own = "github.com" if here.hostname == "api.github.com" else here.hostname
        return there.scheme == "https" and there.hostname == own
    except ValueError:
        return False
