"""A real Synapse for the tests: one process on loopback, SQLite in memory where the host can, nothing sent out."""

from __future__ import annotations

import base64
import json
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from deployments.processes import running
from deployments.stack import free_port
from tests.support.synapse import APPSERVICE, DOMAIN, Synapse

_PATIENCE = 90.0
_UNLIMITED = {"per_second": 100_000, "burst_count": 100_000}


@contextmanager
def running_synapse(folder: Path) -> Iterator[Synapse]:
    """Start a Synapse, and end it with the context; its log stays in `folder`."""
    fast = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else folder
    home = Path(tempfile.mkdtemp(prefix="huginn-synapse-", dir=fast))
    port = free_port(preferred=0)
    url = f"http://127.0.0.1:{port}"
    secret = secrets.token_hex()
    command = [sys.executable, "-m", "synapse.app.homeserver", "--config-path", str(_configure(home, port, secret))]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    limits = httpx.Limits(max_keepalive_connections=16)
    try:
        with (
            running("Synapse", command, environment, folder / "synapse.log") as process,
            httpx.Client(base_url=url, timeout=60, limits=limits, trust_env=False) as http,
        ):
            process.wait_until(lambda: _is_up(http), _PATIENCE)
            yield Synapse(url, home / "homeserver.db", secret, http)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _configure(home: Path, port: int, secret: str) -> Path:
    """Write its settings and key. JSON is YAML."""
    seed = base64.b64encode(secrets.token_bytes(32)).decode().rstrip("=")
    (home / "signing.key").write_text(f"ed25519 a_test {seed}\n")
    (home / "appservice.yaml").write_text(json.dumps(APPSERVICE))
    quiet = {"version": 1, "root": {"level": "WARNING", "handlers": ["out"]}}
    (home / "log.yaml").write_text(
        json.dumps(
            {**quiet, "handlers": {"out": {"class": "logging.StreamHandler"}}, "disable_existing_loggers": False}
        )
    )
    settings = {
        "server_name": DOMAIN,
        "report_stats": False,
        "listeners": [
            {"port": port, "bind_addresses": ["127.0.0.1"], "type": "http", "resources": [{"names": ["client"]}]}
        ],
        "database": {"name": "sqlite3", "args": {"database": str(home / "homeserver.db")}},
        "log_config": str(home / "log.yaml"),
        "media_store_path": str(home / "media"),
        "signing_key_path": str(home / "signing.key"),
        "trusted_key_servers": [],
        "federation_domain_whitelist": [],
        "registration_shared_secret": secret,
        "macaroon_secret_key": secrets.token_hex(),
        "form_secret": secrets.token_hex(),
        "app_service_config_files": [str(home / "appservice.yaml")],
        "push": {"enabled": False},
        "presence": {"enabled": False},
        "url_preview_enabled": False,
        "allow_public_rooms_without_auth": False,
        "forget_rooms_on_leave": False,
        "bcrypt_rounds": 4,
        **dict.fromkeys(("rc_message", "rc_registration", "rc_admin_redaction", "rc_room_creation"), _UNLIMITED),
        "rc_login": {"address": _UNLIMITED, "account": _UNLIMITED, "failed_attempts": _UNLIMITED},
        "rc_joins": {"local": _UNLIMITED, "remote": _UNLIMITED},
        "rc_joins_per_room": _UNLIMITED,
        "rc_invites": {"per_room": _UNLIMITED, "per_user": _UNLIMITED, "per_issuer": _UNLIMITED},
    }
    path = home / "homeserver.yaml"
    path.write_text(json.dumps(settings))
    return path


def _is_up(http: httpx.Client) -> bool:
    try:
        return http.get("/health").status_code == 200
    except httpx.TransportError:
        return False
