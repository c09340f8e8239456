"""The operations of a Qdrant server that Huginn uses, as a table, and what they do to the stand-in's collections."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from qdrant_client.http import models

from tests.support.qdrant_engine import Collection, Refusal

_DONE = models.UpdateResult(operation_id=0, status=models.UpdateStatus.COMPLETED)
VERSION = "1.19.0"


@dataclass(frozen=True)
class Operation:
    """One operation of the interface."""

    name: str
    method: str
    path: str
    asks: Any
    gives: Any
    act: Callable[[Any, str, Any], Any]

    def name_in(self, path: str) -> str | None:
        """The name of the collection in a path that is this operation's, else None."""
        pattern = re.escape(self.path).replace(re.escape("{collection_name}"), "([^/]+)")
        found = re.fullmatch(pattern, path)
        return None if found is None else unquote(found.group(1)) if found.groups() else ""


class Store:
    """All collections and aliases: what a server keeps when it is stopped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.collections: dict[str, Collection] = {}
        self.aliases: dict[str, str] = {}

    def __getitem__(self, name: str) -> Collection:
        found = self.collections.get(self.aliases.get(name, name))
        if found is None:
            raise Refusal(404, f"there is no collection {name}")
        return found

    def create(self, name: str, asked: models.CreateCollection) -> bool:
        if name in self.collections or name in self.aliases:
            raise Refusal(409, f"there is a collection {name}")
        self.collections[name] = Collection(self.folder / name, asked)
        return True

    def update(self, name: str, asked: models.UpdateCollection) -> bool:
        self[name].metadata.update(asked.metadata or {})
        return True

    def drop(self, name: str) -> bool:
        gone = self.collections.pop(name, None)
        if gone is not None:
            gone.shard.close()
            shutil.rmtree(self.folder / name)
            self.aliases = {alias: target for alias, target in self.aliases.items() if target != name}
        return gone is not None

    def change_aliases(self, asked: models.ChangeAliasesOperation) -> bool:
        aliases = dict(self.aliases)
        for action in asked.actions:
            if isinstance(action, models.DeleteAliasOperation):
                if aliases.pop(action.delete_alias.alias_name, None) is None:
                    raise Refusal(404, "there is no such alias")
            else:
                assert isinstance(action, models.CreateAliasOperation)
                create = action.create_alias
                if create.collection_name not in self.collections or create.alias_name in self.collections:
                    raise Refusal(400, "this cannot be an alias")
                aliases[create.alias_name] = create.collection_name
        self.aliases = aliases
        return True

    def list_aliases(self) -> models.CollectionsAliasesResponse:
        described = [models.AliasDescription(alias_name=a, collection_name=c) for a, c in self.aliases.items()]
        return models.CollectionsAliasesResponse(aliases=described)

    def list_collections(self) -> models.CollectionsResponse:
        return models.CollectionsResponse(
            collections=[models.CollectionDescription(name=name) for name in self.collections]
        )

    def batch(self, name: str, asked: models.UpdateOperations) -> list[models.UpdateResult]:
        for operation in asked.operations:
            assert isinstance(operation, models.OverwritePayloadOperation)
            self[name].overwrite(operation.overwrite_payload)
        return [_DONE for _ in asked.operations]


def _done(act: Callable[[Store, str, Any], object]) -> Callable[[Store, str, Any], models.UpdateResult]:
    def acted(store: Store, name: str, asked: Any) -> models.UpdateResult:
        act(store, name, asked)
        return _DONE

    return acted


_C = "/collections/{collection_name}"
OPERATIONS = [
    Operation(
        "version",
        "GET",
        "/",
        None,
        models.VersionInfo,
        lambda *_: models.VersionInfo(title="stand-in", version=VERSION),
    ),
    Operation("list", "GET", "/collections", None, models.CollectionsResponse, lambda s, *_: s.list_collections()),
    Operation("aliases", "GET", "/aliases", None, models.CollectionsAliasesResponse, lambda s, *_: s.list_aliases()),
    Operation(
        "change_aliases",
        "POST",
        "/collections/aliases",
        models.ChangeAliasesOperation,
        bool,
        lambda s, _, a: s.change_aliases(a),
    ),
    Operation("info", "GET", _C, None, models.CollectionInfo, lambda s, n, _: s[n].info()),
    Operation("create", "PUT", _C, models.CreateCollection, bool, lambda s, n, a: s.create(n, a)),
    Operation("change", "PATCH", _C, models.UpdateCollection, bool, lambda s, n, a: s.update(n, a)),
    Operation("drop", "DELETE", _C, None, bool, lambda s, n, _: s.drop(n)),
    Operation(
        "exists",
        "GET",
        f"{_C}/exists",
        None,
        models.CollectionExistence,
        lambda s, n, _: models.CollectionExistence(exists=n in s.collections),
    ),
    Operation(
        "index",
        "PUT",
        f"{_C}/index",
        models.CreateFieldIndex,
        models.UpdateResult,
        _done(lambda s, n, a: s[n].add_index(a)),
    ),
    Operation(
        "upsert",
        "PUT",
        f"{_C}/points",
        models.PointsList,
        models.UpdateResult,
        _done(lambda s, n, a: s[n].upsert(a.points)),
    ),
    Operation(
        "delete",
        "POST",
        f"{_C}/points/delete",
        models.PointIdsList,
        models.UpdateResult,
        _done(lambda s, n, a: s[n].delete(a.points)),
    ),
    Operation(
        "batch",
        "POST",
        f"{_C}/points/batch",
        models.UpdateOperations,
        list[models.UpdateResult],
        lambda s, n, a: s.batch(n, a),
    ),
    Operation(
        "retrieve", "POST", f"{_C}/points", models.PointRequest, list[models.Record], lambda s, n, a: s[n].retrieve(a)
    ),
    Operation(
        "scroll",
        "POST",
        f"{_C}/points/scroll",
        models.ScrollRequest,
        models.ScrollResult,
        lambda s, n, a: s[n].scroll(a),
    ),
    Operation(
        "count", "POST", f"{_C}/points/count", models.CountRequest, models.CountResult, lambda s, n, a: s[n].count(a)
    ),
    Operation("facet", "POST", f"{_C}/facet", models.FacetRequest, models.FacetResponse, lambda s, n, a: s[n].facet(a)),
    Operation(
        "query",
        "POST",
        f"{_C}/points/query/batch",
        models.QueryRequestBatch,
        list[models.QueryResponse],
        lambda s, n, a: s[n].query(a.searches),
    ),
]
