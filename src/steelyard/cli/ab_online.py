"""`steelyard ab assign` and `steelyard ab report`: experiments on live traffic."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.ab_show import show
from steelyard.cli.shared_options import as_json

if TYPE_CHECKING:
    from steelyard.release.assignment import Experiment

_FILE = click.Path(dir_okay=False, path_type=Path)
_NOT_IN = "-"


@click.command("assign")
@click.argument("units", metavar="ID...", nargs=-1)
@click.option("--experiment", "file", metavar="FILE", type=_FILE, help="The experiment's file.")
@click.option("--name", metavar="NAME", help="Without a file: the experiment's name, which the salts are made of.")
@click.option("--salt-exposure", metavar="TEXT", help="A salt of its own for who takes part.")
@click.option("--salt-arm", metavar="TEXT", help="A salt of its own for who gets which arm.")
@click.option("--traffic", metavar="SHARE", help="The share that takes part: 0.01 or '1 %'. [default: 100 %]")
@click.option("--arms", metavar="NAMES", help="The arms, the control first. [default: control,treatment]")
@as_json
def assign_command(
    units: tuple[str, ...],
    file: Path | None,
    name: str | None,
    salt_exposure: str | None,
    salt_arm: str | None,
    traffic: str | None,
    arms: str | None,
    as_json: bool,
) -> None:
    """Say which arm each ID gets; - for those that take no part. Without IDs, they are read from standard input.

    A service does the same with `steelyard.ab.assign`.
    """
    from steelyard.release.assignment import assign

    if traffic is not None and units[:1] == ("%",):
        # `--traffic 1 %` without quotes: what was meant is 1 %, not everybody and a unit of that name.
        traffic, units = f"{traffic} %", units[1:]
    own = {
        "--name": name,
        "--salt-exposure": salt_exposure,
        "--salt-arm": salt_arm,
        "--traffic": traffic,
        "--arms": arms,
    }
    experiment = _of_file(file, own) if file is not None else _of_options(name, salt_exposure, salt_arm, traffic, arms)
    found = ((unit, assign(unit, experiment)) for unit in (units or _from_standard_input()))
    if as_json:
        from steelyard.cli.show import print_json

        print_json([{"unit": unit, "arm": arm} for unit, arm in found])
        return
    for unit, arm in found:
        click.echo(f"{unit}\t{_NOT_IN if arm is None else arm}")


def _from_standard_input() -> Iterator[str]:
    for line in sys.stdin:
        if unit := line.rstrip("\r\n"):
            yield unit


def _of_file(file: Path, own: dict[str, str | None]) -> Experiment:
    from steelyard.release.online_file import read_online

    given = [option for option, value in own.items() if value is not None]
    if given:
        raise click.UsageError(f"{', '.join(given)}: the experiment's file says that already")
    return read_online(file).experiment


def _of_options(
    name: str | None, salt_exposure: str | None, salt_arm: str | None, traffic: str | None, arms: str | None
) -> Experiment:
    from steelyard.release.assignment import Experiment
    from steelyard.suite.shares import share

    if name is None and (salt_exposure is None or salt_arm is None):
        raise click.UsageError("name the experiment with --experiment FILE or --name, or give both salts")
    try:
        part = 1.0 if traffic is None else share(traffic)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--traffic") from None
    names = ("control", "treatment") if arms is None else tuple(one.strip() for one in arms.split(","))
    return Experiment(name or "unnamed", names, part, salt_exposure=salt_exposure, salt_arm=salt_arm)


@click.command("report")
@click.argument("outcomes", metavar="OUTCOMES", type=_FILE)
@click.option("--experiment", "file", metavar="FILE", type=_FILE, required=True, help="The experiment's file.")
@click.option("--markdown", metavar="FILE", type=_FILE, help="Write the report as Markdown, too.")
@click.option("--html", metavar="FILE", type=_FILE, help="Write it as one self-contained HTML file, too.")
@as_json
def report_command(outcomes: Path, file: Path, markdown: Path | None, html: Path | None, as_json: bool) -> None:
    """Check the outcomes of an online experiment, and decide.

    OUTCOMES is a JSONL or CSV file with a unit, its arm and its outcome in each record. Exit code 0 when the treatment
    is better, or the same within what the experiment allows; 1 when the control is better; 4 when nobody can tell; 3
    when the assignment is broken.
    """
    from steelyard.release.ab_model import EXIT_CODES
    from steelyard.release.online import online_report
    from steelyard.release.online_file import read_online
    from steelyard.release.outcomes import read_outcomes

    experiment = read_online(file)
    report = online_report(experiment, read_outcomes(outcomes, experiment))
    show(report, markdown, html, as_json=as_json)
    sys.exit(EXIT_CODES[report.decided])
