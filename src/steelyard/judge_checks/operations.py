"""A judge's check, as the command shows it and as Python gets it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from steelyard.errors import UsageError
from steelyard.records import Mode, RunHeader
from steelyard.results.operations import refuse_other_suite, run_of
from steelyard.results.run import model_of
from steelyard.results.shown import ShownResult

if TYPE_CHECKING:
    from steelyard.engine.run_options import RunOptions, Selection
    from steelyard.engine.writer import Progress
    from steelyard.judge_checks.build import JudgeCard
    from steelyard.results.run import AnyRun, AnySuite
    from steelyard.runner.run import Result
    from steelyard.store.base import Store
    from steelyard.suite.judge import JudgeModel
    from steelyard.suite.models import SuiteModel


_READINGS_OF_A_MODEL = 2
"""How often a model judges each text at least, so that it can be compared with itself."""


def judge_check(
    suite: AnySuite,
    run: AnyRun | None = None,
    *,
    repeats: int | None = None,
    store: str | None = None,
    env: Mapping[str, str] | None = None,
    show_progress: bool = False,
    **options: Any,
) -> ShownResult[JudgeCard]:
    """The report card of a suite's judge against labels, its rubric and itself.

    It judges the labelled cases now and stores that run, each text `repeats` times; with `run`, it looks at a stored
    one and calls nobody. `options` are those of `RunOptions`.
    """
    from steelyard.engine.run_options import run_options
    from steelyard.engine.writer import progress_of
    from steelyard.store.sql import open_store

    model = model_of(suite)
    judge = judge_of(model)
    if repeats is not None:
        model = model.changed(judge=judge.model_copy(update={"repeats": repeats}))
    with ExitStack() as closing:
        if run is not None:
            opened, header = closing.enter_context(run_of(run, store).opened())
            refuse_other_suite(header, model)
        else:
            opened = closing.enter_context(open_store(store))
            with progress_of(f"{model.name}, judge check", quiet=not show_progress) as progress:
                asked = run_options("judge_check", options)
                header = run_labelled(model, opened, asked, repeats, progress, env).header
        return shown_card(card_of(opened, header, model))


def card_of(store: Store, header: RunHeader, suite: SuiteModel) -> JudgeCard:
    """The card of the judge of a stored run of the suite, with the labels that the suite's prompt shows it."""
    from steelyard.auditing.independence import labels_in_prompt
    from steelyard.judge_checks.build import build_card

    return build_card(store, header, judge_of(suite), labels_in_prompt(suite, store.cases(header.id)))


def shown_card(card: JudgeCard) -> ShownResult[JudgeCard]:
    """The card as it is shown."""
    from steelyard.judge_checks.card import data, document

    return ShownResult(card, document, data, card.verdict)


def judge_of(suite: SuiteModel) -> JudgeModel:
    """The judge of a suite; UsageError when it has none."""
    if suite.judge is None:
        raise UsageError(f"the suite {suite.name} has no judge: there is nothing to check")
    return suite.judge


def run_labelled(
    suite: SuiteModel,
    store: Store,
    options: RunOptions,
    repeats: int | None,
    progress: Progress,
    env: Mapping[str, str] | None = None,
) -> Result:
    """A run of the labelled cases, in which a model judges every text twice unless `repeats` says something else."""
    from steelyard.runner.run import run

    judge = suite.judge
    if judge is not None and repeats is None and judge.mode is not Mode.RULES:
        often = max(judge.repeats, _READINGS_OF_A_MODEL)
        suite = suite.changed(judge=judge.model_copy(update={"repeats": often}))
    return run(suite, store, replace(options, selection=_labelled(suite, options.selection)), progress, env)


def _labelled(suite: SuiteModel, asked: Selection) -> Selection:
    """The cases that are asked for and have labels; as it was asked for when all have them, or none."""
    from itertools import islice

    from steelyard.suite.labels import labels_of

    judge = suite.judge
    if judge is None or not judge.labels:
        return asked
    chosen = (case for case in suite.cases if asked.takes_case(case))
    results = [(case.id, bool(labels_of(case, judge))) for case in chosen]
    labelled = [case_id for case_id, has_labels in results if has_labels]
    if not labelled or len(labelled) == len(results):
        return asked
    others = tuple(pair for pair in asked.only if pair[0] == "variant")
    return replace(asked, only=(*others, *(("id", item) for item in islice(labelled, asked.limit))), limit=None)
