"""From the settings to the sources of the forge corpus. Pure but for reading token files.

A bad address, branch or token file costs only its own source: it comes out as `RefusedSource`, before any git process
starts. The fingerprint of a source changes with every setting that changes what is stored of it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

from huginn.errors import Refused
from huginn.forge.address import Address, check_address, check_branch
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


def list_sources(settings: Settings) -> list[Source | RefusedSource]:
    """Every repository of the settings, in their order."""
    return [_source(settings, number, repository) for number, repository in enumerate(settings.forge.repos)]


def _source(settings: Settings, number: int, repository: RepositorySettings) -> Source | RefusedSource:
    forge = settings.forge
    try:
        address = check_address(repository.url, base=settings.folder, local_allowed=forge.local)
        branch = check_branch(repository.branch) if repository.branch is not None else None
        rules = _rules(forge, repository)
        token = read_secret(repository.token_file, field="token_file", kind="token") if repository.token_file else None
    except Refused as refusal:
        return RefusedSource(repository.name, f"forge.repos[{number}].{refusal}")
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
