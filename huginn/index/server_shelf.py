"""The shelf on a Qdrant server: the collections of one alias, what is stored about them, how they are made.

A collection is called `<alias>_<hash of its label>_<random id>`. Its random id, its label, and since when it is retired
are in its metadata, written when everything else is in place: a collection without them is half-made. The alias points
to the one in use and is moved in one step. Collections of other programs or other aliases are never touched.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from dataclasses import replace
from datetime import datetime

from pydantic import BaseModel, ConfigDict, ValidationError
from qdrant_client.http import models

from huginn.embed.probe import Witness
from huginn.errors import Refused, Unavailable
from huginn.index import noted
from huginn.index.convert import MEANING, WORDS
from huginn.index.label import Label
from huginn.index.server import ServerIndex
from huginn.index.server_connection import Connection
from huginn.index.server_convert import INDEXES
from huginn.index.server_retry import Patience
from huginn.index.shelf import Collection
from huginn.report import now
from huginn.settings import Settings

_KEY = "huginn"
_OLDEST = "1.19"  # metadata of collections, and keyword indexes that answer for prefixes


class _Described(BaseModel):
    """What is stored with a collection, under one key of its metadata."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    label: Label
    retired: datetime | None = None
    witness: Witness = Witness()


class ServerShelf:
    """See `huginn.index.shelf.Shelf`. All indexes of a shelf share its connection."""

    def __init__(self, settings: Settings, patience: Patience) -> None:
        self._settings = settings
        self._connection = Connection(settings.index, patience)
        self.alias = settings.index.alias or _alias_of(settings.forge.name)

    def version(self) -> str:
        """The server's version, as it says itself."""
        return self._connection.ask(lambda client: client.info()).version

    def current(self) -> Collection | None:
        """The collection that the alias points to."""
        name = self._target()
        if name is None:
            return None
        collection = self._look(name)
        if collection is None:
            raise _strange(name, f"the alias {self.alias} points to it, but it has no label")
        return replace(collection, retired=None)

    def others(self) -> list[Collection]:
        """Building and retired ones, by name."""
        target = self._target()
        found = [self._look(name) for name in self._names() if name != target]
        return [collection for collection in found if collection is not None]

    def create(self, label: Label) -> Collection:
        """Make a new collection, and describe it when it is complete; half-made ones from before are swept away."""
        for name in self._names():
            if self._look(name) is None:
                self._delete(name)
        random_id = uuid.uuid4().hex
        name = f"{self.alias}_{_hash(label.model_dump_json())}_{random_id}"
        self._create_empty(name, label)
        for field, schema in INDEXES.items():
            self._create_index(name, field, schema)
        self._describe(Collection(name, random_id, label))
        collection = self._look(name)
        if collection is None:
            raise Refused(
                "index.url",
                f"Qdrant {self.version()} at {self._connection.shown} keeps no metadata of collections",
                next_step=f"use Qdrant {_OLDEST} or newer",
            )
        return collection

    def open(self, collection: Collection, *, wait: float) -> ServerIndex:
        """Open a collection to write. Nobody holds one on a server: `wait` is for the embedded engine."""
        if collection.name == self._target():
            noted.note(self._settings, collection)
        return ServerIndex(self._connection, collection, self._describe)

    def read(self, collection: Collection, *, wait: float) -> ServerIndex:
        """Open a collection to read."""
        return ServerIndex(self._connection, collection, self._describe)

    def switch(self, collection: Collection) -> None:
        """Point the alias to another collection, in one step. Who is retired is noted before: a kill in between is
        mended by the next switch."""
        before = self.current()
        if before is not None and before.name != collection.name:
            self._describe(replace(before, retired=now()))
        if collection.retired is not None:
            self._describe(replace(collection, retired=None))
        changes: list[models.AliasOperations] = []
        if before is not None:
            changes.append(models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=self.alias)))
        create = models.CreateAlias(collection_name=collection.name, alias_name=self.alias)
        changes.append(models.CreateAliasOperation(create_alias=create))
        self._connection.ask(lambda client: client.update_collection_aliases(changes, timeout=self._connection.timeout))
        noted.note(self._settings, collection)

    def drop(self, collection: Collection) -> None:
        """Delete a collection."""
        if collection.name == self._target():
            raise ValueError(f"{collection.name} is in use")
        self._delete(collection.name)

    def _target(self) -> str | None:
        aliases = self._connection.ask(lambda client: client.get_aliases()).aliases
        return next((entry.collection_name for entry in aliases if entry.alias_name == self.alias), None)

    def _names(self) -> list[str]:
        """The names of the collections that are ours, complete or not."""
        ours = re.compile(re.escape(self.alias) + r"_[0-9a-f]{8}_[0-9a-f]{32}")
        collections = self._connection.ask(lambda client: client.get_collections()).collections
        return sorted(entry.name for entry in collections if ours.fullmatch(entry.name))

    def _look(self, name: str) -> Collection | None:
        """What a collection says of itself; None if it says nothing. Refuses one that is not as Huginn makes them."""
        info = self._connection.ask(lambda client: client.get_collection(name))
        content = (info.config.metadata or {}).get(_KEY)
        if content is None:
            return None
        try:
            described = _Described.model_validate(content)
        except ValidationError:
            raise _strange(name, "its label is damaged") from None
        _require_fit(name, described.label, info)
        return Collection(name, described.id, described.label, described.retired, described.witness)

    def _create_empty(self, name: str, label: Label) -> None:
        settings = self._settings.index
        try:
            self._connection.ask(
                lambda client: client.create_collection(
                    name,
                    vectors_config={
                        MEANING: models.VectorParams(size=label.dimensions, distance=models.Distance.COSINE)
                    },
                    sparse_vectors_config={WORDS: models.SparseVectorParams(modifier=models.Modifier.IDF)},
                    shard_number=settings.shard_number,
                    replication_factor=settings.replication_factor,
                    write_consistency_factor=settings.write_consistency_factor,
                    timeout=self._connection.timeout,
                )
            )
        except Unavailable:
            # The connection may have broken after it was made: then the next try is refused. The name is random.
            if not self._connection.ask(lambda client: client.collection_exists(name)):
                raise

    def _create_index(
        self, name: str, field: str, schema: models.KeywordIndexParams | models.DatetimeIndexParams
    ) -> None:
        self._connection.write(
            lambda client: client.create_payload_index(
                name, field, field_schema=schema, wait=True, timeout=self._connection.timeout
            )
        )

    def _describe(self, collection: Collection) -> None:
        name, timeout = collection.name, self._connection.timeout
        described = _Described(
            id=collection.id, label=collection.label, retired=collection.retired, witness=collection.witness
        )
        metadata = {_KEY: described.model_dump(mode="json")}
        self._connection.ask(lambda client: client.update_collection(name, metadata=metadata, timeout=timeout))

    def _delete(self, name: str) -> None:
        timeout = self._connection.deletion_timeout
        self._connection.ask(lambda client: client.delete_collection(name, timeout=timeout))


