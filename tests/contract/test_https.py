"""Over real https: who gets the token, and what is said when a remote does not let us in."""

from __future__ import annotations

import base64
import functools
import http.server
import shutil
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from huginn.errors import Unavailable
from huginn.forge.address import check_address
from huginn.forge.mirror import Mirror
from tests.support.git import Repository
from tests.support.tls import make_certificate

TOKEN = "not-a-real-token"

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")


class Forge:
    """A server that hands out the files of `folder`, asks for the token below /private, and redirects /moved."""

    def __init__(self, folder: Path, context: ssl.SSLContext) -> None:
        self.headers: list[tuple[str, str]] = []
        handler = functools.partial(_Handler, self, directory=str(folder))
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.elsewhere = self.url("localhost")

    def url(self, host: str = "127.0.0.1") -> str:
        return f"https://{host}:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, forge: Forge, *arguments: object, directory: str) -> None:
        self._forge = forge
        super().__init__(*arguments, directory=directory)  # type: ignore[arg-type] # typed as text, takes any path

    def do_GET(self) -> None:
        given = self.headers.get("Authorization", "")
        self._forge.headers.append((self.headers["Host"], given))
        if self.path.startswith("/moved/"):
            self.send_response(301)
            self.send_header("Location", self._forge.elsewhere + self.path.replace("/moved/", "/open/"))
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif (
            self.path.startswith("/private/") and given != "Basic " + base64.b64encode(f"git:{TOKEN}".encode()).decode()
        ):
            self.send_response(401)
            self.send_header("WWW-Authenticate", "Basic")
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def forge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Forge]:
    certificate, context = make_certificate(tmp_path)
    monkeypatch.setenv("GIT_SSL_CAINFO", str(certificate))
    for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    for place in ("open", "private"):
        remote = Repository(tmp_path / "www" / place / "repo.git")
        remote.commit({"a": place})
        remote.git("update-server-info")
    forge = Forge(tmp_path / "www", context)
    yield forge
    forge.close()


def mirror_of(url: str, tmp_path: Path, token: str | None = None) -> Mirror:
    return Mirror(tmp_path / "m.git", check_address(url, base=tmp_path), branch=None, token=token, timeout=30)


def fetched(mirror: Mirror) -> bytes:
    tip = mirror.tip()
    assert tip is not None
    assert tip.branch == "main"
    (entry,) = mirror.tree(mirror.fetch(tip))
    with mirror.blobs() as read:
        return read(entry.blob)


def test_an_open_repository_needs_no_token(forge: Forge, tmp_path: Path) -> None:
    assert fetched(mirror_of(f"{forge.url()}/open/repo.git", tmp_path)) == b"open"
    assert {given for _, given in forge.headers} == {""}


def test_a_private_repository_opens_with_the_token_which_stays_out_of_the_mirror(forge: Forge, tmp_path: Path) -> None:
    assert fetched(mirror_of(f"{forge.url()}/private/repo.git", tmp_path, TOKEN)) == b"private"
    encoded = base64.b64encode(f"git:{TOKEN}".encode())
    kept = [path.read_bytes() for path in (tmp_path / "m.git").rglob("*") if path.is_file()]
    assert not any(TOKEN.encode() in content or encoded in content for content in kept)


@pytest.mark.parametrize("token", [None, "wrong"])
def test_a_closed_door_is_told_and_nobody_is_asked_for_a_password(
    forge: Forge, tmp_path: Path, token: str | None
) -> None:
    with pytest.raises(Unavailable, match="does not let us in"):
        mirror_of(f"{forge.url()}/private/repo.git", tmp_path, token).tip()


def test_a_token_never_follows_a_redirect(forge: Forge, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="moved"):
        mirror_of(f"{forge.url()}/moved/repo.git", tmp_path, TOKEN).tip()
    assert all(host.startswith("127.0.0.1:") for host, _ in forge.headers)


def test_without_a_token_a_moved_repository_is_found(forge: Forge, tmp_path: Path) -> None:
    assert fetched(mirror_of(f"{forge.url()}/moved/repo.git", tmp_path)) == b"open"


def test_an_unknown_certificate_is_not_accepted(forge: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GIT_SSL_CAINFO")
    monkeypatch.setenv("GIT_SSL_NO_VERIFY", "1")
    with pytest.raises(Unavailable, match="certificate"):
        mirror_of(f"{forge.url()}/open/repo.git", tmp_path).tip()


def test_a_folder_without_a_repository_is_told(forge: Forge, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="there is no repository"):
        mirror_of(f"{forge.url()}/nothing/repo.git", tmp_path).tip()
