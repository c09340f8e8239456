"""`huginn init` writes settings that are valid as they stand, and never touches a file that is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from huginn.cli.exits import ExitCode
from huginn.settings import load
from tests.support.command_line import CommandLine


@pytest.fixture
def empty(huginn: CommandLine) -> CommandLine:
    (huginn.folder / "huginn.toml").unlink()
    return huginn


def test_outside_a_repository_the_example_is_valid_and_names_none(empty: CommandLine) -> None:
    ended = empty("init")
    assert ended.code == ExitCode.WELL
    assert ended.out.startswith(f"wrote {empty.folder / 'huginn.toml'}\n")
    settings = load(empty.folder / "huginn.toml", environment={})
    assert settings.forge.repos == ()
    assert settings.state == empty.folder / ".huginn"


@pytest.mark.parametrize(("below", "url"), [("", "."), ("deep/down", "../..")])
def test_inside_a_repository_the_example_names_it_by_a_relative_path(
    empty: CommandLine, monkeypatch: pytest.MonkeyPatch, below: str, url: str
) -> None:
    repository = empty.folder / 'my "bird" repo!'
    (repository / ".git").mkdir(parents=True)
    (repository / below).mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(repository / below)
    assert empty("init").code == ExitCode.WELL
    [named] = load(environment={}).forge.repos
    assert (named.name, named.url) == ("my-bird-repo", url)


def test_everything_that_is_commented_out_is_valid_too(empty: CommandLine) -> None:
    (empty.folder / ".git").write_text("gitdir: elsewhere\n")
    empty("init")
    path = empty.folder / "huginn.toml"
    lines = path.read_text().split("\n")
    keys = [line.removeprefix("# ") for line in lines if line.startswith("# ") and " = " in line]
    tables = [line.removeprefix("# ") for line in lines if line.startswith("# [")]
    assert len(keys) >= 12
    assert tables == ["[[forge.repos]]", "[forge.discover]", "[chat]"]
    path.write_text("\n".join(line.removeprefix("# ") if _is_example(line) else line for line in lines))
    settings = load(path, environment={})
    assert [repository.name for repository in settings.forge.repos][1:] == ["Heron"]
    assert settings.index.min_free_bytes == 256 << 20
    assert settings.forge.max_file_bytes == 1 << 20
    assert settings.chat is not None
    assert settings.chat.exclude == ("#lobby:example.org",)


def _is_example(line: str) -> bool:
    return line.startswith("# [") or (line.startswith("# ") and " = " in line)


def test_a_file_that_is_there_is_never_overwritten(huginn: CommandLine) -> None:
    before = (huginn.folder / "huginn.toml").read_text()
    ended = huginn("init")
    assert ended.code == ExitCode.REFUSED
    assert "is there already" in ended.err
    assert (huginn.folder / "huginn.toml").read_text() == before


def test_a_link_that_leads_nowhere_is_not_followed(empty: CommandLine, tmp_path: Path) -> None:
    (empty.folder / "huginn.toml").symlink_to(tmp_path / "elsewhere.toml")
    assert empty("init").code == ExitCode.REFUSED
    assert not (tmp_path / "elsewhere.toml").exists()


@pytest.mark.parametrize("by_variable", [True, False])
def test_the_file_may_be_named(empty: CommandLine, monkeypatch: pytest.MonkeyPatch, by_variable: bool) -> None:
    path = empty.folder / "new" / "other.toml"
    if by_variable:
        monkeypatch.setenv("HUGINN_CONFIG", str(path))
    arguments = ["init"] if by_variable else ["--config", str(path), "init"]
    assert empty(*arguments).code == ExitCode.WELL
    assert load(path, environment={}).state == path.parent / ".huginn"
