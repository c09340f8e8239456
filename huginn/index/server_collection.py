"""The collections on a Qdrant server: their names, what is stored about them, how they are made and put into use.

A collection is called `<alias>_<hash of its label>_<random id>`; the random id and the label are in its metadata,
written last, so that a collection without them is half-made. The alias points to the one in use, and is moved in one
step. Collections that other programs or other aliases own are never touched.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError
from qdrant_client.http import models

from huginn.errors import Refused, Unavailable
from huginn.index.convert import MEANING, WORDS
from huginn.index.label import Label
from huginn.index.server_connection import Connection
from huginn.index.server_convert import INDEXES
from huginn.index.settings import IndexSettings

_KEY = "huginn"
_OLDEST = "1.19"  # metadata of collections, and keyword indexes that answer for prefixes


@dataclass(frozen=True)
class Collection:
    """A collection on the server: its name there, its random id, its label."""

    name: str
    id: str
    label: Label


class _Described(BaseModel):
    """What is stored with a collection, under one key of its metadata."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    label: Label


def alias_of(settings: IndexSettings, forge_name: str) -> str:
    """The alias of the settings, else one made of the forge's name; names that only look alike stay apart by a hash."""
    if settings.alias is not None:
        return settings.alias
    plain = re.sub(r"[^A-Za-z0-9-]+", "-", forge_name)[:60]
    return f"huginn_{plain}" if plain == forge_name else f"huginn_{plain}-{_hash(forge_name)}"


def in_use(connection: Connection, alias: str) -> Collection | None:
    """The collection that the alias points to; None if there is none. Refuses one that is not as Huginn makes them."""
    name = _target(connection, alias)
    if name is None:
        return None
    info = connection.ask(lambda client: client.get_collection(name))
    collection = _described(name, info)
    if collection is None:
        raise _strange(name, f"the alias {alias} points to it, but it has no label")
    _require_fit(collection, info)
    return collection


def make(connection: Connection, alias: str, label: Label, settings: IndexSettings) -> Collection:
    """A collection with this label, put into use: the one a run made before it was cut off, else a new one.

    Half-made ones of this alias are swept away. Only under the writer's lock.
    """
    complete = _sweep(connection, alias)
    fitting = [collection for collection in complete if collection.label == label]
    collection = fitting[0] if fitting else _create(connection, alias, label, settings)
    _point(connection, alias, collection.name)
    return collection


def version(connection: Connection) -> str:
    """The server's version, as it says itself."""
    return connection.ask(lambda client: client.info()).version


def _target(connection: Connection, alias: str) -> str | None:
    aliases = connection.ask(lambda client: client.get_aliases()).aliases
    return next((entry.collection_name for entry in aliases if entry.alias_name == alias), None)


def _point(connection: Connection, alias: str, name: str) -> None:
    changes: list[models.AliasOperations] = []
    if _target(connection, alias) is not None:
        changes.append(models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias)))
    create = models.CreateAlias(collection_name=name, alias_name=alias)
    changes.append(models.CreateAliasOperation(create_alias=create))
    connection.ask(lambda client: client.update_collection_aliases(changes, timeout=connection.timeout))


def _sweep(connection: Connection, alias: str) -> list[Collection]:
    """Delete what was left half-made; give what is complete, in order of name."""
    ours = re.compile(re.escape(alias) + r"_[0-9a-f]{8}_[0-9a-f]{32}")
    collections = connection.ask(lambda client: client.get_collections()).collections
    complete = []
    for name in sorted(entry.name for entry in collections if ours.fullmatch(entry.name)):
        info = _info(connection, name)
        collection = _described(name, info)
        if collection is None:
            _delete(connection, name)
        else:
            _require_fit(collection, info)
            complete.append(collection)
    return complete


