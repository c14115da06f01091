"""`steelyard judge`."""

from __future__ import annotations

import contextlib
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import FILE, JudgeChoice, as_json, concurrency, judge_choice, limit, only, store_url
from steelyard.cli.output import show
from steelyard.errors import UsageError
from steelyard.report.verdicts import INTERRUPTED

if TYPE_CHECKING:
    from steelyard.engine.run_options import RunOptions
    from steelyard.records import RunHeader
    from steelyard.store.base import Store
    from steelyard.suite.models import SuiteModel


@click.group("judge")
def judge_command() -> None:
    """Measure a suite's judge against labels, its rubric and itself."""


@judge_command.command("check")
@click.argument("suite", metavar="SUITE")
@click.option("--run", metavar="RUN", help="Check the judge in this stored run; no call is made.")
@judge_choice
@click.option(
    "--repeats",
    metavar="N",
    type=click.IntRange(min=1),
    help="Let each text be judged this often. [default: as the suite says, by a model at least twice]",
)
@only
@limit
@concurrency
@click.option("--markdown", metavar="FILE", type=FILE, help="Write the report card as Markdown, too.")
@click.option("--html", metavar="FILE", type=FILE, help="Write the report card as one self-contained HTML file, too.")
@store_url
@as_json
def check(
    suite: str,
    run: str | None,
    judge: str | None,
    judge_model: str | None,
    judge_token: str | None,
    judge_temperature: float | None,
    repeats: int | None,
    only: tuple[str, ...],
    limit: int | None,
    concurrency: int | None,
    markdown: Path | None,
    html: Path | None,
    store_url: str | None,
    as_json: bool,
) -> None:
    """Compare a judge with labels, with its rubric and with itself.

    Scores the labelled cases of SUITE and stores the run; with --run, looks at a recorded one and calls nobody. Exit
    code 1 when a threshold of the suite is missed, the prompt shows the labels, or the judge gives every text the same
    score and labels differ from it; 4 when a threshold cannot be told, or labels and judge are not independent; 3 when
    the run says nothing of its judge.
    """
    from steelyard.engine.run_options import RunOptions, Selection, parse_only
    from steelyard.judge_checks.operations import card_of, judge_of, shown_card
    from steelyard.loading.load import load_suite
    from steelyard.results.operations import refuse_other_suite
    from steelyard.store.sql import open_store

    choice = JudgeChoice(judge, judge_model, judge_token, repeats, judge_temperature)
    if run is not None:
        _refuse_beside_run(choice, only, limit, concurrency)
    loaded = choice.of(load_suite(suite))
    judge_of(loaded)
    with open_store(store_url, create=run is None) as store:
        if run is not None:
            header = store.run(run)
            refuse_other_suite(header, loaded)
        else:
            options = RunOptions(selection=Selection(parse_only(only), limit), concurrency=concurrency)
            header = _evaluated(store, loaded, options, choice, store_url)
        card = card_of(store, header, loaded)
    sys.exit(show(shown_card(card), markdown, html, as_json=as_json))


def _refuse_beside_run(choice: JudgeChoice, only: tuple[str, ...], limit: int | None, concurrency: int | None) -> None:
    given = [word for word in choice.given if word.startswith("--")]
    given += [name for name, value in (("--only", only), ("--limit", limit), ("--concurrency", concurrency)) if value]
    if given:
        names = ", ".join("--repeats" if name == "--judge-repeats" else name for name in given)
        raise UsageError(f"--run makes no calls: leave out {names}, or leave out --run")


def _evaluated(
    store: Store, suite: SuiteModel, options: RunOptions, choice: JudgeChoice, store_url: str | None
) -> RunHeader:
    from steelyard.engine.writer import progress_of
    from steelyard.judge_checks.operations import run_labelled

    # Whatever the system under test prints must not get into the card.
    with progress_of(f"{suite.name}, judge check", quiet=False) as progress, contextlib.redirect_stdout(sys.stderr):
        result = run_labelled(suite, store, options, choice.repeats, progress)
    if result.stopped is not None:
        _report_next_steps(suite, result.header, choice, store_url, result.stopped)
    if result.interrupted:
        sys.exit(INTERRUPTED)
    return result.header


def _report_next_steps(
    suite: SuiteModel, header: RunHeader, choice: JudgeChoice, store_url: str | None, stopped: str
) -> None:
    judge = header.description.judge
    judged = replace(choice, repeats=judge.repeats if judge else None).given
    stored = [] if store_url is None else ["--store", store_url]
    steps = (
        ["steelyard", "run", suite.path, *judged, *stored, "--resume", header.id],
        ["steelyard", "judge", "check", suite.path, *stored, "--run", header.id],
    )
    message = "\n".join(f"  {shlex.join(step)}" for step in steps)
    click.echo(f"Not finished ({stopped}). Resume with:\n{message}", err=True)
