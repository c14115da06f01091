"""The command view."""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.options import as_json, run_name, store_url
from steelyard.web.serving import serve, serving


@click.command("view")
@run_name
@serving
@store_url
@as_json
def view_command(run: str, store_url: str | None, **options: Any) -> None:
    """Show one run in a browser."""
    from steelyard.store.sql import open_store
    from steelyard.web.site import run_address

    with open_store(store_url, create=False) as store:
        page = run_address(store.run(run).id)
    serve(store_url, page, **options)
