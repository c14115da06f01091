"""Experts against the truth: they answer cases themselves, and where they disagree the case is contested."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.errors import SuiteError, UsageError
from steelyard.people.agreement import f1, flatten
from steelyard.people.labels import ANSWER
from steelyard.scoring.evaluate import Evaluated, Evaluator
from steelyard.stats.groups import mean, share
from steelyard.stats.intervals import Estimate
from steelyard.suite.load import suite_of_run

if TYPE_CHECKING:
    from steelyard.records import RunHeader
    from steelyard.store.base import Store
    from steelyard.store.people import LabelRecord
    from steelyard.suite.case import Case
    from steelyard.suite.models import SuiteModel


@dataclass(frozen=True, slots=True)
class Contested:
    """A case on which an expert disagrees with the truth, or experts with each other."""

    case_id: str
    why: str
    scores: dict[str, float | None]
    """By person, what the answer earns by the truth, from 0 to 1; None when it cannot be scored."""


@dataclass(frozen=True, slots=True)
class Experts:
    """What experts' own answers say of the truth."""

    n_cases: int
    """Cases that an expert answered."""
    people: tuple[str, ...]
    by_truth: Estimate
    """Share of experts' answers that pass by the truth: how well the truth predicts an expert."""
    score: Estimate
    """What experts' answers earn by the truth on average."""
    by_each_other: Estimate
    """Share of fields, items and spans on which two experts say the same: how well experts predict each other."""
    contested: tuple[Contested, ...]


def experts_of(store: Store, suite: SuiteModel, names: Callable[[str], str] = str) -> Experts:
    """The answers of experts to a suite's cases, scored as the system's answers are; nobody is called."""
    labels = [label for label in store.people.labels(suite=suite.name) if label.kind == ANSWER and label.round == 0]
    wanted = {label.case_id for label in labels}
    cases = {case.id: case for case in suite.cases if case.id in wanted}
    by_case: dict[str, dict[str, LabelRecord]] = {}
    for label in labels:
        if label.case_id in cases:
            by_case.setdefault(label.case_id, {})[names(label.person)] = label
    evaluator = Evaluator(suite)
    scored = {
        case_id: {
            person: result
            for person, label in given.items()
            if (result := _scored(evaluator, label.value, cases[case_id])) is not None
        }
        for case_id, given in by_case.items()
    }
    n_unscored = sum(map(len, by_case.values())) - sum(map(len, scored.values()))
    rows = [(at, result) for at, case_id in enumerate(scored) for result in scored[case_id].values()]
    case = np.array([at for at, _ in rows], dtype=int)
    passed = np.array([bool(result.passed) for _, result in rows], dtype=bool)
    decided = np.array([result.passed is not None for _, result in rows], dtype=bool)
    earned = np.array([result.score for _, result in rows], dtype=float)
    return Experts(
        n_cases=len(by_case),
        people=tuple(sorted({person for given in by_case.values() for person in given})),
        by_truth=share(passed, decided, case, n_unscored),
        score=mean(earned, case, (0.0, 1.0), n_unscored),
        by_each_other=_each_other(by_case.values()),
        contested=tuple(_contested(by_case, scored)),
    )


def contested_in(store: Store, header: RunHeader) -> tuple[Contested, ...]:
    """The contested cases of a run, those whose answers earn least by the truth first.

    The truth is that of the run's suite as it is found by its name now; where there is none experts are held against
    each other alone.
    """
    labels = [label for label in store.people.labels(suite=header.suite_name) if label.kind == ANSWER]
    if not labels:
        return ()
    try:
        contested = experts_of(store, suite_of_run(header)).contested
    except (UsageError, SuiteError):
        by_case: dict[str, dict[str, LabelRecord]] = {}
        for label in labels:
            if label.round == 0:
                by_case.setdefault(label.case_id, {})[label.person] = label
        contested = tuple(_contested(by_case, {}))
    present = set(store.columns(header.id).case_ids)
    lowest = {item.case_id: min((score or 0.0 for score in item.scores.values()), default=0.0) for item in contested}
    return tuple(sorted((i for i in contested if i.case_id in present), key=lambda i: (lowest[i.case_id], i.case_id)))


def _scored(evaluator: Evaluator, answer: Any, case: Case) -> Evaluated | None:
    """What an expert's answer earns; None where only a judge could say, who is not asked."""
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    result = evaluator.evaluate(text, case)
    return None if result.to_judge is not None else result


def _each_other(cases: Iterable[dict[str, LabelRecord]]) -> Estimate:
    """Of two experts on one case: each field is one thing to agree on, and so is each item of a list."""
    lists, of = [], []
    for at, given in enumerate(cases):
        for first, second in combinations(given.values(), 2):
            sides = [_things(label.value) for label in (first, second)]
            lists.append((sides[0], sides[1]))
            of.append(at)
    return f1(lists, np.array(of, dtype=int))


def _things(answer: Any) -> list[Any]:
    things: list[Any] = []
    for name, value in flatten(answer).items():
        if isinstance(value, list):
            things += [[name, item] for item in value]
        else:
            things.append([name, _plain(value)])
    return things


def _plain(value: Any) -> Any:
    """A value without what makes no difference: white space and case of texts, and 1.0 for 1."""
    if isinstance(value, str):
        return " ".join(value.split()).casefold()
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _contested(
    by_case: dict[str, dict[str, LabelRecord]], scored: dict[str, dict[str, Evaluated]]
) -> Iterable[Contested]:
    for case_id, given in by_case.items():
        results = scored.get(case_id, {})
        against = [person for person, result in results.items() if result.passed is False]
        values = [label.value for label in given.values()]
        apart = any(not _alike(x, y) for x, y in combinations(values, 2))
        if against or apart:
            why = [f"{len(against)} of {len(given)} experts disagree with the truth"] if against else []
            why += ["experts disagree with each other"] if apart else []
            yield Contested(case_id, "; ".join(why), {person: result.score for person, result in results.items()})


def _alike(x: Any, y: Any) -> bool:
    """Whether two answers are the same; the order of items and spans says nothing, as in `_things`."""
    first, second = (sorted(json.dumps(thing, sort_keys=True) for thing in _things(answer)) for answer in (x, y))
    return first == second
