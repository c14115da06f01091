"""`steelyard ab`."""

from __future__ import annotations

import contextlib
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.ab_arms import read_arm
from steelyard.cli.ab_online import assign_command, report_command
from steelyard.cli.ab_show import show
from steelyard.cli.shared_options import (
    Finite,
    as_json,
    concurrency,
    max_inconclusive,
    only,
    read_points,
    store_url,
)

if TYPE_CHECKING:
    from steelyard.interleaving import AbRuns, Suites
    from steelyard.release.ab_model import AbPlan, AbReport
    from steelyard.store.base import Store

_FILE = click.Path(dir_okay=False, path_type=Path)
_INTERRUPTED = 130
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
def command() -> None:
    """Decide between two systems, on a suite's cases or on users.

    `steelyard ab SUITE --a KEY=VALUE --b KEY=VALUE` asks both arms the same cases, interleaved in random order.
    `steelyard ab SUITE --help` lists its options. `assign` and `report` are for experiments on live traffic.
    """


@command.command(_OFFLINE, cls=_Offline, short_help="Ask two arms the same cases, interleaved, and decide.")
@click.argument("suite", metavar="SUITE")
@click.option("--a", "a", metavar="KEY=VALUE", multiple=True, help="Arm A, how it is now. [default: as the suite says]")
@click.option("--b", "b", metavar="KEY=VALUE", multiple=True, help="Arm B, how it may become. May be repeated.")
@click.option("-n", "--repeats", metavar="N", type=click.IntRange(min=1), help="Ask each case this often in each arm.")
@only
@click.option("--max-cases", metavar="N", type=click.IntRange(min=2), help="Ask at most this many, drawn at random.")
@click.option("--stop-early", is_flag=True, help="Stop as soon as it is decided, by an always-valid test.")
@click.option("--same-within", metavar="POINTS", callback=read_points, help="Arms so close count as the same.")
@click.option("--metric", type=click.Choice(["pass_rate", "average"]), help="What decides. [default: as the suite has]")
@click.option("--seed", metavar="N", type=click.IntRange(min=0), default=0, show_default=True, help="Draws the order.")
@concurrency
@click.option("--timeout", metavar="SECONDS", type=Finite(min=0, min_open=True), help="Time for one call.")
@click.option("--retries", metavar="N", type=click.IntRange(min=0), help="How often a failed call is made again.")
@click.option("--rps", metavar="N", type=Finite(min=0, min_open=True), help="Requests a second, at most, of both arms.")
@click.option(
    "--max-cost", metavar="AMOUNT", type=Finite(min=0, min_open=True), help="Stop before both arms cost more than this."
)
@max_inconclusive
@click.option(
    "--resume",
    metavar="AB",
    is_flag=False,
    flag_value="",
    default=None,
    help="Go on with an unfinished A/B: its name, or nothing for the suite's newest.",
)
@click.option("--anyway", is_flag=True, help="Decide although the arms have two judges, or one is suspect.")
@click.option("--markdown", metavar="FILE", type=_FILE, help="Write the report as Markdown, too.")
@click.option("--html", metavar="FILE", type=_FILE, help="Write it as one self-contained HTML file, too.")
@store_url
@as_json
def offline(
    suite: str,
    a: tuple[str, ...],
    b: tuple[str, ...],
    repeats: int | None,
    only: tuple[str, ...],
    max_cases: int | None,
    stop_early: bool,
    same_within: float | None,
    metric: str | None,
    seed: int,
    concurrency: int | None,
    timeout: float | None,
    retries: int | None,
    rps: float | None,
    max_cost: float | None,
    max_inconclusive: float | None,
    resume: str | None,
    anyway: bool,
    markdown: Path | None,
    html: Path | None,
    store_url: str | None,
    as_json: bool,
) -> None:
    """Ask two arms the same cases, interleaved in random order, and decide.

    KEY is target, model, base_url, variant, judge, judge_model, judge_token, judge_repeats, judge_temperature or any
    other setting of the target. Each arm becomes a run. Exit code 0 when B is better, or the same within what
    --same-within allows; 1 when A is better; 4 when nobody can tell; 3 when an arm is no reading.
    """
    from steelyard.cli.show import progress_of
    from steelyard.engine.options import RunOptions, Selection, parse_only
    from steelyard.interleaving import find_ab, metric_of, run_ab
    from steelyard.release.ab_model import EXIT_CODES, AbPlan
    from steelyard.store.open import open_store

    suites = _suites(suite, a, b)
    options = RunOptions(
        selection=Selection(parse_only(only)),
        repeats=repeats,
        concurrency=concurrency,
        timeout=timeout,
        retries=retries,
        requests_per_second=rps,
        max_cost=max_cost,
        max_inconclusive=max_inconclusive,
    )
    plan = AbPlan(seed, metric_of(suites[0], metric), max_cases, stop_early, same_within)
    store = open_store(store_url, create=resume is None)
    try:
        runs = None if resume is None else find_ab(store, suites[0].name, resume)
        if runs is not None:
            _insist_on_plan(runs, plan, metric)
        if runs is None or not runs.ended:
            with progress_of(f"{suites[0].name} A/B", quiet=False) as progress, contextlib.redirect_stdout(sys.stderr):
                runs = run_ab(suites, store, options, plan, progress, resumed=runs)
            _say_how_to_go_on(runs)
        report = _decided(store, runs, anyway=anyway)
    finally:
        store.close()
    show(report, markdown, html, as_json=as_json)
    sys.exit(EXIT_CODES[report.decided])


