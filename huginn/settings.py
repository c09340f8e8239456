"""The settings: `huginn.toml`, and the environment over it.

In: a TOML file (given, named by HUGINN_CONFIG, or found from the working directory upwards) and variables
`HUGINN_<SECTION>_<KEY>` (lists as JSON), which win. Out: frozen `Settings` with absolute paths, or one `Refused` that
tells every problem with its key. Secrets come from files alone and are never part of a repr; those that may come
from the environment, the tokens of chat, are no settings and are read when they are needed (`huginn.chat.settings`).
Addresses and branches are *not* judged here but by `huginn.forge.listing`, so that a bad one costs only its own source.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import string
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationError,
    model_validator,
)

from huginn.chat.settings import TOKEN_VARIABLE, ChatSettings, RosterSettings
from huginn.embedder_settings import EmbedderSettings
from huginn.errors import Refused
from huginn.forge.discovery_settings import DiscoverSettings
from huginn.index.settings import IndexSettings
from huginn.section import LocalPath, Pattern, Section, checked_username, folder_of

FILE_NAME = "huginn.toml"


def _checked_name(name: str) -> str:
    if len(name) > 200 or not re.fullmatch(r"\w[\w.+-]*([/ ][\w.+-]+)*", name):
        raise ValueError("give a name of letters, digits and . _ + - with / or blank between words, at most 200 long")
    return name


def _as_list(value: object) -> object:
    """One table stands for a list of one."""
    return [value] if isinstance(value, dict) else value


class RepositorySettings(Section):
    """One `[[forge.repos]]`: a repository to keep in the index."""

    name: Annotated[str, AfterValidator(_checked_name)]
    url: str = Field(min_length=1, repr=False)
    branch: str | None = None
    web: str | None = None
    token_file: LocalPath | None = None
    username: Annotated[str, AfterValidator(checked_username)] = "oauth2"
    exclude: tuple[Pattern, ...] = ()

    @model_validator(mode="after")
    def _web_is_a_template(self) -> Self:
        if self.web is not None:
            problem = _template_problem(self.web)
            if problem:
                raise ValueError(f"web: {problem}")
        return self


class ForgeSettings(Section):
    """The `forge` corpus: its name, its repositories or where they are listed, and what of them is left out."""

    name: str = Field("forge", min_length=1, max_length=200)
    repos: tuple[RepositorySettings, ...] = ()
    discover: Annotated[tuple[DiscoverSettings, ...], BeforeValidator(_as_list)] = ()
    exclude: tuple[Pattern, ...] = ()
    generated: tuple[Pattern, ...] | None = None
    max_file_bytes: int = Field(1 << 20, ge=1, le=1 << 26)
    local: bool = True
    timeout_seconds: float = Field(600, gt=0, le=86_400, allow_inf_nan=False)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        names = [repository.name for repository in self.repos]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"repos: the name {twice[0]!r} is given twice; give each repository a name of its own")
        return self


class Settings(Section):
    """All settings. `state` is the folder that holds everything Huginn keeps; without `chat` no homeserver is read."""

    state: LocalPath = Field(default=Path(".huginn"), validate_default=True)
    forge: ForgeSettings = ForgeSettings()
    chat: ChatSettings | None = None
    embedder: EmbedderSettings = EmbedderSettings()
    index: IndexSettings = IndexSettings()

    _folder: Path = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Keep where relative paths started."""
        self._folder = folder_of(context)

    @property
    def folder(self) -> Path:
        """Where relative paths start: the folder of the settings file, or the working directory without one."""
        return self._folder

    @property
    def mirrors(self) -> Path:
        """The folder of the bare mirrors of repositories: a cache, safe to delete."""
        return self.state / "mirrors"


def find(start: Path) -> Path:
    """The `huginn.toml` in `start` or the nearest folder above it."""
    for folder in (start, *start.parents):
        if (folder / FILE_NAME).is_file():
            return folder / FILE_NAME
    raise Refused(
        "config",
        f"there is no {FILE_NAME} in {start} or above it",
        next_step="write one with 'huginn init', or name one with --config or HUGINN_CONFIG",
    )


def locate(config: Path | None = None, *, environment: Mapping[str, str] = os.environ) -> Path:
    """The settings file: `config`, else what HUGINN_CONFIG names, else the nearest one upwards from here."""
    named = config or (Path(environment["HUGINN_CONFIG"]) if environment.get("HUGINN_CONFIG") else None)
    return (named or find(Path.cwd())).absolute()


