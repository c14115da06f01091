"""`steelyard import`."""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.shared_options import as_json, store_url


@click.command("import")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@store_url
@as_json
def command(file: Path, store_url: str | None, as_json: bool) -> None:
    """Read a snapshot file into the store.

    Importing the same snapshot again changes nothing; another run under the same name is refused.
    """
    from steelyard.cli.show import print_json
    from steelyard.errors import UserMistake
    from steelyard.store.open import open_store
    from steelyard.store.snapshot import read_snapshot

    if not file.is_file():
        raise UserMistake(f"there is no snapshot at {file}")
    store = open_store(store_url)
    try:
        run_id = read_snapshot(store, file)
    finally:
        store.close()
    if as_json:
        print_json({"run": run_id, "file": str(file)})
    else:
        click.echo(f"{run_id} is in the store: steelyard report {run_id}")
