"""The command ab: two arms, on a suite's cases or on live traffic, and a decision."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.options import (
    FILE,
    Finite,
    as_json,
    chosen_settings,
    concurrency,
    max_inconclusive,
    on_workers,
    only,
    read_points,
    store_url,
)
from steelyard.cli.output import print_json, show_document
from steelyard.errors import StoreError
from steelyard.experiments.unfinished import say_how_to_go_on
from steelyard.records import AbPlan
from steelyard.report.verdicts import exit_code

if TYPE_CHECKING:
    from steelyard.experiments.arms import ArmChoice
    from steelyard.experiments.assignment import Experiment
    from steelyard.experiments.decision import AbReport
    from steelyard.experiments.runner import Suites

_KINDS: dict[str, Callable[[str], Any]] = {
    "judge_repeats": click.IntRange(min=1),
    "judge_temperature": Finite(min=0),
}


def read_arm(letter: str, written: tuple[str, ...]) -> ArmChoice:
    """The arm that `--a` or `--b` says."""
    from steelyard.experiments.arms import KEYS, ArmChoice

    hint = f"--{letter}"
    chosen: dict[str, Any] = {}
    settings: list[str] = []
    for text in written:
        key, sign, value = text.partition("=")
        if not sign or not key or not value:
            raise click.BadParameter(f"{text!r}: write KEY=VALUE, such as target=NAME or model=NAME", param_hint=hint)
        if key in KEYS:
            chosen[key] = _typed(key, value, hint)
        else:
            settings.append(text.removeprefix("set."))
    return ArmChoice(chosen, chosen_settings(None, None, tuple(settings)))


def _typed(key: str, value: str, hint: str) -> Any:
    try:
        return _KINDS[key](value) if key in _KINDS else value
    except click.BadParameter as error:
        raise click.BadParameter(f"{key}: {error.message}", param_hint=hint) from None


def show(report: AbReport, markdown: Path | None, html: Path | None, *, as_json: bool) -> None:
    """Print the report, and write the files that were asked for."""
    from steelyard.experiments.report import ab_data, ab_document

    show_document(ab_document(report), ab_data(report), markdown, html, as_json=as_json)


_OFFLINE = "SUITE"


class _SuiteOrCommand(click.Group):
    """`ab SUITE ...`, and beside it the commands of an online experiment."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] in self.commands and args[0] != _OFFLINE:
            return super().resolve_command(ctx, args)
        return _OFFLINE, self.commands[_OFFLINE], args


class _Offline(click.Command):
    """`ab SUITE`: the suite stands where others have their name, and is not asked for once more."""

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click calls it
        return [self.options_metavar or ""]


@click.group(
    "ab", cls=_SuiteOrCommand, context_settings={"ignore_unknown_options": True}, subcommand_metavar="SUITE | COMMAND"
)
def ab_command() -> None:
    """Decide between two systems, on a suite's cases or on users.

    `steelyard ab SUITE --a KEY=VALUE --b KEY=VALUE` asks both arms the same cases, interleaved in random order.
    `steelyard ab SUITE --help` lists its options. `assign` and `report` are for experiments on live traffic.
    """


@ab_command.command(_OFFLINE, cls=_Offline, short_help="Run two arms on the same cases, interleaved, and decide.")
@click.argument("suite", metavar="SUITE")
@click.option("--a", "a", metavar="KEY=VALUE", multiple=True, help="Arm A, how it is now. [default: as the suite says]")
@click.option("--b", "b", metavar="KEY=VALUE", multiple=True, help="Arm B, how it may become. May be repeated.")
@click.option("-n", "--repeats", metavar="N", type=click.IntRange(min=1), help="Repeats of each case in each arm.")
@only
@click.option(
    "--max-cases", metavar="N", type=click.IntRange(min=2), help="Run at most this many cases, drawn at random."
)
@click.option("--stop-early", is_flag=True, help="Stop as soon as it is decided, by an always-valid test.")
@click.option(
    "--same-within", metavar="POINTS", callback=read_points, help="Arms at most this far apart count as the same."
)
@click.option(
    "--metric",
    type=click.Choice(["pass_rate", "average"]),
    help="The metric that decides. [default: pass_rate where the suite has a pass rule, else average]",
)
@click.option(
    "--seed", metavar="N", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random order."
)
@concurrency
@click.option("--timeout", metavar="SECONDS", type=Finite(min=0, min_open=True), help="Time for one call.")
@click.option("--retries", metavar="N", type=click.IntRange(min=0), help="How often a failed call is made again.")
@click.option("--rps", metavar="N", type=Finite(min=0, min_open=True), help="Requests a second, at most, of both arms.")
@click.option(
    "--max-cost", metavar="AMOUNT", type=Finite(min=0, min_open=True), help="Stop before both arms cost more than this."
)
@max_inconclusive
@on_workers
@click.option(
    "--resume",
    metavar="AB",
    is_flag=False,
    flag_value="",
    default=None,
    help="Resume an unfinished A/B: its name, or nothing for the suite's newest.",
)
@click.option("--allow-mismatch", is_flag=True, help="Decide although the arms have two judges, or one is suspect.")
@click.option("--markdown", metavar="FILE", type=FILE, help="Write the report as Markdown, too.")
@click.option("--html", metavar="FILE", type=FILE, help="Write it as one self-contained HTML file, too.")
@store_url
@as_json
def offline(
    suite: str,
    a: tuple[str, ...],
    b: tuple[str, ...],
    only: tuple[str, ...],
    max_cases: int | None,
    stop_early: bool,
    same_within: float | None,
    metric: str | None,
    seed: int,
    rps: float | None,
    resume: str | None,
    allow_mismatch: bool,
    markdown: Path | None,
    html: Path | None,
    store_url: str | None,
    as_json: bool,
    **others: Any,
) -> None:
    """Run two arms on the same cases, interleaved in random order, and decide.

    KEY is target, model, base_url, variant, judge, judge_model, judge_token, judge_repeats, judge_temperature or any
    other setting of the target. Each arm becomes a run. Exit code 0 when B is better, or the same within what
    --same-within allows; 1 when A is better; 4 for CANNOT TELL; 3 when an arm is no reading.
    """
    from steelyard.engine.run_options import RunOptions, Selection, parse_only
    from steelyard.experiments.offline import ab_report
    from steelyard.experiments.runner import metric_of, run_interleaved
    from steelyard.experiments.runs import find_ab, insist_on_plan
    from steelyard.store.sql import open_store

    suites = _suites(suite, a, b)
    options = RunOptions(selection=Selection(parse_only(only)), requests_per_second=rps, **others)
    plan = AbPlan(seed, metric_of(suites[0], metric), max_cases, stop_early, same_within)
    with open_store(store_url, create=resume is None) as store:
        unfinished = None if resume is None else find_ab(store, suites[0].name, resume)
        if unfinished is not None:
            insist_on_plan(unfinished, plan, metric)
        attempt = run_interleaved(suites, store, options, plan, unfinished)
        say_how_to_go_on(attempt, [*_without_resume(sys.argv[1:]), "--resume", attempt.id])
        report = ab_report(store, attempt, allow_mismatch=allow_mismatch)
    show(report, markdown, html, as_json=as_json)
    sys.exit(exit_code(report.decided))


