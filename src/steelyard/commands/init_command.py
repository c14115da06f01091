"""The command init."""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.options import as_json
from steelyard.cli.output import print_line
from steelyard.errors import UsageError

_FILES = ("suite.yaml", "cases.yaml", "system.py")


@click.command("init")
@click.argument("folder", metavar="[FOLDER]", default="my-suite", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--from",
    "results",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Make it of another tool's results, with their answers recorded: no call is made.",
)
@as_json
def init_command(folder: Path, results: Path | None, as_json: bool) -> None:
    """Write a commented starter suite that runs at once.

    FOLDER is made if need be [default: my-suite]; files that are already there are never overwritten. --from takes what
    `steelyard import` reads, and chooses the scorer by what was expected.
    """
    names, left_out = (_starter(folder), "") if results is None else _from_results(results, folder)
    lines = [f"Written: {', '.join(str(folder / name) for name in names)}"]
    lines += [f"Left out: {left_out}"] if left_out else []
    data = {"folder": str(folder), "files": names} | ({"left_out": left_out} if left_out else {})
    print_line("\n".join([*lines, f"Try it:  steelyard run {folder}"]), data, as_json=as_json)


def _from_results(results: Path, folder: Path) -> tuple[list[str], str]:
    from steelyard.exchange.results import recognise
    from steelyard.exchange.suite_files import write_suite

    return write_suite(recognise(results), results, folder)


def _starter(folder: Path) -> list[str]:
    from importlib.resources import files

    there = [name for name in _FILES if (folder / name).exists()]
    if there:
        raise UsageError(f"{folder} already has {', '.join(there)}: choose another folder, nothing was written")
    starter = files("steelyard.cli") / "starter"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in _FILES:
            (folder / name).write_bytes((starter / name).read_bytes())
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}") from error
    return list(_FILES)