def _alias_of(forge_name: str) -> str:
    """An alias made of the forge's name; names that only look alike stay apart by a hash."""
    plain = re.sub(r"[^A-Za-z0-9-]+", "-", forge_name)[:60]
    return f"huginn_{plain}" if plain == forge_name else f"huginn_{plain}-{_hash(forge_name)}"


def _require_fit(name: str, label: Label, info: models.CollectionInfo) -> None:
    """Refuse a collection whose vectors or payload indexes are not those that Huginn makes."""
    params, size = info.config.params, label.dimensions
    vectors = params.vectors if isinstance(params.vectors, dict) else {}
    words = (params.sparse_vectors or {}).get(WORDS)
    meaning = vectors.get(MEANING)
    if meaning is None or (meaning.size, meaning.distance) != (size, models.Distance.COSINE):
        raise _strange(name, f"it has no vectors {MEANING!r} of {size} dimensions compared by cosine")
    if words is None or words.modifier is not models.Modifier.IDF:
        raise _strange(name, f"it has no sparse vectors {WORDS!r} with the modifier idf")
    for field, wanted in INDEXES.items():
        there = info.payload_schema.get(field)
        if there is None or there.data_type.value != wanted.type.value:
            raise _strange(name, f"its field {field!r} has no index of the type {wanted.type.value}")
        if (
            isinstance(wanted, models.KeywordIndexParams)
            and wanted.prefix
            and not getattr(there.params, "prefix", None)
        ):
            raise _strange(name, f"its index of {field!r} is not one for prefixes (Qdrant {_OLDEST} has it)")


def _strange(name: str, reason: str) -> Refused:
    return Refused(
        "index",
        f"the collection {name}: {reason}",
        next_step="delete it on the server and run 'huginn refresh': the index is built anew",
    )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
