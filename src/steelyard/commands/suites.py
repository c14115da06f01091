"""Commands on suites: init, power, schema, suites."""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.options import as_json, read_points, store_url
from steelyard.cli.output import console, print_json, print_line, show_document
from steelyard.errors import UsageError

# `steelyard init`.

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


# `steelyard power`.


@click.command("power")
@click.argument("suite", metavar="SUITE")
@click.option(
    "--metric",
    type=click.Choice(["pass_rate", "average"]),
    help="Which figure. [default: pass_rate where the suite has a pass rule, else average]",
)
@click.option("--detect", metavar="POINTS", callback=read_points, help="Show what it takes to detect this drop.")
@click.option(
    "--last",
    "most_runs",
    metavar="N",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Estimate the noise from the newest N runs.",
)
@store_url
@as_json
def power_command(
    suite: str, metric: str | None, detect: float | None, most_runs: int, store_url: str | None, as_json: bool
) -> None:
    """Show a suite's minimum detectable difference, and what a smaller one takes.

    That is how many cases or repeats. SUITE is the name of a suite with stored runs, or its file or folder. Nothing is
    run: the noise is that of the recorded runs of the newest run's system, between cases, between repeats of a case and
    between runs. The difference is a drop; a rise of a high pass rate is easier to detect.
    """
    from steelyard.analysis.power import recorded_power
    from steelyard.report import power
    from steelyard.results.find import stored_suite_name
    from steelyard.store.sql import open_store

    with open_store(store_url, create=False) as store:
        result = recorded_power(store, stored_suite_name(store, suite), metric, detect, most_runs)
    show_document(power.power_document(result), power.power_data(result), as_json=as_json)


# `steelyard schema`.


@click.command("schema")
@as_json
def schema_command(as_json: bool) -> None:  # noqa: ARG001 - every command takes --json; this one prints nothing else
    """Print the JSON Schema of suite files, for editors.

    Save it and point your editor at it: the first line of a suite file may be
    "# yaml-language-server: $schema=suite.schema.json".
    """
    from steelyard.loading.json_schema import suite_schema

    print_json(suite_schema())


# `steelyard suites`.


@click.command("suites")
@as_json
def suites_command(as_json: bool) -> None:
    """List the built-in suites.

    Suites of installed plug-ins are listed, too. Run one by its name: steelyard run NAME.
    """
    from steelyard.loading.load import list_suites

    suites = list_suites()
    if as_json:
        print_json([{"name": suite.name, "about": suite.about, "cases": suite.n_cases} for suite in suites])
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("suite", no_wrap=True)
    table.add_column("cases", justify="right")
    table.add_column("about")
    for suite in suites:
        table.add_row(suite.name, str(suite.n_cases), suite.about)
    console().print(table)