def _create(connection: Connection, alias: str, label: Label, settings: IndexSettings) -> Collection:
    random_id = uuid.uuid4().hex
    name = f"{alias}_{_hash(label.model_dump_json())}_{random_id}"
    _create_empty(connection, name, label, settings)
    for field, schema in INDEXES.items():
        _create_index(connection, name, field, schema)
    metadata = {_KEY: _Described(id=random_id, label=label).model_dump(mode="json")}
    connection.ask(lambda client: client.update_collection(name, metadata=metadata, timeout=connection.timeout))
    info = _info(connection, name)
    collection = _described(name, info)
    if collection is None:
        raise Refused(
            "index.url",
            f"the server at {connection.shown} keeps no metadata of collections: it is Qdrant {version(connection)}",
            next_step=f"use Qdrant {_OLDEST} or newer",
        )
    _require_fit(collection, info)
    return collection


def _create_empty(connection: Connection, name: str, label: Label, settings: IndexSettings) -> None:
    try:
        connection.ask(
            lambda client: client.create_collection(
                name,
                vectors_config={MEANING: models.VectorParams(size=label.dimensions, distance=models.Distance.COSINE)},
                sparse_vectors_config={WORDS: models.SparseVectorParams(modifier=models.Modifier.IDF)},
                shard_number=settings.shard_number,
                replication_factor=settings.replication_factor,
                write_consistency_factor=settings.write_consistency_factor,
                timeout=connection.timeout,
            )
        )
    except Unavailable:
        # A connection that broke after the server had made it: the second attempt is refused, and the name is random.
        if not connection.ask(lambda client: client.collection_exists(name)):
            raise


def _create_index(
    connection: Connection, name: str, field: str, schema: models.KeywordIndexParams | models.DatetimeIndexParams
) -> None:
    connection.write(
        lambda client: client.create_payload_index(
            name, field, field_schema=schema, wait=True, timeout=connection.timeout
        )
    )


def _info(connection: Connection, name: str) -> models.CollectionInfo:
    return connection.ask(lambda client: client.get_collection(name))


def _delete(connection: Connection, name: str) -> None:
    connection.ask(lambda client: client.delete_collection(name, timeout=connection.deletion_timeout))


def _described(name: str, info: models.CollectionInfo) -> Collection | None:
    """What the collection says of itself; None if it says nothing."""
    described = (info.config.metadata or {}).get(_KEY)
    if described is None:
        return None
    try:
        known = _Described.model_validate(described)
    except ValidationError:
        raise _strange(name, "its label is damaged") from None
    return Collection(name, known.id, known.label)


def _require_fit(collection: Collection, info: models.CollectionInfo) -> None:
    """Refuse a collection whose vectors or payload indexes are not those that Huginn makes."""
    params, size = info.config.params, collection.label.dimensions
    vectors = params.vectors if isinstance(params.vectors, dict) else {}
    words = (params.sparse_vectors or {}).get(WORDS)
    meaning = vectors.get(MEANING)
    if meaning is None or (meaning.size, meaning.distance) != (size, models.Distance.COSINE):
        raise _strange(collection.name, f"it has no vectors {MEANING!r} of {size} dimensions compared by cosine")
    if words is None or words.modifier is not models.Modifier.IDF:
        raise _strange(collection.name, f"it has no sparse vectors {WORDS!r} with the modifier idf")
    for field, wanted in INDEXES.items():
        there = info.payload_schema.get(field)
        if there is None or there.data_type.value != wanted.type.value:
            raise _strange(collection.name, f"its field {field!r} has no index of the type {wanted.type.value}")
        if (
            isinstance(wanted, models.KeywordIndexParams)
            and wanted.prefix
            and not getattr(there.params, "prefix", None)
        ):
            raise _strange(collection.name, f"its index of {field!r} is not one for prefixes (Qdrant {_OLDEST} has it)")


def _strange(name: str, reason: str) -> Refused:
    return Refused("index", f"the collection {name}: {reason}", next_step=what_to_do(name))


def what_to_do(name: str) -> str:
    """The next step for a collection that cannot be used."""
    return f"delete the collection {name} on the server and run 'huginn refresh': the index is built anew"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
