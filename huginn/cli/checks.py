"""The checks behind `huginn doctor`: each looks at one part and tells what is wrong and what to do.

In: settings. Out: findings. Nothing is written and nothing is fetched; a part that another process holds is told, which
is no fault.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict

from huginn.cli.terminal import counted
from huginn.errors import Busy, HuginnError, Unavailable

if TYPE_CHECKING:
    from huginn.forge.listing import RefusedSource, Source
    from huginn.settings import Settings


Check = Literal["settings", "disk", "lock", "embedder", "index", "checkpoints", "repository", "discover", "chat"]
Outcome = Literal["well", "note", "wrong", "away"]
Look = Callable[[], tuple[Outcome, str]]


class Finding(BaseModel):
    """What one check found. `note`: worth knowing, no fault. `away`: a part without which nothing works."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    check: Check
    subject: str
    outcome: Outcome
    detail: str
    next_step: str = ""


class DoctorReport(BaseModel):
    """All findings, in the order in which things need each other."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    checks: list[Finding]


def finding(check: Check, subject: str, look: Look) -> Finding:
    """What `look` says, or the error it ends with."""
    try:
        outcome, detail = look()
    except HuginnError as error:
        return from_error(check, subject, error)
    return Finding(check=check, subject=subject, outcome=outcome, detail=detail)


def from_error(check: Check, subject: str, error: HuginnError) -> Finding:
    """A part that ended with `error`: a remote that is away concerns its own repository alone."""
    outcome: Outcome = "wrong"
    if isinstance(error, Busy):
        outcome = "note"
    elif isinstance(error, Unavailable) and error.part != "upstream":
        outcome = "away"
    return Finding(check=check, subject=subject, outcome=outcome, detail=error.reason, next_step=error.next_step)


def disk(settings: Settings) -> Finding:
    """Whether there is room for the index; a full disk kills the engine instead of failing it."""

    def look() -> tuple[Outcome, str]:
        free = shutil.disk_usage(_nearest_folder(settings.state)).free
        told = f"{free >> 20} MiB free, {settings.index.min_free_bytes >> 20} MiB asked for"
        if free < settings.index.min_free_bytes:
            raise Unavailable("disk", told, next_step="make room, or lower index.min_free_bytes")
        return "well", told

    return finding("disk", str(settings.state), look)


def lock(settings: Settings) -> Finding:
    """Whether another writer is at work."""
    from huginn.lock import holder

    def look() -> tuple[Outcome, str]:
        who = holder(settings.state)
        return ("well", "free") if who is None else ("note", f"held by {who}")

    return finding("lock", str(settings.state / "writer.lock"), look)


def _nearest_folder(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.is_dir())


def embedder(settings: Settings) -> Finding:
    """Whether the model loads, or its hosts agree, and gives a usable vector."""
    from huginn import scrub
    from huginn.embed import Culprit, embed_all, open_embedder
    from huginn.embed.checked import probe_text

    def look() -> tuple[Outcome, str]:
        scrub.prepare(settings.state / "cache")
        model = open_embedder(settings.embedder)
        [answer] = embed_all(model, [probe_text()])
        if isinstance(answer, Culprit):
            raise Unavailable("embedder", f"it refuses a harmless text ({answer.reason})")
        identity = model.identity
        digest = identity.digest.removeprefix("sha256:")[:12]
        return "well", f"{identity.model}, {identity.dimensions} dimensions, digest {digest}"

    return finding("embedder", settings.embedder.kind, look)


def hosts(settings: Settings) -> list[Finding]:
    """For each host of the embedder: whether it answers, its version, and who its model is."""
    from huginn.cli.side_by_side import side_by_side

    urls = (*settings.embedder.urls, *settings.embedder.reserve_urls)
    return side_by_side(lambda url: _host(settings, url), urls)


def _host(settings: Settings, url: str) -> Finding:
    def look() -> tuple[Outcome, str]:
        from huginn.embed.host import HostAway
        from huginn.embed.opening import hosts_of

        [host] = hosts_of(settings.embedder, (url,))
        try:
            facts = host.look()
        except HostAway as error:
            return "wrong", f"{'reserve, ' if url in settings.embedder.reserve_urls else ''}{error}"
        identity = facts.identity
        digest = identity.digest.removeprefix("sha256:")[:12]
        context = f", takes {facts.context} tokens" if facts.context else ""
        told = f"Ollama {facts.version}, {identity.model}, {identity.dimensions} dimensions, digest {digest}{context}"
        return "well", f"reserve, {told}" if url in settings.embedder.reserve_urls else told

    return finding("embedder", url.partition("://")[2], look)


def index(settings: Settings) -> Finding:
    """Whether there is an index, whether it fits the model and the rules, and opens (its server: answers)."""
    from huginn.embed import open_embedder
    from huginn.index.opening import open_for_search, open_shelf, server_version
    from huginn.index.port import Place
    from huginn.rules import current_label

    def look() -> tuple[Outcome, str]:
        version = server_version(settings)
        server = f"Qdrant {version}, " if version else ""
        collection = open_shelf(settings, is_searching=True).current()
        if collection is None:
            return "note", f"{server}there is none yet; 'huginn refresh' makes it"
        if version:
            server += f"collection {collection.name}, "
        label = current_label(settings, open_embedder(settings.embedder).identity)
        differences = collection.label.differences(label)
        with closing(open_for_search(settings, wait=0.0)) as opened:
            points = server + counted(opened.count(Place()), "point")
        if not differences:
            return "well", f"{points}, made by this model and these rules"
        what = "huginn rebuild --all" if settings.index.rebuild == "ask" else "huginn refresh"
        return (
            "note",
            f"{points}, made otherwise ({'; '.join(differences)}); '{what}' builds it anew beside the old one",
        )

    return finding("index", settings.index.url or str(settings.state / "index"), look)


def checkpoints(settings: Settings) -> Finding:
    """Whether the store of cursors can be read; without one the next refresh compares everything once."""
    from huginn.checkpoints import Checkpoints

    store = Checkpoints(settings.state)

    def look() -> tuple[Outcome, str]:
        if not store.store.exists():
            return "note", "there is none yet; 'huginn refresh' makes it"
        sources = len(store.states("forge")) + len(store.states("chat"))
        return "well", f"knows {counted(sources, 'source')}"

    return finding("checkpoints", str(store.store.path), look)


def repositories(settings: Settings) -> list[Finding]:
    """For each repository whether it is refused, and where its remote says that it is."""
    from huginn.cli.side_by_side import side_by_side
    from huginn.forge.listing import list_sources

    listed = {source.name: source for source in list_sources(settings)}
    return side_by_side(lambda name: _repository(settings, listed[name]), list(listed))


def _repository(settings: Settings, source: Source | RefusedSource) -> Finding:
    from huginn.forge.intake import mirror_of
    from huginn.forge.listing import RefusedSource

    if isinstance(source, RefusedSource):
        return Finding(check="repository", subject=source.name, outcome="wrong", detail=source.reason)

    def look() -> tuple[Outcome, str]:
        tip = mirror_of(settings, source).tip()
        if tip is None:
            return "note", "answers, and has no commits yet"
        return "well", f"answers, {tip.branch or 'HEAD'} is at {tip.commit[:7]}"

    return finding("repository", source.name, look)


def discoveries(settings: Settings) -> list[Finding]:
    """For each place that lists repositories, whether it can be read to the end, and how many of them are wanted."""
    from huginn.cli.side_by_side import side_by_side
    from huginn.forge.discovery import ask, key_of
    from huginn.forge.found import wanted

    def look(number: int) -> tuple[Outcome, str]:
        place = settings.forge.discover[number]
        listed = ask(place)
        return "well", f"repositories listed: {len(listed)}, wanted: {len(wanted(place, listed))}"

    numbers = {key_of(number): number for number in range(len(settings.forge.discover))}
    return side_by_side(lambda key: finding("discover", key, lambda: look(numbers[key])), list(numbers))


def examine(settings: Settings) -> list[Finding]:
    """Every check but the one of the settings, in the order in which things need each other."""
    from huginn.cli.chat_checks import rooms

    first, then = (disk, lock, embedder), (index, checkpoints)
    of_hosts = hosts(settings)
    return [
        *(part(settings) for part in first),
        *of_hosts,
        *(part(settings) for part in then),
        *repositories(settings),
        *discoveries(settings),
        *(rooms(settings.chat) if settings.chat else ()),
    ]
