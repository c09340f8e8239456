"""A certificate for this host, for servers that speak real TLS."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path


def make_certificate(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """The certificate of 127.0.0.1, which clients are to trust, and what a server needs to show it."""
    certificate, key = folder / "certificate", folder / "key"
    names = "subjectAltName=IP:127.0.0.1,DNS:localhost"
    making = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    making += ["-subj", "/CN=localhost", "-addext", names, "-days", "2", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(making, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return certificate, context
