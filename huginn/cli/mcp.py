"""`huginn mcp`: the index for agents, over the Model Context Protocol.

In: nothing, or an address to listen at and a token. Out: the protocol, on standard output or over HTTP; nothing else
goes to standard output.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from huginn.cli import terminal
from huginn.cli.exits import ExitCode, manual
from huginn.cli.options import chosen_config, config_option
from huginn.errors import Refused, Unavailable

if TYPE_CHECKING:
    from pydantic import SecretStr

TOKEN_VARIABLE = "HUGINN_MCP_TOKEN"
_SHORTEST = 16


@click.command(
    short_help="Answer agents, over the Model Context Protocol.",
    epilog=manual(ExitCode.WELL, ExitCode.REFUSED, ExitCode.AWAY, ExitCode.INTERRUPTED),
)
@click.option("--http", "address", metavar="HOST:PORT", help="Listen there, in place of standard input and output.")
@click.option("--name", "names", metavar="HOST", multiple=True, help="A host name it is reached by. Repeatable.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"A file with the token that --http asks for. Else {TOKEN_VARIABLE} gives it.",
)
@config_option
def mcp(address: str | None, names: tuple[str, ...], token_file: Path | None) -> ExitCode:
    """Answer agents with four tools that read and nothing else: search, chat_search, chat_window, status.

    An agent's host starts this command and speaks to it on standard input and output. With --http it listens at an
    address, path /mcp (streamable HTTP); whoever asks there needs the token, on this host too. There is no TLS: put a
    proxy in front of it for other hosts, and name the host that it is reached by with --name.

    What is asked is in no log. A refresh that wants the embedded index gets it, and questions are answered all the
    while. Settings are read again when their file has changed.

    \b
    Examples:
      huginn --config /srv/huginn/huginn.toml mcp
      huginn mcp --http 127.0.0.1:8766 --token-file mcp.token
      claude mcp add huginn -- huginn --config /srv/huginn/huginn.toml mcp
    """
    if importlib.util.find_spec("mcp") is None:
        raise Refused("mcp", "the package mcp is not installed", next_step="pip install 'huginn[mcp]'")
    place = None if address is None else _place(address)
    token = None if place is None else _token(token_file)
    from huginn.mcp import transports
    from huginn.mcp.server import make_server
    from huginn.search import open_index

    with open_index(chosen_config()) as index:
        server = make_server(index)
        if place is None or token is None:
            transports.serve_stdio(server)
            return ExitCode.WELL
        with _listening(*place) as listener:
            host, port = listener.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            terminal.write(f"huginn: at http://{shown}:{port}{transports.PATH}\n", sys.stderr)
            transports.serve_http(server, listener, token, (*names, place[0]))
    return ExitCode.WELL


def _place(address: str) -> tuple[str, int]:
    """Host and port."""
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise Refused("http", "is no address with a port", next_step='give one such as "127.0.0.1:8766"')
    return host, int(port)


def _token(file: Path | None) -> SecretStr:
    """The token, from the file or else from the environment."""
    from pydantic import SecretStr

    from huginn.secret_file import is_secret, read_secret

    if file is not None:
        token = read_secret(file, field="token_file", kind="token")
    else:
        token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not is_secret(token):
        raise Refused(
            "token_file", "a token is needed", next_step=f"name a file that holds one, or give it as {TOKEN_VARIABLE}"
        )
    if len(token) < _SHORTEST:
        raise Refused("token_file", "the token can be guessed", next_step="make one with 'openssl rand -hex 32'")
    return SecretStr(token)


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise Unavailable(
            "address", f"cannot listen at {host}, port {port} ({error.strerror})", next_step="give another with --http"
        ) from None
