"""Questions, read from an address: the parameters are the fields of the models, by their names.

In: the parameters of an address. Out: `Query` and `ListQuery`, or `Refused` naming the field.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from pydantic import BaseModel
from starlette.datastructures import ImmutableMultiDict

from huginn.cli import moment
from huginn.errors import Refused
from huginn.search import ListQuery, Query

Asked = TypeVar("Asked", bound=BaseModel)
Parameters = ImmutableMultiDict[str, str]

_TIMES = ("after", "before")


def query_of(parameters: Parameters, **defaults: object) -> Query:
    """The search that these parameters ask for."""
    return _read(Query, parameters, defaults)


def list_query_of(parameters: Parameters, **defaults: object) -> ListQuery:
    """The listing that these parameters ask for."""
    return _read(ListQuery, parameters, defaults)


def number_of(parameters: Parameters, name: str, default: int) -> int:
    """A whole number."""
    text = parameters.get(name, "")
    try:
        return int(text) if text else default
    except ValueError:
        raise Refused(name, "is no whole number", next_step="give it in digits") from None


def filled_in(parameters: Parameters) -> Parameters:
    """Without what a form sends of fields that nobody filled in."""
    return ImmutableMultiDict([(name, value) for name, value in parameters.multi_items() if value.strip()])


def require_known(parameters: Parameters, names: Iterable[str]) -> None:
    """Refuse a parameter that nobody knows: a filter that is misspelt would leave everything in."""
    for name in parameters:
        if name not in names:
            raise Refused(name[:40], "there is no such parameter", next_step=f"there are: {', '.join(names)}")


def described(model: type[BaseModel]) -> list[dict[str, Any]]:
    """The fields of a question as parameters of an address, for the OpenAPI document."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    return [
        {"name": name, "in": "query", "required": False, "schema": _inlined(field, schema.get("$defs", {}))}
        for name, field in schema["properties"].items()
    ]


def _read(model: type[Asked], parameters: Parameters, defaults: dict[str, object]) -> Asked:
    require_known(parameters, model.model_fields)
    values: dict[str, object] = dict(defaults)
    for name in parameters:
        annotation = str(model.model_fields[name].annotation)
        values[name] = tuple(parameters.getlist(name)) if "tuple" in annotation else parameters[name]
    for name in _TIMES:
        if name in values:
            values[name] = _moment(name, str(values[name]))
    return model(**values)


def _moment(name: str, text: str) -> object:
    found = moment.parsed(text)
    if found is None:
        step = "write it like 2026-03-04, 2026-03-04T05:06:07Z or 2026-03-04T05:06:07+02:00"
        raise Refused(name, "is no time", next_step=step)
    return found


def _inlined(field: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """A field's schema without references, and without null: in an address what is None is left out."""
    if "$ref" in field:
        return {**definitions[field["$ref"].rpartition("/")[2]], "default": field.get("default")}
    if "anyOf" in field:
        [schema] = [option for option in field["anyOf"] if option.get("type") != "null"]
        return dict(schema)
    return field
