"""`huginn serve`: a page and an HTTP interface; and the tokens of those who may ask from elsewhere.

In: an address to listen at; names of tokens. Out: a server until Ctrl-C; a token, shown once.
"""

from __future__ import annotations

import importlib.util
import ipaddress
import socket
import sys

import click

from huginn.cli import terminal
from huginn.cli.exits import ExitCode, manual
from huginn.cli.options import chosen_config, config_option, json_option, load_settings, require_corpus
from huginn.errors import Refused, Unavailable

_EXIT_CODES = (ExitCode.WELL, ExitCode.REFUSED, ExitCode.AWAY)


@click.group(
    short_help="Serve a search page and an HTTP interface.",
    invoke_without_command=True,
    epilog=manual(*_EXIT_CODES, ExitCode.INTERRUPTED),
)
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where to listen.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8765, show_default=True, metavar="N", help="Which port."
)
@click.option("--name", "names", metavar="HOST", multiple=True, help="A host name it is reached by. Repeatable.")
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    default=100.0,
    show_default=True,
    metavar="N",
    help="Requests a second for each token or address.",
)
@config_option
@click.pass_context
def serve(context: click.Context, host: str, port: int, names: tuple[str, ...], rate: float) -> ExitCode:
    """Serve a search page, a page for each message, the status, and all of it as documents under /api.

    It listens on this host alone, where it needs no tokens until the first is given. From then on, and at any other
    address, everybody needs one: give it in the page's form, as password, or as "Authorization: Bearer". There is no
    TLS: put a proxy in front of it, and name the host that it is reached by with --name.

    Nothing is loaded from elsewhere, and what is asked is in no log. A refresh that wants the embedded index gets it,
    and questions are answered all the while. Settings are read again when their file has changed.

    \b
    Examples:
      huginn serve
      huginn serve --host 0.0.0.0 --name search.example.org
      huginn serve token add ann --corpus forge --corpus chat
      curl -s 'http://127.0.0.1:8765/api/search?texts=how+are+blobs+read' | jq .hits
    """
    if context.invoked_subcommand is not None:
        return ExitCode.WELL
    missing = [name for name in ("fastapi", "uvicorn", "jinja2") if importlib.util.find_spec(name) is None]
    if missing:
        raise Refused("serve", f"{missing[0]} is not installed", next_step="pip install 'huginn[serve]'")
    from huginn.serve.app import make_app
    from huginn.serve.running import run
    from huginn.serve.tokens import Tokens

    tokens, is_loopback = Tokens(load_settings().state).all(), _is_loopback(host)
    if not is_loopback and not tokens:
        step = "add one with 'huginn serve token add NAME --corpus forge', or leave --host out"
        raise Refused("host", "at an address that others reach nobody is let in without a token", next_step=step)
    app = make_app(chosen_config(), names=names, is_loopback=is_loopback, per_second=rate)
    with _listening(host, port) as listener:
        where, number = listener.getsockname()[:2]
        shown = f"[{where}]" if ":" in where else where
        terminal.write(f"huginn: at http://{shown}:{number}/\n", sys.stderr)
        run(app, listener)
    return ExitCode.WELL


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server((host, port), family=family, backlog=256)
    except OSError as error:
        reason = f"cannot listen at port {port} ({error.strerror or 'no such address'})"
        raise Unavailable("serve", reason, next_step="end what listens there, or name another --port") from None


@serve.group(short_help="Add, list and remove tokens.")
def token() -> None:
    """Say who may ask, and what they see. A token is shown once; kept is only its hash, in the state folder.

    \b
    Examples:
      huginn serve token add ann --corpus forge --corpus chat
      huginn serve token add monitor --corpus forge
      huginn serve token remove ann
    """


@token.command(short_help="Make a token and show it.", epilog=manual(*_EXIT_CODES))
@click.argument("name")
@click.option("--corpus", "corpora", metavar="NAME", multiple=True, help="What it reaches: forge, chat. Repeatable.")
@config_option
def add(name: str, corpora: tuple[str, ...]) -> ExitCode:
    """Make the token NAME, and print it: it cannot be had again.

    Without --corpus chat it shows nothing of the rooms anywhere: no messages, no names, no counts.

    \b
    Examples:
      huginn serve token add ann --corpus forge --corpus chat
    """
    settings = load_settings()
    from huginn.serve.tokens import Tokens

    secret = Tokens(settings.state).add(name, [require_corpus(corpus) for corpus in corpora])
    terminal.write(f"{secret}\n", sys.stdout)
    return ExitCode.WELL


@token.command("list", short_help="List the tokens.", epilog=manual(*_EXIT_CODES))
@json_option
@config_option
def list_(as_json: bool) -> ExitCode:
    """List the tokens: their names, what they reach, since when; never what they are.

    \b
    Examples:
      huginn serve token list
    """
    settings = load_settings()
    from huginn.serve.tokens import Tokens

    tokens = Tokens(settings.state).all()
    if as_json:
        told = [each.model_dump(mode="json", exclude={"sha256"}) for each in tokens]
        terminal.write_document({"tokens": told})
    for each in () if as_json else tokens:
        terminal.write(f"{each.name}  {', '.join(each.corpora)}  since {each.created:%Y-%m-%d}\n", sys.stdout)
    return ExitCode.WELL


@token.command(short_help="Take a token back.", epilog=manual(*_EXIT_CODES))
@click.argument("name")
@config_option
def remove(name: str) -> ExitCode:
    """Take the token NAME back: it opens nothing from now on, also on a server that is running.

    \b
    Examples:
      huginn serve token remove ann
    """
    settings = load_settings()
    from huginn.serve.tokens import Tokens

    Tokens(settings.state).remove(name)
    return ExitCode.WELL
