"""Serving the web app: the options of the commands that do, and doing it."""

from __future__ import annotations

import errno
import os
import secrets
import sys
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import together
from steelyard.cli.output import print_json
from steelyard.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    import socket

    from steelyard.web.site import Role

_ROLES = ("owner", "labeller", "viewer")


serving = together(
    click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on."),
    click.option(
        "--port", type=click.IntRange(0, 65535), default=8400, show_default=True, help="Port; 0 takes a free one."
    ),
    click.option("--allow-host", multiple=True, metavar="NAME", help="Also answer to this host name."),
    click.option("--read-only", is_flag=True, help="Nobody can label or change anything."),
    click.option("--no-browser", is_flag=True, help="Open no browser."),
)


def serve(
    store_url: str | None,
    page: str,
    *,
    host: str,
    port: int,
    allow_host: tuple[str, ...],
    read_only: bool,
    no_browser: bool,
    as_json: bool,
) -> None:
    """Serve the store until Ctrl-C, and open the page in a browser."""
    from steelyard.store.sql import open_store

    try:
        import uvicorn

        from steelyard.web.app import create_app
    except ImportError:
        raise MissingExtra("the web app", "web") from None
    from steelyard.web.figures import FigureJobs
    from steelyard.web.security import is_loopback
    from steelyard.web.site import Settings, Site

    # Who asks by another name comes from elsewhere, through a server in front of this one.
    tokens = None if all(map(is_loopback, (host, *allow_host))) else _tokens()
    listening = _listen(host, port)
    # A store that is not there yet is made, so that the first run appears on the page.
    store = open_store(store_url)
    try:
        name, *others = _names(host)
        settings = Settings(name, (*others, *allow_host), tokens, read_only)
        app = create_app(Site(store, FigureJobs(store_url), settings))
        shown = f"[{name}]" if ":" in name else name
        address = f"http://{shown}:{listening.getsockname()[1]}"
        _announce(address, page, tokens, as_json=as_json)
        if not (as_json or store.runs(limit=1)):
            click.echo(f"{store.place} holds no runs yet: steelyard run SUITE makes one, and the page then shows it.")
        if not no_browser and sys.stdout.isatty():
            import webbrowser

            webbrowser.open(address + page)
        config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, lifespan="on")
        uvicorn.Server(config).run([listening])
    finally:
        store.close()


def _names(host: str) -> list[str]:
    """What this machine is called by those who reach an address: of all addresses, its name and each of them."""
    if host not in ("0.0.0.0", "::"):  # noqa: S104 - asked for by the user
        return [host]
    import socket

    name = socket.gethostname()
    try:
        addresses = {str(item[4][0]) for item in socket.getaddrinfo(name, None)}
    except OSError:
        addresses = set()
    return [name, *sorted(addresses)]


def _tokens() -> dict[str, Role]:
    from steelyard.web.site import Role

    return {
        os.environ.get(f"STEELYARD_TOKEN_{name.upper()}") or secrets.token_urlsafe(24): Role[name.upper()]
        for name in _ROLES
    }


def _listen(host: str, port: int) -> socket.socket:
    import socket

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small answers at once only on sockets that say that they are TCP; others wait 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        # From now on, so that a browser that is opened at once waits instead of being refused.
        listening.listen()
    except OSError as error:
        listening.close()
        option = "--port" if error.errno in (errno.EADDRINUSE, errno.EACCES) else "--host"
        raise UsageError(f"cannot listen on {host}:{port} ({error.strerror}): choose another with {option}") from None
    return listening


def _announce(address: str, page: str, tokens: dict[str, Role] | None, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "address": address,
                "page": page,
                "tokens": {role.name.lower(): token for token, role in (tokens or {}).items()},
            }
        )
    elif tokens is None:
        click.echo(f"Steelyard is at {address}{page} (Ctrl-C ends it)")
    else:
        _list_tokens(address, page, tokens)


def _list_tokens(address: str, page: str, tokens: dict[str, Role]) -> None:
    click.echo("Every visitor needs a token: others on the network can reach this address. Sign in as")
    for token, role in tokens.items():
        click.echo(f"  {role.name.lower():9} {address}{page}?token={token}")
    click.echo("Ctrl-C ends it.")
