"""Opening the index on a Qdrant server: for a refresh (made if there is none), for a search, and for `doctor`."""

from __future__ import annotations

from dataclasses import dataclass

from huginn.errors import Unavailable
from huginn.index import noted
from huginn.index.label import Label
from huginn.index.server import ServerIndex
from huginn.index.server_collection import Collection, alias_of, in_use, make, version, what_to_do
from huginn.index.server_connection import Connection, connect
from huginn.index.server_retry import REFRESHING, SEARCHING
from huginn.settings import Settings


@dataclass(frozen=True)
class Examined:
    """What a server says of itself: its version, and the collection in use, if there is one."""

    version: str
    alias: str
    collection: Collection | None


def open_on_server_for_refresh(settings: Settings, label: Label) -> ServerIndex:
    """The index, made if there is none. Only under the writer's lock."""
    connection = connect(settings.index, REFRESHING)
    try:
        alias = alias_of(settings.index, settings.forge.name)
        collection = in_use(connection, alias)
        if collection is None:
            collection = make(connection, alias, label, settings.index)
        collection.label.require(label, next_step=what_to_do(collection.name))
        noted.note(settings, collection.id, collection.label)
    except BaseException:
        connection.close()
        raise
    return ServerIndex(connection, collection)


def open_on_server_for_search(settings: Settings, label: Label | None) -> ServerIndex:
    """The index, for reading. Raises `Unavailable` when there is none."""
    connection = connect(settings.index, SEARCHING)
    try:
        collection = _existing(connection, settings)
        if label is not None:
            collection.label.require(label, next_step=what_to_do(collection.name))
    except BaseException:
        connection.close()
        raise
    return ServerIndex(connection, collection)


def examine(settings: Settings) -> Examined:
    """Whether the server answers, and with what. Writes nothing. Raises `Unavailable` or `Refused`."""
    connection = connect(settings.index, SEARCHING)
    try:
        alias = alias_of(settings.index, settings.forge.name)
        return Examined(version(connection), alias, in_use(connection, alias))
    finally:
        connection.close()


def _existing(connection: Connection, settings: Settings) -> Collection:
    collection = in_use(connection, alias_of(settings.index, settings.forge.name))
    if collection is None:
        raise Unavailable("index", f"there is none yet on {connection.shown}", next_step="run 'huginn refresh'")
    return collection
