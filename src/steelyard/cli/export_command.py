"""`steelyard export`."""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.shared_options import as_json, store_url


@click.command("export")
@click.argument("run", metavar="RUN")
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--suite", metavar="SUITE", help="Write the suite's own format instead of a Steelyard snapshot.")
@store_url
@as_json
def command(run: str, file: Path, suite: str | None, store_url: str | None, as_json: bool) -> None:
    """Write a stored run as one snapshot file.

    RUN is a run's name, the beginning of it, LAST, LAST~1 for the one before, or a baseline (@release).
    """
    from steelyard.cli.show import print_json
    from steelyard.store.open import open_store
    from steelyard.store.snapshot import write_snapshot

    store = open_store(store_url, create=False)
    try:
        header = store.run(run)
        if suite is None:
            write_snapshot(store, header.id, file)
        else:
            from steelyard.foreign import export_foreign
            from steelyard.suite.load import load_suite

            export_foreign(load_suite(suite), store, header, file)
    finally:
        store.close()
    if as_json:
        print_json({"run": header.id, "file": str(file)})
    else:
        click.echo(f"{header.id} written to {file}")
