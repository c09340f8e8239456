"""The section `[forge.discover]` of the settings: a place that lists repositories, and which of them are wanted.

In: the section's values. Out: frozen settings, or what is wrong with them. An address is never repeated in a message:
it could hold a password.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from huginn.section import LocalPath, Section, checked_username, http_parts

_WEB = {
    "github": "{root}/{repo}/blob/{commit}/{path}#L{start}-L{end}",
    "gitea": "{root}/{repo}/src/commit/{commit}/{path}#L{start}-L{end}",
    "gitlab": "{root}/{repo}/-/blob/{commit}/{path}#L{start}-{end}",
}
_ROOTS = {"github": "https://api.github.com", "gitlab": "https://gitlab.com"}


def _checked_root(url: str) -> str:
    parts = http_parts(url)
    if parts is None or not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError('give the address of a forge, such as "https://forge.example.org"')
    if "@" in parts.netloc:
        raise ValueError("take user and password out of the address; give a token in a file as token_file")
    if parts.query or parts.fragment:
        raise ValueError("take out what follows the ? or #")
    return url.rstrip("/")


class DiscoverSettings(Section):
    """An organisation or user of a forge, or a folder of this machine, whose repositories are taken in.

    `url`: of GitHub the root of its interface, else that of the forge. `include` and `exclude` are shell patterns for
    whole names (`owner/name`; in a folder the path) or their last part, in any case. `archived`, `forks`: whether those
    are wanted. `token_file` and `username` are also for reading the repositories.
    """

    kind: Literal["github", "gitea", "gitlab", "folder"]
    url: Annotated[str, AfterValidator(_checked_root)] | None = Field(None, repr=False)
    owner: str | None = Field(None, max_length=500, pattern=r"^\w[\w.-]*(/\w[\w.-]*)*$")
    token_file: LocalPath | None = None
    username: Annotated[str, AfterValidator(checked_username)] = "oauth2"
    path: LocalPath | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    archived: bool = False
    forks: bool = False

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        foreign = ("url", "owner", "token_file") if self.kind == "folder" else ("path",)
        given = [name for name in foreign if getattr(self, name)]
        if given:
            raise ValueError(f"{given[0]}: does not belong to kind = {self.kind!r}")
        if self.kind == "folder":
            if self.path is None:
                raise ValueError("path: name the folder that holds the repositories")
            return self
        if not self.owner:
            raise ValueError("owner: name an organisation, group or user of the forge")
        if self.url is None and self.kind not in _ROOTS:
            raise ValueError('url: give the address of the forge, such as "https://forge.example.org"')
        return self

    @property
    def root(self) -> str:
        """The address that is asked, without a slash at its end; of a folder nothing."""
        return self.url or _ROOTS.get(self.kind, "")

    def web(self, repository: str) -> str | None:
        """The template for links into a repository of this name, as each forge has it; None: it is of another place."""
        owner, template = f"{self.owner}/".casefold(), _WEB.get(self.kind)
        if template is None or not repository.casefold().startswith(owner):
            return None
        root = "https://github.com" if self.root == _ROOTS["github"] else self.root.removesuffix("/api/v3")
        return template.replace("{root}", root.replace("{", "{{").replace("}", "}}"))

    def wants(self, name: str, *, is_archived: bool, is_fork: bool) -> bool:
        """Whether a repository that is listed shall be taken in."""
        if (is_archived and not self.archived) or (is_fork and not self.forks):
            return False
        return (not self.include or _matches(name, self.include)) and not _matches(name, self.exclude)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    whole = name.casefold()
    last = whole.rpartition("/")[2]
    return any(fnmatchcase(whole, each) or fnmatchcase(last, each) for each in map(str.casefold, patterns))
