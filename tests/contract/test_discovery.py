"""What forges and folders list, what is made of it, and that a listing that fails forgets nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import huginn.forge.pages
from huginn.forge.discovery import ask, discover, may_send_token
from huginn.forge.discovery_settings import DiscoverSettings
from huginn.forge.found import Found, ListingFailed, known_names
from huginn.forge.listing import RefusedSource, list_sources
from huginn.settings import Settings
from huginn.status import status
from huginn.verify import verify
from tests.support.forge_server import ForgeServer
from tests.support.git import Repository
from tests.support.workspace import Workspace, outcomes


@pytest.fixture
def forge(monkeypatch: pytest.MonkeyPatch) -> Iterator[ForgeServer]:
    monkeypatch.setattr(huginn.forge.pages, "_FIRST_PAUSE", 0.01)
    server = ForgeServer()
    server.repositories = [entry(number) for number in range(1, 6)]
    yield server
    server.stop()


def entry(number: int, **more: Any) -> dict[str, Any]:
    name = f"birds/r{number}"
    return {"id": number, "full_name": name, "clone_url": f"https://forge.invalid/{name}.git", **more}


def place(forge: ForgeServer, **more: Any) -> DiscoverSettings:
    return DiscoverSettings.model_validate({"kind": "gitea", "url": forge.url, "owner": "birds", **more})


def names(listed: list[Found]) -> list[str]:
    return [one.name for one in listed]


def test_all_pages_are_read_with_the_token_in_a_header(forge: ForgeServer, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("not-a-real-token\n")
    listed = ask(place(forge, token_file=tmp_path / "token"))
    assert names(listed) == [f"birds/r{number}" for number in range(1, 6)]
    assert set(forge.tokens) == {"Bearer not-a-real-token"}


@pytest.mark.parametrize(
    ("kind", "path", "fields"),
    [
        ("github", "/users/birds/repos", ("full_name", "clone_url")),
        ("gitlab", "/api/v4/groups/birds/projects", ("path_with_namespace", "http_url_to_repo")),
    ],
)
def test_each_forge_is_asked_in_its_own_words(
    forge: ForgeServer, kind: str, path: str, fields: tuple[str, str]
) -> None:
    forge.path = path
    forge.repositories = [{"id": 7, fields[0]: "birds/a", fields[1]: "https://x.invalid/a.git", "other": None}]
    assert ask(place(forge, kind=kind)) == [Found("7", "birds/a", "https://x.invalid/a.git")]


@pytest.mark.parametrize(
    "wrong",
    [
        (500, {}, b""),
        (401, {}, b""),
        (429, {"Retry-After": "100000"}, b""),
        (302, {"Location": "http://localhost:1/"}, b""),
        (200, {}, b"<html>"),
        (200, {}, b'{"message": "hello"}'),
        (200, {}, b'[{"id": "seven"}]'),
        (200, {"Link": '<http://localhost:1/more>; rel="next"'}, b"[]"),
        (200, {"Content-Length": "5000"}, b"[]"),
    ],
)
def test_a_listing_that_breaks_off_on_its_second_page_fails(
    forge: ForgeServer, wrong: tuple[int, dict[str, str], bytes]
) -> None:
    forge.fault = lambda page: wrong if page == 2 else None
    with pytest.raises(ListingFailed) as raised:
        ask(place(forge))
    assert "localhost" not in str(raised.value)


def test_a_next_page_on_another_host_is_not_asked_for(forge: ForgeServer) -> None:
    elsewhere = forge.url.replace("127.0.0.1", "localhost") + forge.path
    forge.fault = lambda page: (200, {"Link": f'<{elsewhere}?page=2>; rel="next"'}, b"[]") if page == 1 else None
    with pytest.raises(ListingFailed, match="another host"):
        ask(place(forge))
    assert len(forge.tokens) == 1


def test_a_limit_that_passes_soon_is_waited_for(forge: ForgeServer) -> None:
    reset = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}
    limits: list[tuple[int, dict[str, str], bytes]] = [(403, reset, b""), (429, {"Retry-After": "1"}, b"")]
    forge.fault = lambda page: limits.pop() if limits else None
    assert len(ask(place(forge))) == 5
    assert limits == []


def test_the_same_page_twice_is_no_listing(forge: ForgeServer) -> None:
    first = forge.answer(forge.path, 1)
    forge.fault = lambda page: (
        (200, {"Link": f'<{forge.url}{forge.path}?page=3>; rel="next"'}, first[2]) if page == 2 else None
    )
    with pytest.raises(ListingFailed, match="twice"):
        ask(place(forge))


def test_what_falls_between_two_pages_is_not_taken_for_gone(forge: ForgeServer) -> None:
    before = ask(place(forge))

    def vanish(page: int) -> None:
        if page == 2 and forge.repositories[0]["id"] == 1:
            del forge.repositories[0]

    forge.fault = vanish
    assert names(ask(place(forge), before)) == [f"birds/r{number}" for number in range(2, 6)]


def test_what_a_forge_says_is_not_trusted(forge: ForgeServer, tmp_path: Path) -> None:
    evil = ["/etc", "file:///etc", "ext::sh -c id", "--upload-pack=x", "https://user:pw@forge.invalid/a.git"]
    forge.repositories = [entry(number, clone_url=url) for number, url in enumerate(evil)]
    forge.repositories.append(entry(99, full_name="../\u001b[31m"))
    settings = Settings.model_validate(
        {"state": tmp_path / "state", "forge": {"discover": {"kind": "gitea", "url": forge.url, "owner": "birds"}}},
        context={"folder": tmp_path},
    )
    listed = list_sources(settings, discover(settings))
    assert len(listed) == 6
    assert all(isinstance(source, RefusedSource) for source in listed)
    assert not any("pw" in str(source) or "\x1b" in str(source) for source in listed)


def test_the_token_goes_to_the_forges_own_host_alone() -> None:
    github = DiscoverSettings(kind="github", owner="birds")
    assert may_send_token(github, "https://github.com/birds/a.git")
    for url in (
        "http://github.com/a",
        "https://github.com.evil.invalid/a",
        "https://evil.invalid/github.com/",
        "git@github.com:a",
    ):
        assert not may_send_token(github, url)


def test_archived_forked_and_excluded_repositories_are_left_out() -> None:
    some = DiscoverSettings(kind="github", owner="o", include=("heron*", "o/osprey"), exclude=("*-old",))
    wanted = [
        name
        for name in ("o/Heron", "o/heron-old", "o/osprey", "o/wren")
        if some.wants(name, is_archived=False, is_fork=False)
    ]
    assert wanted == ["o/Heron", "o/osprey"]
    assert not some.wants("o/heron", is_archived=True, is_fork=False)
    assert not some.wants("o/heron", is_archived=False, is_fork=True)


@dataclass
class DiscoveringWorkspace(Workspace):
    """A workspace whose settings discover repositories too."""

    discover: dict[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> Settings:
        before = super().settings
        place = DiscoverSettings.model_validate(self.discover, context={"folder": self.root})
        return before.model_copy(update={"forge": before.forge.model_copy(update={"discover": (place,)})})


@pytest.fixture
def workspace(tmp_path: Path) -> DiscoveringWorkspace:
    for name in ("heron", "osprey"):
        repository = Repository(tmp_path / "git" / "birds" / name)
        repository.commit({"a.txt": f"the {name} is a bird\n"})
    return DiscoveringWorkspace(tmp_path, {}, discover={"kind": "folder", "path": str(tmp_path / "git")})


def test_a_folder_of_repositories_is_followed(workspace: DiscoveringWorkspace) -> None:
    assert outcomes(workspace.refresh()) == [("birds/heron", "ok"), ("birds/osprey", "ok")]
    assert outcomes(workspace.refresh("birds/osprey")) == [("birds/osprey", "unchanged")]
    assert known_names(workspace.settings) == {"birds/heron", "birds/osprey"}
    assert verify(workspace.settings).faults == []
    shutil.rmtree(workspace.root / "git" / "birds" / "heron")
    assert outcomes(workspace.refresh()) == [("birds/osprey", "unchanged"), ("birds/heron", "forgotten")]


def test_status_tells_a_place_that_fails_until_it_is_listed_again(workspace: DiscoveringWorkspace) -> None:
    def failing() -> list[str]:
        return [source.source for source in status(workspace.settings).sources if source.failing_since]

    (workspace.root / "git").rename(workspace.root / "away")
    workspace.refresh()
    assert failing() == ["forge.discover[0]"]
    (workspace.root / "away").rename(workspace.root / "git")
    workspace.refresh()
    assert failing() == []


@pytest.mark.parametrize(
    ("values", "template"),
    [
        ({"kind": "github"}, "https://github.com/{repo}/blob/{commit}/{path}#L{start}-L{end}"),
        (
            {"kind": "github", "url": "https://git.example.org/api/v3"},
            "https://git.example.org/{repo}/blob/{commit}/{path}#L{start}-L{end}",
        ),
        (
            {"kind": "gitea", "url": "https://git.example.org/"},
            "https://git.example.org/{repo}/src/commit/{commit}/{path}#L{start}-L{end}",
        ),
        ({"kind": "gitlab"}, "https://gitlab.com/{repo}/-/blob/{commit}/{path}#L{start}-{end}"),
    ],
)
def test_citations_link_to_where_each_forge_has_a_file(values: dict[str, str], template: str) -> None:
    place = DiscoverSettings.model_validate({"owner": "Birds", **values})
    assert place.web("birds/heron") == template
    assert place.web("fish/pike") is None


def test_a_folder_that_is_away_or_empty_forgets_nothing(workspace: DiscoveringWorkspace) -> None:
    workspace.repos = {"mine": Repository(workspace.root / "mine").path}
    workspace.refresh()
    before = workspace.points()
    (workspace.root / "git").rename(workspace.root / "away")
    report = workspace.refresh()
    assert ("forge.discover[0]", "unread") in outcomes(report)
    assert report.outcome == "partial"
    assert ("birds/heron", "failed") in outcomes(report)
    (workspace.root / "git").mkdir()
    assert ("forge.discover[0]", "unread") in outcomes(workspace.refresh())
    workspace.lose_checkpoints()
    assert "forgotten" not in dict(outcomes(workspace.refresh())).values()
    assert workspace.points() == before
    (workspace.root / "git").rmdir()
    assert "forgotten" not in dict(outcomes(workspace.refresh())).values()
    assert workspace.points() == before


def test_the_settings_count_before_what_is_discovered(workspace: DiscoveringWorkspace) -> None:
    workspace.repos = {"mine": workspace.root / "git" / "birds" / "heron"}
    report = workspace.refresh()
    assert outcomes(report) == [("mine", "ok"), ("birds/osprey", "ok")]
    assert any("birds/heron" in note for note in report.sources[0].notes)


def test_a_repository_with_a_new_name_is_taken_in_and_forgotten_under_the_old(
    workspace: DiscoveringWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = (workspace.root / "git" / "birds" / "heron").as_uri()
    listed = [Found("7", "birds/heron", url)]
    monkeypatch.setattr("huginn.forge.discovery.list_folder", lambda _: listed)
    workspace.refresh()
    listed[:] = [Found("7", "birds/stork", "file:///nowhere")]
    assert outcomes(workspace.refresh()) == [("birds/stork", "failed")]
    listed[:] = [Found("7", "birds/stork", url)]
    report = workspace.refresh()
    assert outcomes(report) == [("birds/stork", "ok"), ("birds/heron", "forgotten")]
    assert report.sources[1].reason == "it is called birds/stork now"
    assert {payload["source"] for payload in workspace.payloads()} == {"birds/stork"}
