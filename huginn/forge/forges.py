"""How the forges list the repositories of an owner: paths, fields, and what belongs together on several pages.

In: the settings of a place, its token, what was listed last. Out: everything the forge lists, or `ListingFailed`.
A listing changes while it is read page by page, and a repository can fall between two pages. So where one of those
known before is missing, it is read again, and counts only once it says the same twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StrictBool, StrictInt, TypeAdapter, ValidationError

from huginn.forge.discovery_settings import DiscoverSettings
from huginn.forge.found import Found, ListingFailed
from huginn.forge.pages import Missing, Pages

_READINGS = 4
_LOOK = "it is tried again in the next run; look at the forge if it stays"


class _Entry(BaseModel):
    """A repository as GitHub, Gitea or GitLab tells it; what else they tell is left."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)

    id: StrictInt
    name: str = Field(min_length=1, max_length=1_000, validation_alias=AliasChoices("full_name", "path_with_namespace"))
    url: str = Field(min_length=1, max_length=5_000, validation_alias=AliasChoices("clone_url", "http_url_to_repo"))
    archived: StrictBool = False
    fork: StrictBool = False
    forked_from_project: Mapping[str, Any] | None = None


_ENTRIES = TypeAdapter(list[_Entry])


@dataclass(frozen=True)
class _Dialect:
    """Paths of a forge below its root, one after the other until one is there; `query` goes with the first page."""

    paths: tuple[str, ...]
    query: Mapping[str, str]


# In order of making: what is new comes last, where it moves nothing to another page.
_DIALECTS = {
    "github": _Dialect(
        ("/orgs/{owner}/repos", "/users/{owner}/repos"), {"per_page": "100", "sort": "created", "direction": "asc"}
    ),
    "gitea": _Dialect(("/api/v1/orgs/{owner}/repos", "/api/v1/users/{owner}/repos"), {"limit": "50"}),
    "gitlab": _Dialect(
        ("/api/v4/groups/{owner}/projects", "/api/v4/users/{owner}/projects"),
        {
            "per_page": "100",
            "order_by": "id",
            "sort": "asc",
            "include_subgroups": "true",
            "with_shared": "false",
        },
    ),
}


def list_forge(discover: DiscoverSettings, token: str | None, known: Set[str]) -> list[Found]:
    """Everything that the forge lists for the owner. `known`: ids that were listed last."""
    with Pages(discover.root, token) as pages:
        listed = _read(discover, pages)
        for _ in range(_READINGS - 1):
            if known <= listed.keys():
                return list(listed.values())
            again = _read(discover, pages)
            if again.keys() == listed.keys():
                return list(again.values())
            listed = again
    raise ListingFailed("the listing of the forge changes each time it is read", next_step=_LOOK)


def _read(discover: DiscoverSettings, pages: Pages) -> dict[str, Found]:
    """One reading, from the first page to the last, by ids."""
    dialect = _DIALECTS[discover.kind]
    owner = quote(discover.owner or "", safe="")
    for path in dialect.paths:
        try:
            return _all_of(pages, path.format(owner=owner), dialect.query)
        except Missing:
            continue
    raise ListingFailed(
        f"the forge has no owner {discover.owner} that this account can see",
        next_step="check owner, url and token of this [forge.discover]",
    )


def _all_of(pages: Pages, path: str, query: Mapping[str, str]) -> dict[str, Found]:
    found: dict[str, Found] = {}
    for page in pages.of(path, query):
        entries = _checked(page)
        new = {str(entry.id): _found(entry) for entry in entries}
        if new and new.keys() <= found.keys():
            raise ListingFailed("the forge gives the same page twice", next_step=_LOOK)
        found |= new
    return found


def _checked(page: object) -> Sequence[_Entry]:
    try:
        return _ENTRIES.validate_python(page)
    except ValidationError as error:
        places = sorted({str(problem["loc"][-1])[:40] for problem in error.errors() if problem["loc"]})
        raise ListingFailed(
            f"the forge gives what is no list of repositories ({error.error_count()} faults, in "
            f"{', '.join(places[:3]) or 'the whole'})",
            next_step="check kind and url of this [forge.discover]",
        ) from None


def _found(entry: _Entry) -> Found:
    is_fork = entry.fork or entry.forked_from_project is not None
    return Found(str(entry.id), entry.name, entry.url, is_archived=entry.archived, is_fork=is_fork)
