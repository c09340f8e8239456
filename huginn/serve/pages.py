"""The pages: search, a window of messages, status, login; made here whole, without scripts."""

from __future__ import annotations

import os
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fastapi import APIRouter, Request
from jinja2 import Environment, PackageLoader
from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse, Response

from huginn.chat.scope import Rules
from huginn.cli import duration
from huginn.cli.status import counts_of, state_of
from huginn.errors import HuginnError, document
from huginn.harmless import harmless_line
from huginn.search import By, Mode
from huginn.serve.access import ALL, COOKIE, Caller, NotKnown
from huginn.serve.answers import code_of, headers_of
from huginn.serve.api import What, Who
from huginn.serve.asking import Asking
from huginn.serve.questions import filled_in, number_of, query_of
from huginn.serve.shown import counted, groups_of, said, window_of

_AROUND = 10  # messages before and after
_DAYS_OF_COOKIE = 30
_LIST_FIELDS = ("texts", "repos", "paths", "rooms", "senders", "corpora")

router = APIRouter()


def _finished(value: object) -> object:
    """Whatever a template prints: what is not made to be HTML is one harmless line, and escaped afterwards."""
    return value if isinstance(value, Markup) else harmless_line(str(value))


_environment = Environment(
    loader=PackageLoader("huginn.serve"), autoescape=True, finalize=_finished, trim_blocks=True, lstrip_blocks=True
)
_environment.globals |= {"counted": counted, "window_of": window_of, "state_of": state_of, "ago": duration.shown}


@router.get("/")
def search_page(request: Request, caller: Who, asking: What) -> Response:
    """The search page: a form, and below it the answer to what the address asks."""
    parameters = filled_in(request.query_params)
    asked = {name: parameters.getlist(name) if name in _LIST_FIELDS else parameters[name] for name in parameters}
    told: dict[str, Any] = {
        "asked": asked,
        "sources": _sources(caller, asking),
        "modes": list(Mode),
        "ways": list(By),
        "corpora": caller.corpora,
    }
    if "texts" not in parameters and "brief" not in parameters:
        return _page(request, "search.html", told)
    try:
        result = asking.search(caller.within(query_of(parameters)))
    except HuginnError as error:
        return _page(request, "search.html", {**told, "problem": document(error)["error"]}, error)
    missing = [exact.name for exact in result.exact if not exact.found]
    return _page(request, "search.html", {**told, "result": result, "groups": groups_of(result), "missing": missing})


@router.get("/chat/{event_id:path}")
def window_page(event_id: str, request: Request, caller: Who, asking: What) -> Response:
    """A message among its neighbours."""
    caller.require("chat")
    before, after = (number_of(request.query_params, name, _AROUND) for name in ("before", "after"))
    window = asking.show_window(event_id, before, after)
    messages = [said(message, frozenset(), event_id) for message in window.messages]
    return _page(request, "window.html", {"window": window, "messages": messages})


@router.get("/status")
def status_page(request: Request, caller: Who, asking: What) -> Response:
    """How each source stands, what is left out and why, and the last runs."""
    report = caller.status(asking.status())
    prefect = os.environ.get("PREFECT_UI_URL", "").rstrip("/")
    told = {
        "report": report,
        "counts": counts_of(report),
        "runs": [run for run in asking.last_runs() if caller.sees(run.flow)],
        "prefect": prefect if urlsplit(prefect).scheme in ("http", "https") else None,
    }
    return _page(request, "status.html", told)


@router.get("/login")
def login_page(request: Request) -> Response:
    """A form for a token."""
    return _login(request, request.query_params.get("next", "/"))


@router.post("/login")
async def login(request: Request) -> Response:
    """Keep a token that is known in a cookie that no script reads and no other site sends."""
    fields = parse_qs((await request.body()).decode("utf-8", "replace"))
    secret, onward = (fields.get(name, [""])[0] for name in ("token", "next"))
    try:
        request.app.state.door.check(request, secret.strip())
    except NotKnown:
        return _login(request, onward, is_wrong=True)
    answer = RedirectResponse(_local(onward), HTTPStatus.SEE_OTHER)
    age, is_secure = _DAYS_OF_COOKIE * 86_400, request.url.scheme == "https"
    answer.set_cookie(COOKIE, secret.strip(), max_age=age, httponly=True, samesite="strict", secure=is_secure)
    return answer


@router.post("/logout")
def logout() -> Response:
    """Forget the token."""
    answer = RedirectResponse("/login", HTTPStatus.SEE_OTHER)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


def error_page(request: Request, error: HuginnError) -> Response:
    """What is wrong and what to do; whoever is not known is asked for a token."""
    if isinstance(error, NotKnown):
        here = f"{request.url.path}?{request.url.query}".rstrip("?")
        return _login(request, here, is_wrong="authorization" in request.headers)
    return _page(request, "error.html", {"problem": document(error)["error"]}, error)


def _login(request: Request, onward: str, *, is_wrong: bool = False) -> Response:
    answer = _page(request, "login.html", {"onward": _local(onward), "is_wrong": is_wrong}, NotKnown())
    del answer.headers["www-authenticate"]  # the form asks, not the browser
    return answer


def _local(address: str) -> str:
    """An address of ours, or the search page for any other."""
    return address if address.startswith("/") and not address.startswith(("//", "/\\")) else "/"


def _sources(caller: Caller, asking: Asking) -> dict[str, list[tuple[str, str]]]:
    """What there is to choose from in the filters: the name and what is shown of it, by corpus."""
    report, chat = asking.known(), asking.current().chat
    rules = Rules(chat.user, chat.exclude) if chat else None
    found: dict[str, list[tuple[str, str]]] = {corpus: [] for corpus in ALL}
    for source in caller.status(report).sources if report else ():
        is_refused = rules is not None and (source.source in rules.exclude or rules.excludes(source.name or ""))
        if not source.out_of_scope and not is_refused and source.points:
            found[source.corpus].append((source.source, source.name or source.source))
    return found


def _page(request: Request, template: str, told: dict[str, Any], error: HuginnError | None = None) -> Response:
    door = request.app.state.door
    body = _environment.get_template(template).render(**told, has_token=not door.is_open(), path=request.url.path)
    return HTMLResponse(body, HTTPStatus.OK if error is None else code_of(error), headers_of(error) if error else None)