def _suites(place: str, a: tuple[str, ...], b: tuple[str, ...]) -> Suites:
    from steelyard.suite.load import load_suite

    if not a and not b:
        raise click.UsageError("say what differs: --a KEY=VALUE, --b KEY=VALUE, such as --b model=NAME")
    first, second = read_arm("a", a), read_arm("b", b)
    return first.of(load_suite(place)), second.of(load_suite(place))


def _insist_on_plan(runs: AbRuns, asked: AbPlan, metric: str | None) -> None:
    """UserMistake when something is asked for that was not planned: what is chosen after a look decides nothing."""
    from steelyard.errors import UserMistake
    from steelyard.release.ab_model import AbPlan

    given = {name for name in AbPlan.__dataclass_fields__ if getattr(asked, name) != getattr(AbPlan(), name)}
    given = given - {"metric"} | ({"metric"} if metric else set())
    other = [name for name in sorted(given) if getattr(asked, name) != getattr(runs.plan, name)]
    if other:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in other)
        raise UserMistake(f"{runs.id} was planned otherwise: leave {options} out, or start a new one without --resume")


def _say_how_to_go_on(runs: AbRuns) -> None:
    if runs.stopped is None:
        return
    kept = _without_resume(sys.argv[1:])
    again = shlex.join(["steelyard", *kept, "--resume", runs.id])
    click.echo(f"Not finished ({runs.stopped}). Go on with:\n  {again}", err=True)
    if runs.interrupted:
        sys.exit(_INTERRUPTED)


def _without_resume(words: list[str]) -> list[str]:
    """The command as it was typed, without what it was told to go on with."""
    kept: list[str] = []
    named = False
    for word in words:
        is_name, named = named and not word.startswith("-"), word == "--resume"
        if not is_name and not named and not word.startswith("--resume="):
            kept.append(word)
    return kept


def _decided(store: Store, runs: AbRuns, *, anyway: bool) -> AbReport:
    from steelyard.analysis.compared_run import read_run
    from steelyard.release.ab import offline_report
    from steelyard.same_instrument import rescored

    a, b = (read_run(store, header.id) for header in runs.headers)
    return offline_report(rescored(a, b), b, stopped=runs.stopped, anyway=anyway)


command.add_command(assign_command)
command.add_command(report_command)
