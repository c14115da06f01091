"""The command rescore: recorded answers scored again, by the suite as it is now."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import (
    JudgeChoice,
    as_json,
    judge_options,
    max_inconclusive,
    on_workers,
    only,
    quiet,
    run_name,
    store_url,
)
from steelyard.cli.output import confirm
from steelyard.commands.ending import end_with
from steelyard.errors import SuiteError, UsageError

if TYPE_CHECKING:
    from steelyard.engine.run_options import RunOptions
    from steelyard.records import RunHeader
    from steelyard.store.base import Store
    from steelyard.suite.judge import JudgeModel
    from steelyard.suite.models import SuiteModel


@click.command("rescore")
@run_name
@click.option("--suite", metavar="SUITE", help="Score by this suite. [default: the one of the run's suite name]")
@only
@click.option("--strict", is_flag=True, help="Score by the strict rule of every scorer that has one.")
@click.option("--judge-again", is_flag=True, help="Judge the recorded answers again; estimates the cost first.")
@click.option("--yes", is_flag=True, help="With --judge-again: do not ask for confirmation.")
@judge_options
@max_inconclusive
@on_workers
@quiet
@store_url
@as_json
def rescore_command(
    run: str,
    suite: str | None,
    only: tuple[str, ...],
    strict: bool,
    judge_again: bool,
    yes: bool,
    judge: str | None,
    judge_model: str | None,
    judge_token: str | None,
    judge_temperature: float | None,
    judge_repeats: int | None,
    max_inconclusive: float | None,
    on: str | None,
    workers: int | None,
    quiet: bool,
    store_url: str | None,
    as_json: bool,
) -> None:
    """Score recorded answers again; no call is made.

    Takes the suite as it is now, with its scorers, weights and truth, and writes a new run. Answers to questions
    that have changed since are left out and counted as missing. What a judge said is read again by the rules of now; it
    is asked anew with --judge-again only.
    """
    from steelyard.engine.run_options import RunOptions, Selection, parse_only
    from steelyard.loading.chosen_judge import judged_as_then
    from steelyard.loading.load import suite_of_run
    from steelyard.results.operations import refuse_imported
    from steelyard.store.sql import open_store

    choice = JudgeChoice(judge, judge_model, judge_token, judge_repeats, judge_temperature)
    _refuse_what_does_nothing(choice, judge_again=judge_again, strict=strict)
    with open_store(store_url, create=False) as store:
        header = store.run(run)
        refuse_imported(header)
        loaded = suite_of_run(header, suite)
        # The run's own judge, unless another is named.
        then = header.description.judge
        loaded = choice.of(loaded) if choice.given else judged_as_then(loaded, then, to_ask=judge_again)
        part = Selection(parse_only(only))
        options = RunOptions(part, max_inconclusive=max_inconclusive, strict=strict, on=on, workers=workers)
        if judge_again:
            shown = {"as_json": as_json, "quiet": quiet}
            code = _judged_again(store, header, loaded, choice, options, yes=yes, store_url=store_url, **shown)
        else:
            code = _rescored(store, header, loaded, options, as_json=as_json, quiet=quiet)
    sys.exit(code)


def _refuse_what_does_nothing(choice: JudgeChoice, *, judge_again: bool, strict: bool) -> None:
    if choice.given and not judge_again:
        raise UsageError(f"{choice.given[0]}: recorded answers of the judge are read; add --judge-again to ask another")
    if strict and judge_again:
        raise UsageError("--strict and --judge-again do not go together: judge again, then rescore that run --strict")


def _rescored(
    store: Store, header: RunHeader, suite: SuiteModel, options: RunOptions, *, as_json: bool, quiet: bool
) -> int:
    from steelyard.engine.writer import progress_of
    from steelyard.runner import run as evaluation

    with progress_of(f"rescoring {header.id}", quiet=as_json or quiet) as progress:
        result = evaluation.rescore(suite, store, header, options, progress)
    return end_with(store, result, as_json=as_json, quiet=quiet)


def _judged_again(
    store: Store,
    header: RunHeader,
    suite: SuiteModel,
    choice: JudgeChoice,
    options: RunOptions,
    *,
    yes: bool,
    as_json: bool,
    quiet: bool,
    store_url: str | None,
) -> int:
    from steelyard.engine.writer import progress_of
    from steelyard.runner import run as evaluation

    agree_to_cost(suite, store, header, yes=yes)
    with progress_of(f"judging {header.id} again", quiet=as_json or quiet) as progress:
        result = evaluation.judge_again(suite, store, header, options, progress)
    stored = [] if store_url is None else ["--store", store_url]
    go_on = ["steelyard", "run", suite.path, *choice.given, *stored, "--resume", result.header.id]
    return end_with(store, result, as_json=as_json, quiet=quiet, go_on=go_on)


def agree_to_cost(suite: SuiteModel, store: Store, earlier: RunHeader, *, yes: bool) -> None:
    """Tell what judging the answers of a run takes, and go on when somebody says yes.

    UsageError without a terminal and without `yes`. Judges that are code cost nothing, and nobody is asked.
    """
    from steelyard.judging.cost_estimate import estimate_cost
    from steelyard.scoring.model_scorers import models_asked
    from steelyard.suite.prices import read_prices

    judge, models = suite.judge, sorted({model.model for model in models_asked(suite.computed)})
    if judge is None and not models:
        raise UsageError(f"the suite {suite.name} has no judge: rescore without --judge-again")
    if judge is not None and any(member.kind != "python" for member in judge.members):
        estimate = estimate_cost(judge, _prompt_lengths(suite, judge, store, earlier), read_prices(suite.folder))
        click.echo(f"Judging the answers of run {earlier.id} again takes: {estimate}", err=True)
    elif not models:
        click.echo("The judge is code: no model is asked.", err=True)
        return
    if models:
        click.echo(f"Embeddings of {earlier.n_planned:,} answers are asked for again: {', '.join(models)}", err=True)
    confirm("Go on?", yes=yes)


def _prompt_lengths(suite: SuiteModel, judge: JudgeModel, store: Store, earlier: RunHeader) -> Iterator[int]:
    from steelyard.judging.cost_estimate import prompt_characters
    from steelyard.scoring.evaluate import Evaluator

    evaluator = Evaluator(suite)
    for sample, case in store.samples(earlier.id):
        if sample.call_result.failure is not None:
            continue
        try:
            scored = evaluator.evaluate(
                sample.call_result.text or "", case, sample.call_result.status, cut_off=sample.call_result.cut_off
            )
        except SuiteError:
            raise
        except Exception:  # noqa: BLE001, S112 - a scorer that breaks makes the sample inconclusive: no judge is asked
            continue
        if scored.to_judge is not None:
            yield prompt_characters(judge, scored.to_judge, case, scored.metrics, scored.findings)
