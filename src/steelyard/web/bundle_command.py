"""The command bundle."""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.options import as_json, store_url
from steelyard.cli.output import print_line


@click.command("bundle")
@click.argument("folder", metavar="OUT", type=click.Path(file_okay=False, path_type=Path))
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@store_url
@as_json
def bundle_command(folder: Path, runs: tuple[str, ...], store_url: str | None, as_json: bool) -> None:
    """Write runs and their comparisons as a static site.

    It opens from disk or any file host. Each run is a page with its samples; runs of one suite are compared, each with
    the next one in time. OUT is a new or an empty folder, or a bundle, which is written anew.
    """
    from steelyard.store.sql import open_store
    from steelyard.web.bundle import write_bundle

    with open_store(store_url, create=False) as store:
        headers = list({header.id: header for header in map(store.run, runs)}.values())
        n = write_bundle(store, folder, headers)
    message = f"Written: {folder / 'index.html'} and {n - 1} more files"
    print_line(message, {"folder": str(folder), "files": n, "runs": [item.id for item in headers]}, as_json=as_json)