def load(config: Path | None = None, *, environment: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings from `config`, else from HUGINN_CONFIG, else from the nearest file upwards from here.

    Raises `Refused` (field `config`) that tells all problems at once, each with its key and what would be right.
    """
    path = locate(config, environment=environment)
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise Refused(
            "config", f"cannot read {path}, {error.strerror}", next_step="check its name and rights"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Refused("config", f"{path} is no valid TOML: {error}", next_step="mend that line") from None
    except ValueError:  # Python's own limit of digits; of what tomllib says, all else is a TOMLDecodeError
        raise Refused("config", f"{path} holds a number of thousands of digits", next_step="mend that number") from None
    except RecursionError:
        raise Refused("config", f"{path} holds lists or tables nested too deep", next_step="mend that value") from None
    _overlay(values, environment)
    try:
        return Settings.model_validate(values, context={"folder": path.parent})
    except ValidationError as error:
        problems = "".join(f"\n  {line}" for line in _problems(error))
        raise Refused("config", f"{path} cannot be used:{problems}") from None


def _overlay(values: dict[str, Any], environment: Mapping[str, str]) -> None:
    """Lay HUGINN_STATE and HUGINN_<SECTION>_<KEY> over the file's values; a key nobody knows is told later on.

    Own code, because pydantic-settings costs a search a quarter of a second at each start.
    """
    sections = {name for name, field in Settings.model_fields.items() if name != "state"}
    for variable, text in environment.items():
        section, _, key = variable.removeprefix("HUGINN_").lower().partition("_")
        if variable == "HUGINN_STATE":
            values["state"] = text
        elif variable.startswith("HUGINN_") and section in sections and key and variable != TOKEN_VARIABLE:
            table = values.setdefault(section, {})
            if isinstance(table, dict):
                table[key] = _from_text(text)


def _from_text(text: str) -> object:
    """A list or table is given as JSON; everything else as it stands in the file, without quotes."""
    if text[:1] in ("[", "{"):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text  # which is refused by its key, as no list
    return text


def _problems(error: ValidationError) -> Iterator[str]:
    """One line for each problem: the key, what is wrong, what would be right. Values are not repeated."""
    for problem in error.errors(include_input=False, include_url=False):
        key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem["loc"]).lstrip(".")
        if problem["type"] == "extra_forbidden":
            yield f"{key}: no such key{_nearest(problem['loc'])}"
        else:
            text = problem["msg"].removeprefix("Value error, ")
            yield f"{key}: {text}" if key else text


def _nearest(location: tuple[int | str, ...]) -> str:
    sections: dict[str, type[BaseModel]] = {
        "forge": ForgeSettings,
        "repos": RepositorySettings,
        "discover": DiscoverSettings,
        "chat": ChatSettings,
        "roster": RosterSettings,
        "embedder": EmbedderSettings,
        "index": IndexSettings,
    }
    names = [part for part in location[:-1] if isinstance(part, str)]
    model = sections[names[-1]] if names else Settings
    known = list(model.model_fields)
    close = difflib.get_close_matches(str(location[-1]), known, n=1)
    if str(location[-1]) in ("token", "password", "secret", "key", "api_key"):
        return f"; secrets are read from files: give {'api_key_file' if names == ['index'] else 'token_file'}"
    return f"; did you mean {close[0]}?" if close else f"; known here: {', '.join(known)}"


def _template_problem(template: str) -> str | None:
    """What is wrong with the template of a web address, or None."""
    allowed = {"repo", "commit", "path", "start", "end"}
    try:
        parts = [part for part in string.Formatter().parse(template) if part[1] is not None]
    except ValueError as error:
        return f"no valid template ({error}); write a brace that is meant as such twice"
    fields = {str(name) for _, name, _, _ in parts}
    if fields - allowed:
        return f"unknown field {{{sorted(fields - allowed)[0]}}}; known are {', '.join(sorted(allowed))}"
    if not template.isprintable():
        return "holds characters that cannot be shown"
    for _, name, form, conversion in parts:
        if form or conversion:  # some fit only some values, and would fail at the first hit
            return f"write {{{name}}} alone in its braces, without : or !"
    if not template.startswith(("https://", "http://")):
        return "must begin with https:// or http://"
    return None
