"""From the runs of an experiment to its report: compared, held against the criteria, decided."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from steelyard.analysis.compared_arms import answering_models, compare_arms
from steelyard.analysis.compared_run import read_run
from steelyard.analysis.stored import summarise_stored
from steelyard.cli.experiment_runs import Attempt, changed_since
from steelyard.cli.found_run import FoundRuns
from steelyard.errors import UserMistake
from steelyard.records import RunHeader
from steelyard.release.asked import known_in
from steelyard.release.changed_factors import changed_factors, held_against
from steelyard.release.experiment import Arm, rule
from steelyard.report.experiment_sentences import ExperimentReport
from steelyard.same_instrument import rescored
from steelyard.suite.describe import describe
from steelyard.suite.experiment_criteria import check_on_suite
from steelyard.suite.experiment_file import Experiment
from steelyard.suite.model import SuiteModel

if TYPE_CHECKING:
    from steelyard.store.base import Store

_FOREIGN = "bring it in first: steelyard import {file} --suite SUITE"


def check_criteria(experiment: Experiment, suite: SuiteModel) -> None:
    """SuiteError when a criterion stands on a figure that the candidate's suite does not have, or cannot fail."""
    survey = suite.survey
    slices = {
        "category": list(survey.categories),
        "difficulty": list(survey.difficulties),
        "tag": list(survey.tags),
        "variant": [variant.name for variant in suite.variants if variant.name],
    }
    criteria = experiment.part.criteria
    known = known_in(describe(suite), slices if survey.n else None)
    check_on_suite(criteria.adopt, criteria.reject, known, experiment.located)


def on_attempt(
    experiment: Experiment, store: Store, attempt: Attempt, before: int, *, anyway: bool
) -> ExperimentReport:
    """The report on the runs of one attempt; `before` is how often the experiment was run earlier."""
    places = [(store, header.id) for header in (attempt.baseline, attempt.candidate) if header is not None]
    notes: tuple[str, ...] = ()
    if before:
        times = "once" if before == 1 else f"{before} times"
        notes = (f"run {times} before: whoever tries until it works finds something that works by chance",)
    return _decided(experiment, places, notes, anyway=anyway)


def on_runs(experiment: Experiment, names: tuple[str, str], store_url: str | None, *, anyway: bool) -> ExperimentReport:
    """The report on two runs by name, or two snapshot files; nothing is run.

    UserMistake when a run was made under another plan, unless it is asked for `anyway`.
    """
    with ExitStack() as closing:
        runs = FoundRuns(store_url, closing, hint=_FOREIGN)
        places = [runs.find(name) for name in names]
        notes = [_beforehand(experiment, store.run(name), anyway=anyway) for store, name in places]
        return _decided(experiment, places, tuple(note for note in notes if note), anyway=anyway)


def _beforehand(experiment: Experiment, header: RunHeader, *, anyway: bool) -> str:
    """What is to be said when a run does not carry the plan as it is now; "" when it does."""
    plan, told = experiment.plan(), header.options.get("experiment")
    if not isinstance(told, dict):
        return f"nothing shows that the criteria were written before run {header.id}: it carries no plan"
    if told.get("plan") == plan["plan"]:
        return ""
    changed = ", ".join(changed_since(told, plan)) or "its name"
    sentence = f"since run {header.id} was made, these have changed in the plan: {changed}"
    if not anyway:
        raise UserMistake(
            f"{experiment.file.name}: {sentence}. What was not written beforehand decides nothing: put it back, or"
            " decide in spite of it with --anyway"
        )
    return sentence


def _decided(
    experiment: Experiment, places: Sequence[tuple[Store, str]], notes: tuple[str, ...], *, anyway: bool
) -> ExperimentReport:
    part, plan = experiment.part, experiment.plan()["plan"]
    arms = [_arm(*place) for place in places]
    candidate = arms[1] if len(arms) == 2 else None
    comparison = changed = None
    if candidate is not None:
        slices = {factor: [one.name for one in found] for factor, found in candidate.summary.slices.items()}
        known = known_in(candidate.header.suite, slices)
        check_on_suite(part.criteria.adopt, part.criteria.reject, known, experiment.located)
        before, after = (read_run(*place) for place in places)
        comparison = compare_arms(rescored(before, after), after, anyway=anyway)
        answered = [answering_models(*place) for place in places]
        changed = held_against(part.factor, changed_factors(comparison, (answered[0], answered[1])))
    ruling = rule(part.criteria.adopt, part.criteria.reject, arms[0], candidate, comparison, changed, anyway=anyway)
    return ExperimentReport(
        name=experiment.name,
        hypothesis=part.hypothesis,
        factor=part.factor,
        file=str(experiment.file),
        plan=plan,
        beforehand=all((arm.header.options.get("experiment") or {}).get("plan") == plan for arm in arms),
        baseline=arms[0],
        candidate=candidate,
        comparison=comparison,
        ruling=ruling,
        notes=notes,
    )


def _arm(store: Store, name: str) -> Arm:
    header = store.run(name)
    return Arm(header, summarise_stored(store, header.id, header.suite, only_for_gates=True))
