"""The command serve."""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.options import as_json, store_url
from steelyard.web.serving import serve, serving


@click.command("serve")
@serving
@store_url
@as_json
def serve_command(store_url: str | None, **options: Any) -> None:
    """Show the store in a browser: runs, changes, samples, and the label desk.

    On another address than loopback, or by another host name, every visitor needs a token; STEELYARD_TOKEN_OWNER,
    _LABELLER and _VIEWER set them, otherwise they are made anew.
    """
    serve(store_url, "/runs", **options)
