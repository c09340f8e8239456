"""A forge's interface over real HTTP: pages of repositories of one owner, and faults that can be switched on."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


class ForgeServer:
    """Lists `repositories` at `path`, `size` to a page. `fault` is asked before each answer, with the page's number: it
    may give status, headers and a body instead, or change the repositories.
    """

    def __init__(self, path: str = "/api/v1/orgs/birds/repos", *, size: int = 2) -> None:
        self.path, self.size = path, size
        self.repositories: list[dict[str, Any]] = []
        self.fault: Callable[[int], tuple[int, Mapping[str, str], bytes] | None] = lambda page: None
        self.tokens: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"forge": self}))
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, page: int) -> tuple[int, Mapping[str, str], bytes]:
        if path != self.path:
            return 404, {}, b"{}"
        if (wrong := self.fault(page)) is not None:
            return wrong
        begin = (page - 1) * self.size
        is_last = begin + self.size >= len(self.repositories)
        headers = {} if is_last else {"Link": f'<{self.url}{path}?page={page + 1}>; rel="next"'}
        return 200, headers, json.dumps(self.repositories[begin : begin + self.size]).encode()


class _Handler(BaseHTTPRequestHandler):
    forge: ForgeServer

    def do_GET(self) -> None:
        self.forge.tokens.append(self.headers.get("Authorization", ""))
        parts = urlsplit(self.path)
        status, headers, body = self.forge.answer(parts.path, int(parse_qs(parts.query).get("page", ["1"])[0]))
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing."""
