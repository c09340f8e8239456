"""From the settings, and what was discovered, to the sources of the forge corpus. Pure but for reading token files.

A bad address, branch or token file costs only its own source: it comes out as `RefusedSource`, before any git process
starts. The fingerprint of a source changes with every setting that changes what is stored of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from pydantic import ValidationError

from huginn.errors import Refused
from huginn.forge.address import Address, check_address, check_branch
from huginn.forge.discovery import Discovered, Place, key_of, may_send_token
from huginn.forge.found import Found
from huginn.forge.skip import DEFAULT_GENERATED, SkipRules
from huginn.secret_file import read_secret
from huginn.settings import ForgeSettings, RepositorySettings, Settings


@dataclass(frozen=True)
class Source:
    """A repository that may be read."""

    name: str
    address: Address
    branch: str | None
    rules: SkipRules
    fingerprint: str
    username: str
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class RefusedSource:
    """A repository of the settings that must not be touched, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Listing:
    """All sources; `clashes` tells of some what else is listed under their name or address, and does not count."""

    sources: list[Source | RefusedSource]
    clashes: dict[str, list[str]]


def list_sources(settings: Settings, discovered: Discovered | None = None) -> list[Source | RefusedSource]:
    """Every repository of the settings, in their order, then those that were discovered: see `list_all`."""
    return list_all(settings, discovered or Discovered()).sources


def list_all(settings: Settings, discovered: Discovered) -> Listing:
    """Every repository of the settings, in their order, then those that were discovered.

    What is discovered under a name or address that was there before does not count; the settings come first, and may
    have an address under two names, with a branch each.
    """
    listed = Listing([], {})
    names = dict[str, str]()  # of sources, by their names and addresses
    for source, where in _all(settings, discovered):
        keys = [source.name, *([_same(source.address)] if isinstance(source, Source) else [])]
        first = next((names[key] for key in keys if key in names), None)
        if where and first is not None:
            listed.clashes.setdefault(first, []).append(f"{where} lists {source.name} too, which does not count")
        else:
            listed.sources.append(source)
            names |= {key: source.name for key in keys if key not in names}
    return listed


def _all(settings: Settings, discovered: Discovered) -> Iterator[tuple[Source | RefusedSource, str]]:
    """Each source with the key of the place that lists it, which is empty for those of the settings."""
    for number, repository in enumerate(settings.forge.repos):
        yield _source(settings, f"forge.repos[{number}]", repository, local_allowed=settings.forge.local), ""
    for number, place in enumerate(discovered.places):
        for one in place.wanted:
            yield _discovered(settings, key_of(number), place, one), key_of(number)


def _discovered(settings: Settings, key: str, place: Place, one: Found) -> Source | RefusedSource:
    """A repository that is listed, judged like one of the settings. Of a forge no path on this machine is taken."""
    of_place = place.discover
    token_file = of_place.token_file if may_send_token(of_place, one.url) else None
    try:
        repository = RepositorySettings.model_validate(
            {"name": one.name, "url": one.url, "token_file": token_file, "username": of_place.username},
            context={"folder": settings.folder},
        )
    except ValidationError:
        return RefusedSource(f"{key} {one.id}", f"{key}: the repository with this id has a name that cannot be used")
    return _source(settings, key, repository, local_allowed=settings.forge.local and of_place.kind == "folder")


def _same(address: Address) -> str:
    """What two ways to write one address have in common."""
    if address.local:
        place = unquote(urlsplit(address.url).path) if "://" in address.url else address.url
    else:
        place = address.url.lower() if "://" in address.url else address.url
    return place.rstrip("/").removesuffix(".git").rstrip("/")


def _source(
    settings: Settings, key: str, repository: RepositorySettings, *, local_allowed: bool
) -> Source | RefusedSource:
    forge = settings.forge
    try:
        address = check_address(repository.url, base=settings.folder, local_allowed=local_allowed)
        branch = check_branch(repository.branch) if repository.branch is not None else None
        rules = _rules(forge, repository)
        token = read_secret(repository.token_file, field="token_file", kind="token") if repository.token_file else None
    except Refused as refusal:
        return RefusedSource(repository.name, f"{key}.{refusal}")
    return Source(repository.name, address, branch, rules, _fingerprint(forge, repository), repository.username, token)


def _rules(forge: ForgeSettings, repository: RepositorySettings) -> SkipRules:
    return SkipRules(
        max_bytes=forge.max_file_bytes,
        exclude=(*forge.exclude, *repository.exclude),
        generated=DEFAULT_GENERATED if forge.generated is None else forge.generated,
    )


def _fingerprint(forge: ForgeSettings, repository: RepositorySettings) -> str:
    matters = [forge.max_file_bytes, forge.exclude, repository.exclude, forge.generated]
    return hashlib.sha256(json.dumps(matters).encode()).hexdigest()[:16]
