"""Holds every request and answer of the stand-in server against the client's models and the published interface.

The published interface (the OpenAPI document of Qdrant) is found through HUGINN_TEST_QDRANT_INTERFACE, or beside the
checkout in `../shared/data`; without it the client's own models alone are the measure.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from pydantic import TypeAdapter

_LONGEST_LIST = 4  # of long lists only the beginning is held against the document: the models look at all of it


def interface_file() -> Path | None:
    """The published interface, if it is at hand."""
    named = os.environ.get("HUGINN_TEST_QDRANT_INTERFACE")
    if named:
        return Path(named)
    found = sorted((Path(__file__).parents[3] / "shared" / "data").glob("qdrant-openapi-*.json"))
    return found[-1] if found else None


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def parsed(kind: Any, body: bytes) -> Any:
    """The body of a request as the client's own model has it; raises ValueError."""
    return adapter(kind).validate_json(body)


def answered(kind: Any, result: Any) -> Any:
    """A result as it goes over the wire, held against the client's own model."""
    document = adapter(kind).dump_python(result, mode="json", exclude_none=True)
    adapter(kind).validate_json(json.dumps(document))
    return document


class Interface:
    """The published interface; every check is passed when there is none."""

    def __init__(self) -> None:
        path = interface_file()
        self._document = _with_null(json.loads(path.read_bytes())) if path else None
        self.is_there = self._document is not None
        self._validators: dict[tuple[str, ...], Draft202012Validator] = {}

    def check_request(self, method: str, path: str, parameters: set[str], body: bytes) -> None:
        """Raise ValueError unless the interface has such a request."""
        if self._document is None:
            return
        operation = self._document["paths"][path][method.lower()]
        unknown = parameters - {parameter["name"] for parameter in operation.get("parameters", ())}
        if unknown:
            raise ValueError(f"unknown query parameters {sorted(unknown)}")
        if body:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            self._check((method, path, "request"), schema, json.loads(body))

    def check_answer(self, method: str, path: str, status: int, document: Any) -> None:
        """Raise ValueError unless the interface has such an answer."""
        if self._document is None:
            return
        responses = self._document["paths"][path][method.lower()]["responses"]
        response = responses.get(str(status)) or responses.get("4XX", {"content": {}})
        content = response["content"].get("application/json")
        if content:
            self._check((method, path, str(status)), content["schema"], document)

    def _check(self, key: tuple[str, ...], schema: Any, document: Any) -> None:
        assert self._document is not None
        if key not in self._validators:
            whole = {**schema, "components": self._document["components"]}
            self._validators[key] = Draft202012Validator(whole)
        try:
            self._validators[key].validate(_beginning(document))
        except ValidationError as error:
            raise ValueError(f"{' '.join(key)}: {error.message[:300]}") from None


def _with_null(node: Any) -> Any:
    """OpenAPI's `nullable` in the words of JSON schema."""
    if isinstance(node, list):
        return [_with_null(item) for item in node]
    if not isinstance(node, dict):
        return node
    changed = {key: _with_null(value) for key, value in node.items() if key != "nullable"}
    if node.get("nullable") is True:
        if not changed:
            return {"type": "null"}
        if isinstance(changed.get("type"), str):
            changed["type"] = [changed["type"], "null"]
    return changed


def _beginning(node: Any) -> Any:
    if isinstance(node, list):
        return [_beginning(item) for item in node[:_LONGEST_LIST]]
    if isinstance(node, dict):
        return {key: _beginning(value) for key, value in node.items()}
    return node
