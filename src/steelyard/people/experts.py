"""Experts against the truth: they answer cases themselves, and where enough of them disagree the case is contested.

One person who disagrees only questions a case: otherwise whoever wants a gate to pass could contest exactly the failing
cases. It is contested when a second person disagrees as well, or when somebody else upholds it and records why.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.errors import SuiteError, UsageError
from steelyard.frozen import frozen
from steelyard.loading.load import suite_of_run
from steelyard.people.answer_agreement import f1, flatten
from steelyard.people.labels import plain
from steelyard.scoring.evaluate import Evaluated, Evaluator
from steelyard.stats.groups import mean, share
from steelyard.stats.intervals import Estimate
from steelyard.store.people import ANSWER, RULING, UPHELD, LabelRecord, person_key

if TYPE_CHECKING:
    from steelyard.records import RunHeader
    from steelyard.store.base import Store
    from steelyard.suite.models import SuiteModel

_INDEPENDENT = 2
"""How many people must disagree with a truth, each by an answer of their own, for the case to be contested."""

Answers = dict[str, dict[str, Any]]
"""By case and person, what an expert answered."""


@frozen
class Contested:
    """A case on which an expert disagrees with the truth, or experts with each other."""

    case_id: str
    why: str
    scores: dict[str, float | None]
    """By person, what the answer earns by the truth, from 0 to 1; None when it cannot be scored."""
    against: tuple[str, ...] = ()
    """The people whose own answer does not pass by the truth."""
    raised_by: tuple[str, ...] = ()
    """The people whose own answer is not known to pass by the truth: none of them may decide."""
    ruling: str = ""
    """upheld or dismissed; "" when nobody has decided."""

    @property
    def stands(self) -> bool:
        """Whether the case is contested, and not only questioned by one person."""
        return self.ruling == UPHELD or (not self.ruling and len(self.against) >= _INDEPENDENT)


@frozen
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
    questioned: tuple[Contested, ...] = ()
    """Those that one person questions, or on which experts differ from each other alone: they count as any other."""


def _answers(store: Store, suite_name: str, names: Callable[[str], str] = str) -> Answers:
    """An expert answers a case, not a run of it: who answered it in several runs is taken by the newest answer."""
    answers: Answers = {}
    for label in store.people.labels(suite=suite_name):
        if label.kind == ANSWER and label.round == 0:
            answers.setdefault(label.case_id, {})[names(label.person)] = label.value
    return answers


def experts_of(store: Store, suite: SuiteModel, names: Callable[[str], str] = str) -> Experts:
    """The answers of experts to a suite's cases, scored as the system's answers are; nobody is called."""
    answers = _answers(store, suite.name, names)
    cases = {case.id: case for case in suite.cases if case.id in answers}
    answers = {case_id: given for case_id, given in answers.items() if case_id in cases}
    evaluator, scored, n_unscored = Evaluator(suite), dict[str, dict[str, Evaluated]](), 0
    for case_id, given in answers.items():
        for person, answer in given.items():
            text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
            result = evaluator.evaluate(text, cases[case_id])
            if result.to_judge is None and not evaluator.needs_models:
                scored.setdefault(case_id, {})[person] = result
            else:
                # Only a judge or another model could say, which is not asked.
                n_unscored += 1
    rows = [(at, result) for at, given in enumerate(scored.values()) for result in given.values()]
    case = np.array([at for at, _ in rows], dtype=int)
    passed, decided = (
        np.array([result.passed in allowed for _, result in rows], dtype=bool) for allowed in ((True,), (True, False))
    )
    found = _questioned(answers, scored, _rulings(store, suite.name, names))
    return Experts(
        n_cases=len(answers),
        people=tuple(sorted({person for given in answers.values() for person in given})),
        by_truth=share(passed, decided, case, n_unscored),
        score=mean(np.array([result.score for _, result in rows], dtype=float), case, (0.0, 1.0), n_unscored),
        by_each_other=_each_other(answers),
        contested=tuple(item for item in found if item.stands),
        questioned=tuple(item for item in found if not item.stands),
    )


def contested_in(store: Store, header: RunHeader) -> tuple[Contested, ...]:
    """The contested cases of a run, those whose answers earn least by the truth first.

    The truth is that of the run's suite as it is found by its name now; where there is none experts are held against
    each other alone.
    """
    answers = _answers(store, header.suite_name)
    if not answers:
        return ()
    try:
        contested = experts_of(store, suite_of_run(header)).contested
    except (UsageError, SuiteError):
        found = _questioned(answers, {}, _rulings(store, header.suite_name))
        contested = tuple(item for item in found if item.stands)
    present = set(store.columns(header.id).case_ids)
    lowest = {item.case_id: min((score or 0.0 for score in item.scores.values()), default=0.0) for item in contested}
    return tuple(sorted((i for i in contested if i.case_id in present), key=lambda i: (lowest[i.case_id], i.case_id)))


def _each_other(answers: Answers) -> Estimate:
    """Of two experts on one case: each field is one thing to agree on, and so is each item of a list."""
    pairs = [
        (at, (_things(first), _things(second)))
        for at, given in enumerate(answers.values())
        for first, second in combinations(given.values(), 2)
    ]
    return f1([sides for _, sides in pairs], np.array([at for at, _ in pairs], dtype=int))


def _things(answer: Any) -> list[Any]:
    things: list[Any] = []
    for name, value in flatten(answer).items():
        things += [[name, item] for item in value] if isinstance(value, list) else [[name, plain(value)]]
    return things


def _questioned(
    answers: Answers, scored: dict[str, dict[str, Evaluated]], rulings: dict[str, LabelRecord]
) -> list[Contested]:
    """Every case on which an expert disagrees with the truth, or experts with each other, and what was decided."""
    found = []
    for case_id, given in answers.items():
        results = scored.get(case_id, {})
        against = tuple(person for person, result in results.items() if result.passed is False)
        # The order of items and spans says nothing.
        different = {
            tuple(sorted(json.dumps(thing, sort_keys=True) for thing in _things(value))) for value in given.values()
        }
        why = [f"{len(against)} of {len(given)} experts disagree with the truth"] if against else []
        why += ["experts disagree with each other"] if len(different) > 1 else []
        if not why:
            continue
        raised_by = tuple(person for person in given if person not in results or results[person].passed is not True)
        ruling = rulings.get(case_id)
        if ruling is not None and person_key(ruling.person) in map(person_key, raised_by):
            # Who decided has raised it since.
            ruling = None
        why += [f"{ruling.value}: {ruling.comment}"] if ruling is not None else []
        scores: dict[str, float | None] = {person: result.score for person, result in results.items()}
        decided = "" if ruling is None else str(ruling.value)
        found.append(Contested(case_id, "; ".join(why), scores, against, raised_by, decided))
    return found


def _rulings(store: Store, suite_name: str, names: Callable[[str], str] = str) -> dict[str, LabelRecord]:
    """By case, the newest decision on whether it is contested."""
    labels = [label for label in store.people.labels(suite=suite_name) if label.kind == RULING]
    return {label.case_id: replace(label, person=names(label.person)) for label in labels}


def rule(store: Store, suite: SuiteModel, case_id: str, value: str, person: str, reason: str) -> None:
    """Record that somebody upholds or dismisses what an expert says against a truth.

    UsageError when nobody questions the case, when no reason is given, or when it is decided by a person who raised it.
    """
    experts = experts_of(store, suite)
    found = {item.case_id: item for item in (*experts.contested, *experts.questioned)}
    if case_id not in found:
        near = f"; questioned are {', '.join(sorted(found))}" if found else ""
        raise UsageError(f"no expert questions case {case_id!r} of {suite.name}{near}")
    if not reason.strip():
        raise UsageError("a decision needs its reason: give --why TEXT")
    if person_key(person) in map(person_key, found[case_id].raised_by):
        disagrees = person_key(person) in map(person_key, found[case_id].against)
        raised = "disagrees with the truth of" if disagrees else "is one of those who question"
        raise UsageError(
            f"{person} {raised} {case_id}: somebody else must decide whether it is contested; give --as NAME"
        )
    earlier = _rulings(store, suite.name).get(case_id)
    if earlier is not None and earlier.number is not None:
        store.people.withdraw(earlier.number)
    store.people.add_labels([LabelRecord(suite.name, case_id, person, RULING, value, comment=reason.strip())])
