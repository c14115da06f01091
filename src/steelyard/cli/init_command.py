"""`steelyard init`."""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.shared_options import as_json

_FILES = ("suite.yaml", "cases.yaml", "system.py")


@click.command("init")
@click.argument("folder", metavar="[FOLDER]", default="my-suite", type=click.Path(file_okay=False, path_type=Path))
@as_json
def command(folder: Path, as_json: bool) -> None:
    """Write a commented starter suite that runs at once.

    FOLDER is made if need be [default: my-suite]; files that are already there are never overwritten.
    """
    from importlib.resources import files

    from steelyard.cli.show import print_json
    from steelyard.errors import UserMistake

    there = [name for name in _FILES if (folder / name).exists()]
    if there:
        raise UserMistake(f"{folder} already has {', '.join(there)}: choose another folder, nothing was written")
    starter = files("steelyard.cli") / "starter"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in _FILES:
            (folder / name).write_bytes((starter / name).read_bytes())
    except OSError as error:
        raise UserMistake(f"cannot write to {folder}: {error.strerror}") from error
    if as_json:
        print_json({"folder": str(folder), "files": list(_FILES)})
        return
    click.echo(f"Written: {', '.join(str(folder / name) for name in _FILES)}")
    click.echo(f"Try it:  steelyard run {folder}")
