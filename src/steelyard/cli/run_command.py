"""`steelyard run`."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import click

from steelyard.cli.shared_options import (
    Finite,
    JudgeChoice,
    as_json,
    chosen_settings,
    concurrency,
    judge_options,
    limit,
    max_inconclusive,
    only,
    read_rate,
    store_url,
    target_options,
)


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
    "--save", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Write the run as a snapshot, too."
)
@store_url
@as_json
def command(
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
    repeats: int | None,
    only: tuple[str, ...],
    limit: int | None,
    strict: bool,
    concurrency: int | None,
    timeout: float | None,
    retries: int | None,
    rps: float | None,
    rate: float | None,
    warm_up: int | None,
    max_cost: float | None,
    max_inconclusive: float | None,
    cache: bool,
    resume: str | None,
    save: Path | None,
    store_url: str | None,
    as_json: bool,
) -> None:
    """Weigh a suite's target and keep every answer.

    SUITE is a suite file, its folder, a Python file that defines `suite`, or the name of a built-in suite.
    The exit code is the verdict of the suite's gates.
    """
    from steelyard import weighing
    from steelyard.cli.ending import end_with
    from steelyard.cli.show import progress_of
    from steelyard.engine.options import RunOptions, Selection, parse_only
    from steelyard.store.open import open_store
    from steelyard.suite.load import load_suite, with_target

    options = RunOptions(
        selection=Selection(parse_only(only), limit),
        repeats=repeats,
        concurrency=concurrency,
        timeout=timeout,
        retries=retries,
        requests_per_second=rps,
        rate=rate,
        warm_up=warm_up,
        max_cost=max_cost,
        max_inconclusive=max_inconclusive,
        cache=cache,
        strict=strict,
        resume=resume,
    )
    loaded = load_suite(suite, cases)
    chosen = chosen_settings(model, base_url, settings)
    if target is not None or chosen:
        loaded = with_target(loaded, target, chosen)
    loaded = JudgeChoice(judge, judge_model, judge_token, judge_repeats, judge_temperature).of(loaded)
    store = open_store(store_url, create=resume is None)
    try:
        # Whatever the system under test prints must not get into the report.
        with progress_of(loaded.name, quiet=False) as progress, contextlib.redirect_stdout(sys.stderr):
            header, ending = weighing.run(loaded, store, options, progress)
        if save is not None:
            from steelyard.store.snapshot import write_snapshot

            write_snapshot(store, header.id, save)
        code = end_with(store, header, as_json=as_json, interrupted=ending.interrupted, stopped=ending.stopped)
    finally:
        store.close()
    sys.exit(code)