def _suites(place: str, a: tuple[str, ...], b: tuple[str, ...]) -> Suites:
    from steelyard.loading.load import load_suite

    if not a and not b:
        raise click.UsageError("say what differs: --a KEY=VALUE, --b KEY=VALUE, such as --b model=NAME")
    first, second = read_arm("a", a), read_arm("b", b)
    return first.of(load_suite(place)), second.of(load_suite(place))


def _without_resume(words: list[str]) -> list[str]:
    """The command as it was typed, without what it was told to go on with."""
    retained: list[str] = []
    named = False
    for word in words:
        is_name, named = named and not word.startswith("-"), word == "--resume"
        if not is_name and not named and not word.startswith("--resume="):
            retained.append(word)
    return retained


_NOT_IN = "-"


@click.command("assign")
@click.argument("units", metavar="ID...", nargs=-1)
@click.option("--experiment", "file", metavar="FILE", type=FILE, help="The experiment's file.")
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
    from steelyard.experiments.assignment import assign

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
    results = ((unit, assign(unit, experiment)) for unit in (units or _from_standard_input()))
    if as_json:
        print_json([{"unit": unit, "arm": arm} for unit, arm in results])
        return
    for unit, arm in results:
        click.echo(f"{unit}\t{_NOT_IN if arm is None else arm}")


def _from_standard_input() -> Iterator[str]:
    for line in sys.stdin:
        if unit := line.rstrip("\r\n"):
            yield unit


def _of_file(file: Path, own: dict[str, str | None]) -> Experiment:
    from steelyard.experiments.outcomes import read_online

    given = [option for option, value in own.items() if value is not None]
    if given:
        raise click.UsageError(f"{', '.join(given)}: already given in the experiment's file")
    return read_online(file).experiment


def _of_options(
    name: str | None, salt_exposure: str | None, salt_arm: str | None, traffic: str | None, arms: str | None
) -> Experiment:
    from steelyard.experiments.assignment import Experiment
    from steelyard.suite.values import share

    if name is None and (salt_exposure is None or salt_arm is None):
        raise click.UsageError("name the experiment with --experiment FILE or --name, or give both salts")
    try:
        part = 1.0 if traffic is None else share(traffic)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--traffic") from None
    names = ("control", "treatment") if arms is None else tuple(word.strip() for word in arms.split(","))
    return Experiment(name or "unnamed", names, part, salt_exposure=salt_exposure, salt_arm=salt_arm)


@click.command("report")
@click.argument("outcomes", metavar="OUTCOMES", type=FILE)
@click.option("--experiment", "file", metavar="FILE", type=FILE, required=True, help="The experiment's file.")
@click.option("--markdown", metavar="FILE", type=FILE, help="Write the report as Markdown, too.")
@click.option("--html", metavar="FILE", type=FILE, help="Write it as one self-contained HTML file, too.")
@store_url
@as_json
def report_command(
    outcomes: Path, file: Path, markdown: Path | None, html: Path | None, store_url: str | None, as_json: bool
) -> None:
    """Check the outcomes of an online experiment, and decide.

    OUTCOMES is a JSONL or CSV file with a unit, its arm and its outcome in each record. Exit code 0 when the treatment
    is better, or the same within what the experiment allows; 1 when the control is better; 4 for CANNOT TELL; 3
    when the assignment is broken. The store logs by which plan results were read: a fixed test whose plan changed
    afterwards decides nothing.
    """
    from steelyard.experiments.online import online_report, reading_of
    from steelyard.experiments.outcomes import read_online, read_outcomes
    from steelyard.store.sql import open_store

    experiment = read_online(file)
    found = read_outcomes(outcomes, experiment)
    try:
        with open_store(store_url) as store:
            report = online_report(experiment, found, store.readings(experiment.part.experiment))
            store.log_reading(reading_of(experiment, report))
    except StoreError as error:
        report = online_report(experiment, found, unknown=str(error))
    show(report, markdown, html, as_json=as_json)
    sys.exit(exit_code(report.decided))


ab_command.add_command(assign_command)
ab_command.add_command(report_command)
