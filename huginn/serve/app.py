"""The application: what is served where, and what becomes of an error."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path

from anyio import to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from huginn import __version__
from huginn.errors import HuginnError, Refused
from huginn.serve import api, pages
from huginn.serve.access import Door
from huginn.serve.answers import as_json
from huginn.serve.asking import Asking
from huginn.serve.shield import Shield

PER_SECOND = 100.0
_THREADS = 8  # the index is asked by one at a time; more only get into each other's way
_FOR_PROGRAMS = ("/api/", "/metrics", "/healthz")


def make_app(
    config: Path | None = None,
    *,
    names: Collection[str] = (),
    is_loopback: bool = True,
    per_second: float = PER_SECOND,
) -> ASGIApp:
    """What a server runs. `config` is the settings file; None: the one that the command line takes.

    `names`: hosts that it is known by.

    `is_loopback`: only this host reaches it, so that it may be open without tokens. `per_second`: requests that a token
    or an address may make.
    """
    asking = Asking(config)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = _THREADS
        threading.Thread(target=asking.warm_up, daemon=True).start()
        yield
        asking.close()

    app = FastAPI(
        title="Huginn",
        version=__version__,
        description="One searchable index of git repositories and Matrix rooms.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.asking = asking
    app.state.door = Door(asking.current, needs_token=not is_loopback, per_second=per_second)
    app.include_router(api.router)
    app.include_router(pages.router, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"))
    app.add_exception_handler(HuginnError, _told)
    app.add_exception_handler(RequestValidationError, _not_read)
    app.add_exception_handler(HTTPException, _not_served)
    return Shield(app, names, is_loopback=is_loopback)


async def _told(request: Request, error: Exception) -> Response:
    """An error that a person is meant to read, as a document or a page."""
    assert isinstance(error, HuginnError)
    if request.url.path.startswith(_FOR_PROGRAMS):
        return as_json(error)
    return pages.error_page(request, error)


async def _not_read(request: Request, error: Exception) -> Response:
    """A body that is no question; its values are not repeated."""
    assert isinstance(error, RequestValidationError)
    problem = error.errors()[0]
    field = ".".join(str(part) for part in problem["loc"][1:]) or "body"
    return await _told(request, Refused(field, str(problem["msg"]).lower(), next_step="see /api/openapi.json"))


async def _not_served(request: Request, error: Exception) -> Response:
    """An address or a method that there is not."""
    assert isinstance(error, HTTPException)
    refused = Refused("address", HTTPStatus(error.status_code).phrase.lower(), next_step="begin at /")
    answer = await _told(request, refused)
    answer.status_code = error.status_code
    answer.headers.update(error.headers or {})
    return answer
