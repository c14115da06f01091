"""`steelyard rescore`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from steelyard.cli.shared_options import JudgeChoice, as_json, judge_options, max_inconclusive, run_name, store_url

if TYPE_CHECKING:
    from steelyard.records import RunHeader
    from steelyard.store.base import Store
    from steelyard.suite.models import SuiteModel


@click.command("rescore")
@run_name
@click.option("--suite", metavar="SUITE", help="Weigh by this suite. [default: the one of the run's suite name]")
@click.option("--strict", is_flag=True, help="Weigh by the strict rule of every scorer that has one.")
@click.option(
    "--judge-again", is_flag=True, help="Ask the judge anew about the recorded answers; tells the cost first."
)
@click.option("--yes", is_flag=True, help="With --judge-again: go on without asking.")
@judge_options
@max_inconclusive
@store_url
@as_json
def command(
    run: str,
    suite: str | None,
    strict: bool,
    judge_again: bool,
    yes: bool,
    judge: str | None,
    judge_model: str | None,
    judge_token: str | None,
    judge_temperature: float | None,
    judge_repeats: int | None,
    max_inconclusive: float | None,
    store_url: str | None,
    as_json: bool,
) -> None:
    """Weigh recorded answers again; no call is made.

    Takes the suite as it is now, with its scorers, weights and truth, and writes a new run. Answers to questions
    that have changed since are left out and counted as missing. What a judge said is read again by the rules of now; it
    is asked anew with --judge-again only.
    """
    from steelyard.store.open import open_store
    from steelyard.suite.chosen_judge import judged_as_then
    from steelyard.suite.load import suite_of_run

    choice = JudgeChoice(judge, judge_model, judge_token, judge_repeats, judge_temperature)
    _refuse_what_does_nothing(choice, judge_again=judge_again, strict=strict)
    store = open_store(store_url, create=False)
    try:
        header = store.run(run)
        _refuse_imported(header)
        loaded = suite_of_run(header, suite)
        # The run's own judge, unless another is named.
        then = header.description.judge
        loaded = choice.of(loaded) if choice.given else judged_as_then(loaded, then, to_ask=judge_again)
        if judge_again:
            code = _judged_again(
                store, header, loaded, choice, max_inconclusive, yes=yes, as_json=as_json, store_url=store_url
            )
        else:
            code = _rescored(store, header, loaded, max_inconclusive, strict=strict, as_json=as_json)
    finally:
        store.close()
    sys.exit(code)


def _refuse_imported(header: RunHeader) -> None:
    from steelyard.errors import UserMistake

    imported = header.options.get("imported")
    if imported:
        raise UserMistake(
            f"run {header.id} was imported from {imported['file']}: the suite has neither its cases nor the calls of"
            f" its judge. To weigh it by the suite as it is now, import that file into another store:"
            f" steelyard import {imported['file']} --suite {header.suite_name} --store ANOTHER"
        )


def _refuse_what_does_nothing(choice: JudgeChoice, *, judge_again: bool, strict: bool) -> None:
    from steelyard.errors import UserMistake

    if choice.given and not judge_again:
        raise UserMistake(
            f"{choice.given[0]}: recorded answers of the judge are read; add --judge-again to ask another"
        )
    if strict and judge_again:
        raise UserMistake("--strict and --judge-again do not go together: judge again, then rescore that run --strict")


def _rescored(
    store: Store, header: RunHeader, suite: SuiteModel, max_inconclusive: float | None, *, strict: bool, as_json: bool
) -> int:
    from steelyard import weighing
    from steelyard.cli.ending import end_with
    from steelyard.engine.progress import progress_of

    with progress_of(f"rescoring {header.id}", quiet=as_json) as progress:
        result = weighing.rescore_decided(
            suite, store, header, strict=strict, max_inconclusive=max_inconclusive, progress=progress
        )
    return end_with(store, result, as_json=as_json)


def _judged_again(
    store: Store,
    header: RunHeader,
    suite: SuiteModel,
    choice: JudgeChoice,
    max_inconclusive: float | None,
    *,
    yes: bool,
    as_json: bool,
    store_url: str | None,
) -> int:
    from steelyard import weighing
    from steelyard.cli.ending import end_with
    from steelyard.cli.judging_cost import agree_to_cost
    from steelyard.engine.options import RunOptions
    from steelyard.engine.progress import progress_of

    agree_to_cost(suite, store, header, yes=yes)
    options = RunOptions(max_inconclusive=max_inconclusive)
    with progress_of(f"judging {header.id} again", quiet=as_json) as progress:
        result, ending = weighing.judge_again_decided(suite, store, header, options, progress)
    stored = [] if store_url is None else ["--store", store_url]
    go_on = ["steelyard", "run", suite.path, *choice.given, *stored, "--resume", result.header.id]
    return end_with(store, result, as_json=as_json, interrupted=ending.interrupted, stopped=ending.stopped, go_on=go_on)
