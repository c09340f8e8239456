"""What several commands share: the settings file, `--json`, the names of corpora, filters of messages.

In: arguments. Out: settings, or a refusal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from huginn.cli import moment
from huginn.errors import Refused

if TYPE_CHECKING:
    from huginn.report import Corpus
    from huginn.settings import Settings

CORPORA: tuple[Corpus, ...] = ("forge", "chat")

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


@dataclass
class Invocation:
    """What was said before or after the command's name, and holds for either place."""

    config: Path | None = None


def _keep_config(context: click.Context, _parameter: click.Parameter, value: Path | None) -> None:
    invocation = context.ensure_object(Invocation)
    if value is not None:
        invocation.config = value


def config_option(function: Decorated) -> Decorated:
    """`--config`, before or after the name of the command."""
    return click.option(
        "--config",
        type=click.Path(path_type=Path),
        metavar="FILE",
        expose_value=False,
        callback=_keep_config,
        help="The settings file. Else HUGINN_CONFIG names it, else it is the nearest huginn.toml from here upwards.",
    )(function)


def json_option(function: Decorated) -> Decorated:
    """`--json`, for programs that read along."""
    return click.option(
        "--json",
        "as_json",
        is_flag=True,
        help="Print one JSON document on standard output, also for errors, and nothing else there.",
    )(function)


def room_options(function: Decorated) -> Decorated:
    """`--room`, `--sender`, `--after` and `--before`: which messages are meant."""
    options = (
        click.option("--room", "rooms", metavar="ROOM", multiple=True, help="Only this room: alias or id. Repeatable."),
        click.option("--sender", "senders", metavar="USER", multiple=True, help="Only with words of USER. Repeatable."),
        click.option("--after", metavar="TIME", callback=moment.read, help="Nothing before TIME (RFC 3339 or date)."),
        click.option("--before", metavar="TIME", callback=moment.read, help="Nothing at TIME or after it."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def chosen_config() -> Path | None:
    """The settings file that was named with `--config`."""
    return click.get_current_context().ensure_object(Invocation).config


def load_settings() -> Settings:
    """The settings that this command works with."""
    from huginn import settings

    return settings.load(chosen_config())


def require_corpus(name: str) -> Corpus:
    """The corpus of that name. Raises `Refused` if this release knows none."""
    for corpus in CORPORA:
        if corpus == name:
            return corpus
    reason = f"there is no corpus {name!r} in this release"
    raise Refused("corpus", reason, next_step=f"known: {', '.join(CORPORA)}")
