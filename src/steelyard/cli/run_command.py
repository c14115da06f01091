"""`steelyard run`."""

from __future__ import annotations

import contextlib
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.shared_options import (
    Finite,
    JudgeChoice,
    against,
    anyway,
    as_json,
    chosen_settings,
    concurrency,
    judge_options,
    limit,
    max_inconclusive,
    only,
    read_rate,
    read_time,
    store_url,
    target_options,
)

if TYPE_CHECKING:
    from steelyard.decide.baselines import Reference
    from steelyard.engine.options import RunOptions
    from steelyard.engine.run import Ending
    from steelyard.store.sql import SqlStore
    from steelyard.suite.models import SuiteModel
    from steelyard.weighing import Result


@click.command("run")
@click.argument("suite", metavar="SUITE")
@click.option(
    "--cases",
    metavar="PLACE",
    type=click.Path(path_type=Path),
    help="Weigh the cases of this folder or file instead of the suite's own.",
)
@target_options
@judge_options
@click.option("-n", "--repeats", metavar="N", type=click.IntRange(min=1), help="Ask each case this often.")
@only
@limit
@click.option("--strict", is_flag=True, help="Weigh by the strict rule of every scorer that has one.")
@concurrency
@click.option("--timeout", metavar="SECONDS", type=Finite(min=0, min_open=True), help="Time for one call.")
@click.option("--retries", metavar="N", type=click.IntRange(min=0), help="How often a failed call is made again.")
@click.option(
    "--outage",
    metavar="TIME",
    callback=read_time,
    help="How long to wait for a system that stopped answering: 5m, 90s; 0: not at all. [default: the suite's, 5m]",
)
@click.option("--rps", metavar="N", type=Finite(min=0, min_open=True), help="Requests a second, at most.")
@click.option(
    "--rate",
    metavar="N/s",
    callback=read_rate,
    help="Open load: so many calls fall due each second, whatever came back.",
)
@click.option(
    "--warm-up",
    metavar="N",
    type=click.IntRange(min=0),
    help="Calls before the clock starts; their answers are dropped.",
)
@click.option(
    "--max-cost",
    metavar="AMOUNT",
    type=Finite(min=0, min_open=True),
    help="Stop before spending more than this.",
)
@max_inconclusive
@click.option(
    "--no-anchors",
    "anchors",
    is_flag=True,
    callback=lambda _, __, given: 0 if given else None,
    help="Do not let the judge read answers of the baseline again: its drift is not measured.",
)
@click.option("--cache", is_flag=True, help="Keep answers, and take those already kept for the same request.")
@click.option(
    "--resume",
    metavar="RUN",
    is_flag=False,
    flag_value="",
    default=None,
    help="Go on with an unfinished run: its name, or nothing for the suite's newest.",
)
@click.option(
    "--retry-failed",
    metavar="RUN",
    help="A new run that asks for the failed samples of RUN alone, and takes over the others.",
)
@click.option(
    "--save", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Write the run as a snapshot, too."
)
@against
@anyway
@click.option("--no-alerts", is_flag=True, help="Raise, close and send no alerts.")
@store_url
@as_json
def command(
    save: Path | None,
    against: str | None,
    anyway: bool,
    no_alerts: bool,
    store_url: str | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Weigh a suite's target and keep every answer.

    SUITE is a suite file, its folder, a Python file that defines `suite`, or the name of a built-in suite.
    The exit code is the verdict of the suite's gates and, with --against, of what became of the baseline's figures.
    """
    from steelyard.cli.after_run import alert_after_run, settings_before_run
    from steelyard.cli.ending import end_with
    from steelyard.cli.named_reference import reference_of
    from steelyard.store.open import open_store

    suite, options = asked_for(**asked)
    alerts = None if no_alerts else settings_before_run(suite)
    with ExitStack() as closing:
        store = open_store(store_url, create=options.resume is None and options.retry_failed is None)
        closing.callback(store.close)
        # Found before anything is asked: a name that is none must not cost a run, and LAST is the one before this.
        reference = reference_of(store, against, suite.name, closing)
        result, ending = weigh(suite, store, options, reference, anyway=anyway, save=save)
        code = end_with(
            store,
            result,
            as_json=as_json,
            interrupted=ending.interrupted,
            stopped=ending.stopped,
            reference=reference,
            anyway=anyway,
        )
        # Whoever stopped the run is there, and need not be told.
        if not ending.interrupted:
            alert_after_run(store, result.header, alerts)
    sys.exit(code)


def asked_for(
    *,
    suite: str,
    cases: Path | None,
    target: str | None,
    model: str | None,
    base_url: str | None,
    settings: tuple[str, ...],
    judge: str | None,
    judge_model: str | None,
    judge_token: str | None,
    judge_temperature: float | None,
    judge_repeats: int | None,
    only: tuple[str, ...],
    limit: int | None,
    rps: float | None,
    **others: Any,
) -> tuple[SuiteModel, RunOptions]:
    """The suite with the target and the judge that were asked for, and how to run it; SuiteError as it stands."""
    from steelyard.engine.options import RunOptions, Selection, parse_only
    from steelyard.suite.load import load_suite, with_target

    options = RunOptions(selection=Selection(parse_only(only), limit), requests_per_second=rps, **others)
    loaded = load_suite(suite, cases)
    chosen = chosen_settings(model, base_url, settings)
    if target is not None or chosen:
        loaded = with_target(loaded, target, chosen)
    return JudgeChoice(judge, judge_model, judge_token, judge_repeats, judge_temperature).of(loaded), options


def weigh(
    suite: SuiteModel,
    store: SqlStore,
    options: RunOptions,
    reference: Reference | None,
    *,
    anyway: bool,
    save: Path | None,
) -> tuple[Result, Ending]:
    """Run the suite with progress on standard error, and write the snapshot that was asked for."""
    from steelyard import weighing
    from steelyard.engine.progress import progress_of

    # Whatever the system under test prints must not get into the report.
    with progress_of(suite.name, quiet=False) as progress, contextlib.redirect_stdout(sys.stderr):
        result, ending = weighing.run_decided(suite, store, options, progress, reference=reference, anyway=anyway)
    if save is not None:
        from steelyard.store.snapshot import write_snapshot

        write_snapshot(store, result.header.id, save)
    return result, ending
