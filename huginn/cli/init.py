"""`huginn init`: a commented settings file to begin with.

In: the folder it is for. Out: `huginn.toml`, which is valid as it stands. A file that is there is never overwritten.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import click

from huginn.cli import terminal
from huginn.cli.exits import ExitCode, manual
from huginn.cli.options import chosen_config, config_option
from huginn.errors import Refused

_BEGINNING = """\
# Settings of Huginn. Relative paths count from this file's folder. Each value can also come from the environment, which
# wins: HUGINN_STATE, and HUGINN_<SECTION>_<KEY> such as HUGINN_FORGE_NAME (lists as JSON).

# The folder of everything that Huginn keeps: index, cursors, mirrors. Keep it out of version control.
state = ".huginn"

[forge]
name = "forge"                      # what you call your collection of repositories
# exclude = ["*.svg", "vendor/"]    # paths to leave out of all repositories, as patterns like those of .gitignore
# max_file_bytes = 1048576          # larger files are skipped
# local = false                     # refuse repositories that are paths on this machine

"""

_REPOSITORY = """\
[[forge.repos]]
{name}
{url}# https, ssh, file, or a path
# branch = "main"                   # by default what the remote's HEAD says
# web = "https://forge.example.org/{{repo}}/blob/{{commit}}/{{path}}#L{{start}}-L{{end}}"   # for links in citations
# exclude = ["tests/data/"]         # paths to leave out of this repository

"""

_ANOTHER = """\
# {introduction}
# [[forge.repos]]
# name = "Heron"
# url = "https://forge.example.org/birds/Heron.git"
# token_file = "heron.token"        # a file that holds a token, for a repository that is not public
# username = "oauth2"               # who the token belongs to, as far as the server asks

"""

_END = """\
# All repositories of an organisation or user of a forge, or of a folder; more of them as [[forge.discover]]:
# [forge.discover]
# kind = "gitea"                      # or github, gitlab, folder (with path = "..." alone)
# url = "https://forge.example.org"
# owner = "birds"
# token_file = "forge.token"          # a file that holds a token, for what is not public
# exclude = ["*-archive"]             # shell patterns for names; archived ones and forks are left out

# The rooms of a Matrix homeserver, as the account sees them that reads; take them in with 'huginn refresh chat':
# [chat]
# homeserver = "https://matrix.example.org"
# user = "@huginn:example.org"        # an account of its own; it need not be able to send
# token_file = "matrix.token"         # a file that holds its token; or HUGINN_CHAT_TOKEN in the environment
# exclude = ["#lobby:example.org"]    # rooms to leave out, by alias or id, beside #users, #members and #patrons

[embedder]
kind = "wordllama"                  # the model that comes with the installation; works offline
# Or hosts that run Ollama: kind "ollama", with a model and urls, see "Embed with an Ollama fleet" in docs/how-to.md.

[index]
# min_free_bytes = 268435456        # nothing is written when less than this is free on the disk
"""


@click.command(
    short_help="Write a commented huginn.toml; never overwrites.",
    epilog=manual(ExitCode.WELL, ExitCode.REFUSED, ExitCode.AWAY, refused="the file is there already"),
)
@config_option
def init() -> ExitCode:
    """Write a commented huginn.toml in the current folder, or the file that --config or HUGINN_CONFIG names.

    A file that is there already is never overwritten. Inside a git repository the new settings name that repository,
    so that 'huginn refresh' works at once; elsewhere they hold an example to fill in.

    \b
    Examples:
      huginn init
      huginn --config /etc/huginn/huginn.toml init
    """
    path = _target().absolute()
    repository = _repository_around(path.parent)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(example(path.parent, repository))
    except FileExistsError:
        reason = f"{path} is there already, and is left as it is"
        raise Refused("config", reason, next_step="edit it, or name another with --config") from None
    terminal.write(f"wrote {terminal.harmless_line(str(path))}\n{_next_step(repository)}\n", sys.stdout)
    return ExitCode.WELL


def example(folder: Path, repository: Path | None) -> str:
    """The text of a settings file for `folder`, which names `repository` if there is one."""
    if repository is None:
        return _BEGINNING + _ANOTHER.format(introduction="A repository to keep in the index:") + _END
    name = f"name = {json.dumps(_name_of(repository))}"
    url = f"url = {json.dumps(os.path.relpath(repository, folder))}"
    return (
        _BEGINNING
        + _REPOSITORY.format(name=name, url=f"{url:<36}")
        + _ANOTHER.format(introduction="Another one:")
        + _END
    )


def _target() -> Path:
    from huginn.settings import FILE_NAME

    named = chosen_config() or os.environ.get("HUGINN_CONFIG")
    return Path(named) if named else Path(FILE_NAME)


def _repository_around(folder: Path) -> Path | None:
    """The git repository that `folder` lies in; `.git` is a file in a worktree or a submodule."""
    return next((above for above in (folder, *folder.parents) if (above / ".git").exists()), None)


def _name_of(repository: Path) -> str:
    """The folder's name, as far as the settings take it for a name."""
    words = re.findall(r"\w[\w.+-]*", repository.name, flags=re.ASCII)
    return "-".join(words)[:200] or "repository"


def _next_step(repository: Path | None) -> str:
    if repository is None:
        return "next: name your repositories in it, then run 'huginn doctor'"
    return f"it names {terminal.harmless_line(str(repository))}; next: run 'huginn refresh'"
