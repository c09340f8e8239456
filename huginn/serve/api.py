"""`/api`: the documents of the command line, over HTTP."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Depends, Request
from pydantic import BaseModel
from starlette.responses import PlainTextResponse

from huginn.cli import duration
from huginn.errors import Refused
from huginn.report import StatusReport
from huginn.search import Listing, ListQuery, MessageWindow, Query, SearchResult
from huginn.serve.access import Caller
from huginn.serve.answers import ERRORS, JsonDocument
from huginn.serve.asking import Asking
from huginn.serve.metrics import seen_by
from huginn.serve.questions import described, list_query_of, number_of, query_of, require_known

_WINDOW = 5  # messages before and after
_NUMBER = {"type": "integer", "minimum": 0, "maximum": 1000, "default": _WINDOW}


async def caller_of(request: Request) -> Caller:
    """Who asks; whoever is not let in gets no further. Judged on arrival, not when a thread is free."""
    caller: Caller = request.app.state.door.caller(request)
    return caller


def asking_of(request: Request) -> Asking:
    """What is asked."""
    asking: Asking = request.app.state.asking
    return asking


Who = Annotated[Caller, Depends(caller_of)]
What = Annotated[Asking, Depends(asking_of)]

router = APIRouter(responses=ERRORS)


def _parameters(*parameters: dict[str, Any]) -> dict[str, Any]:
    return {"parameters": list(parameters)}


@router.get("/api/search", response_model=SearchResult, openapi_extra=_parameters(*described(Query)))
def search(request: Request, caller: Who, asking: What) -> JsonDocument:
    """Search: 1 to 8 texts, or a brief, with filters. The parameters are those of `huginn search`."""
    return JsonDocument(asking.search(caller.within(query_of(request.query_params))))


@router.post("/api/search", response_model=SearchResult)
def search_with_body(query: Annotated[Query, Body()], caller: Who, asking: What) -> JsonDocument:
    """The same, with the question in the body: for long briefs, and where addresses are logged on the way."""
    return JsonDocument(asking.search(caller.within(query)))


@router.get(
    "/api/chat/search",
    response_model=SearchResult | Listing,
    openapi_extra=_parameters(
        {"name": "texts", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
        *described(ListQuery),
    ),
)
def chat_search(request: Request, caller: Who, asking: What) -> JsonDocument:
    """With texts, search the rooms; without, list messages, oldest first, page by page."""
    caller.require("chat")
    parameters = request.query_params
    if "texts" not in parameters:
        return JsonDocument(asking.list_messages(list_query_of(parameters)))
    if "cursor" in parameters:
        raise Refused("cursor", "a search has no pages", next_step="leave out the texts, or the cursor")
    require_known(parameters, ("texts", *ListQuery.model_fields))
    return JsonDocument(asking.search(query_of(parameters, corpora=("chat",))))


@router.get(
    "/api/chat/window/{event_id:path}",
    response_model=MessageWindow,
    openapi_extra=_parameters(*({"name": name, "in": "query", "schema": _NUMBER} for name in ("before", "after"))),
)
def chat_window(event_id: str, request: Request, caller: Who, asking: What) -> JsonDocument:
    """A message among its neighbours."""
    caller.require("chat")
    require_known(request.query_params, ("before", "after"))
    before, after = (number_of(request.query_params, name, _WINDOW) for name in ("before", "after"))
    return JsonDocument(asking.show_window(event_id, before, after))


@router.get(
    "/api/status",
    response_model=StatusReport,
    openapi_extra=_parameters({"name": "max_age", "in": "query", "schema": {"type": "string", "examples": ["2h"]}}),
)
def status(request: Request, caller: Who, asking: What) -> JsonDocument:
    """How each source stands. `max_age` (90s, 15m, 2h, 3d): older than that is stale."""
    require_known(request.query_params, ("max_age",))
    text = request.query_params.get("max_age")
    age = None if text is None else duration.parsed(text)
    if text is not None and age is None:
        raise Refused("max_age", "is no duration", next_step="write it like 90s, 15m, 2h, 3d or 1h30m")
    return JsonDocument(caller.status(asking.status(age)))


@router.get("/metrics", response_class=PlainTextResponse)
def scrape(caller: Who, asking: What) -> PlainTextResponse:
    """Metrics in the text format of Prometheus; of what the token does not reach there are none."""
    told = seen_by(caller, asking.metrics())
    return PlainTextResponse(told, media_type="text/plain; version=0.0.4")


@router.get("/api/openapi.json", include_in_schema=False)
def openapi(request: Request, _: Who) -> JsonDocument:
    """The document that describes all of this."""
    return JsonDocument(request.app.openapi())


class Health(BaseModel):
    """That the server is there."""

    status: Literal["ok"] = "ok"


@router.get("/healthz", response_model=Health)
def health() -> JsonDocument:
    """Whether the server is there. Nothing else is told, and no token is needed."""
    return JsonDocument(Health())
