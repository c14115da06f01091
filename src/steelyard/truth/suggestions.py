"""Suggestions: answers that several runs or people agree on and that differ from the truth, for a person to decide."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from math import isnan, nan
from typing import Any

from steelyard.engine.other_suite import OtherBalance, reading_of
from steelyard.engine.rescore import same_question
from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.loading.load import PENDING_SUFFIX
from steelyard.records import RunHeader, RunState
from steelyard.scoring.aliases import Alternatives
from steelyard.scoring.base import Reading, Scorer
from steelyard.scoring.evaluate import placed
from steelyard.scoring.extract import extract_json
from steelyard.scoring.json_schema import SchemaValidator
from steelyard.scoring.numbers import Number, as_number
from steelyard.scoring.spelling import as_phrases, as_text, normalise
from steelyard.scoring.structure import Fields
from steelyard.scoring.text import Choice, Contains, Regex, chosen
from steelyard.scoring.unknown import says_unknown
from steelyard.store.base import Store
from steelyard.store.headers import origin
from steelyard.store.people import ANSWER, LabelRecord
from steelyard.suite.case import Case, digest
from steelyard.suite.cases import pending_cases
from steelyard.suite.models import Component, SuiteModel
from steelyard.suite.paths import MISSING, compile_path, put, split_path
from steelyard.suite.redaction import EMAIL, NAME, PHONE
from steelyard.suite.truth import case_paths
from steelyard.truth.edits import truth_state
from steelyard.user_code import checked_call

_SHARE = 2 / 3
"""So large a share of all voters must agree, and so many of the answers of each of them."""
_LONGEST = 200
"""A longer text is no name or choice."""


@frozen
class Suggestion:
    """An answer that could be the truth, with its evidence."""

    id: str
    case: str
    place: str
    """File and line of the case."""
    component: str
    truth: Any
    value: Any
    voters: int
    """How many say so, of `n_voters` who answered; the same for `answers`."""
    n_voters: int
    systems: int
    people: int
    """How many of those who say so are people."""
    answers: int
    n_answers: int
    runs: tuple[str, ...]
    ways: dict[str, dict[str, Any]]
    """By how it is accepted (`correction`, and `alternative` where the scorer takes several), what is set at which
    path."""
    state: str
    """The digest of the case's truth."""
    points: dict[str, float] = field(default_factory=dict)
    """By how it is accepted, the mean rise of the average score of all runs looked at, in points."""
    decision: str = ""
    """What was decided before."""
    pending: bool = False
    """Whether the case has no truth yet: what is accepted is filled in."""


@frozen
class _Vote:
    """What somebody's answer says to one question."""

    voter: str
    """Who counts once: a person, or a run; runs of the same recorded answers are one voter."""
    system: str = ""
    run: str = ""
    """Both "" of a person."""
    value: Any = None
    """None when the answer is right."""

    @property
    def key(self) -> str:
        """The value, whatever its spelling; "" when the answer is right."""
        text = self.value if isinstance(self.value, str) else repr(self.value)
        return "" if self.value is None else normalise(text) or text


@frozen
class _Question:
    """A part of the truth that is a text, a number or a choice, and how an answer to it is read and scored."""

    name: str
    component: Component
    scorer: Scorer
    path: str
    """Where in the case the truth is."""
    outer: Callable[[Any], Any]

    @property
    def dependent(self) -> list[str]:
        """The paths of the truth that mean something only beside this one: keywords, alternatives."""
        paths = [path for name, path in case_paths(self.scorer) if name != "expected"]
        return [path for path in paths if split_path(path)[:1] == ("expected",)]

    def is_wrong(self, answer: Any, case: Case) -> bool | None:
        """Whether an answer counts as wrong; None where nothing is scored."""
        who, part = f"the scorer of {self.name}", self.outer(answer)
        reading = checked_call(who, self.scorer.read, part, case, returns=Reading)
        low, high = self.component.scale
        return None if reading.value is None else (reading.value - low) / (high - low) < self.component.wrong_below

    def value(self, answer: Any, truth: Any) -> Any:
        """The answer in the terms of the truth; None when it says nothing that could be one."""
        got = self.scorer.answer_value(self.outer(answer))
        if isinstance(truth, bool):
            return got if isinstance(got, bool) else None
        if isinstance(truth, int | float):
            number = as_number(got)
            return int(number) if number is not None and number.is_integer() else number
        text = as_text(got).strip()
        if isinstance(self.scorer, Choice):
            return chosen(text, self.scorer.labels, inside=self.scorer.inside)
        is_name = normalise(text) and len(text) <= _LONGEST and not says_unknown(text) and not is_redacted(text)
        return text if is_name else None

    def stated(self, answer: Any) -> Any:
        """What an answer states where there is no truth yet: a value, or by parameter of the scorer several."""
        if not self.path:
            return dict(self.scorer.stated(self.outer(answer))) or None
        return self.value(answer, 0 if isinstance(self.scorer, Number) else "")

    def ways(self, case: Case, value: Any) -> dict[str, dict[str, Any]]:
        """What to set at which path to make a value the truth, or one of several."""
        if not self.path:
            return {"correction": {str(getattr(self.scorer, name)): part for name, part in value.items()}}
        ways = {"correction": {self.path: value}}
        if case.pending:
            return ways
        path = getattr(self.scorer, "also" if isinstance(self.scorer, Alternatives) else "keywords", None)
        if isinstance(path, str) and split_path(path)[0] == "expected":
            present = as_phrases(compile_path(path)(case) or []) or []
            words = {word for phrase in present for word in normalise(phrase).split()}
            more = [word for word in normalise(as_text(value)).split() if word not in words]
            ways["alternative"] = {path: [*present, *([value] if isinstance(self.scorer, Alternatives) else more)]}
        return ways


def is_redacted(text: str) -> bool:
    """Whether a text holds a mark of what was redacted, which is no truth."""
    return any(mark in text for mark in (EMAIL, PHONE, NAME))


def _questions(suite: SuiteModel) -> Iterator[_Question]:
    for component in suite.computed:
        scorer = placed(component, suite)
        parts = [("", scorer)]
        if isinstance(scorer, Fields):
            parts = [(f".{name}", part) for name, _, part in scorer.parts]
        for name, part in parts:
            path = getattr(part, "expected", None)
            is_field = isinstance(part, Scorer) and not isinstance(part, Regex | Contains)
            # A truth of several parts, such as a range, can be stated where there is none yet.
            path = path or ("" if is_field and type(part).stated is not Scorer.stated else None)
            if is_field and isinstance(path, str) and split_path(path)[:1] in ((), ("expected",)):
                outer = scorer.answer_value if name else lambda answer: answer
                yield _Question(f"{component.name}{name}", component, part, path, outer)


def _names(suite: SuiteModel) -> tuple[str, ...]:
    """The names of a suite's runs: its own, and that of runs of its pending cases."""
    return (suite.name, f"{suite.name}{PENDING_SUFFIX}")


def chosen_runs(
    store: Store, suite: SuiteModel, names: Sequence[str] = (), most: int = 50, *, pending: bool = False
) -> list[RunHeader]:
    """The ended runs that are named, or the newest; of runs over the same answers, as of `rescore`, the newest.

    With `pending` also those of the suite's pending cases.
    """
    of_suite = _names(suite) if pending else (suite.name,)
    stored = {run.id: run for name in of_suite for run in store.runs(name)[:most]}
    runs = [store.run(name) for name in names] or [run for run in stored.values() if run.state is RunState.ENDED]
    by_answers: dict[str, RunHeader] = {}
    for run in runs:
        if run.suite_name not in of_suite or run.state is not RunState.ENDED:
            raise UsageError(f"run {run.id} is no ended run of suite {suite.name}")
        by_answers.setdefault(origin(run, stored), run)
    return list(by_answers.values())[: most * len(of_suite)]


class _Votes:
    """Answers read as votes, by the truth as it is now; answers to another question are passed over."""

    def __init__(self, suite: SuiteModel, store: Store, runs: Sequence[RunHeader]) -> None:
        self._shape = suite.answer
        self._validator = None if suite.answer.schema_data is None else SchemaValidator(suite.answer.schema_data)
        self.questions = {question.name: question for question in _questions(suite)}
        self.cases = {case.id: case for case in (*suite.cases, *pending_cases(suite))} if self.questions else {}
        self.by_question: dict[tuple[str, str], list[_Vote]] = defaultdict(list)
        """By case and question."""
        self.n_answers = Counter[str]()
        """By run, the answers that its average is of."""
        for header in runs if self.questions else ():
            self._add_run(store, header)
        labels = [label for name in _names(suite) for label in store.people.labels(suite=name)]
        self._add_people([label for label in labels if label.kind == ANSWER], store)

    def _add_run(self, store: Store, header: RunHeader) -> None:
        made = digest([header.signature.target, header.signature.prompts])
        recorded = header.signature.target_kind == "recorded"
        for sample, asked in store.samples(header.id):
            call, system = sample.call_result, f"{made} {sample.variant}"
            self.n_answers[header.id] += sample.outcome.conclusive
            if call.text is not None and sample.outcome.conclusive:
                voter = system if recorded else f"{header.id} {sample.variant}"
                self._add(_Vote(voter, system, header.id), sample.case_id, call.text, asked, cut_off=call.cut_off)

    def _add_people(self, labels: Sequence[LabelRecord], store: Store) -> None:
        """Those who labelled a run are known to have been asked what it asked."""
        runs = {label.run_id for label in labels if label.run_id}
        asked = {(run, case.id): case for run in runs for case in store.cases(run)}
        for label in labels:
            text = label.value if isinstance(label.value, str) else json.dumps(label.value, ensure_ascii=False)
            then = asked.get((label.run_id or "", label.case_id))
            self._add(_Vote(f"person {label.person}"), label.case_id, text, then)

    def _add(self, vote: _Vote, case_id: str, text: str, asked: Case | None, *, cut_off: bool = False) -> None:
        """Take what an answer says to each question; `asked` is the case then, None when it was not kept."""
        case, answer = self.cases.get(case_id), text
        if case is None or (asked is not None and not same_question(case, asked)):
            return
        if self._shape.format == "json":
            answer = extract_json(text, self._validator, repair=self._shape.repair and not cut_off).value
        for question in self.questions.values() if answer is not None else ():
            if case.pending:
                if (value := question.stated(answer)) is not None:
                    self.by_question[case_id, question.name].append(replace(vote, value=value))
                continue
            truth = question.scorer.expected_value(case)
            wrong = None if truth is None else question.is_wrong(answer, case)
            value = question.value(answer, truth) if wrong else None
            if wrong is False or value is not None:
                self.by_question[case_id, question.name].append(replace(vote, value=value))


def suggestions(suite: SuiteModel, store: Store, runs: Sequence[RunHeader], agree: int = 3) -> list[Suggestion]:
    """What at least so many runs and people agree on against the truth, worth most points first; those decided before
    say so."""
    votes = _Votes(suite, store, runs)
    scored = [run for run in runs if not run.description.pending_of]
    rise = _rise(suite, store, [(run, n) for run in scored if (n := votes.n_answers[run.id])])
    decided = {line.suggestion.id: line.suggestion.outcome for line in suite.ledger if line.suggestion}
    results = []
    for (case_id, name), given in votes.by_question.items():
        if same := _agreed(given, agree):
            case = votes.cases[case_id]
            item = _suggestion(case, votes.questions[name], same, given)
            # What depends on the old truth goes with it: a person gives it anew.
            gone = dict.fromkeys(votes.questions[name].dependent, MISSING)
            ways = {way: values | (gone if way == "correction" else {}) for way, values in item.ways.items()}
            rises = {way: None if case.pending else rise(case, values) for way, values in ways.items()}
            points = {way: points for way, points in rises.items() if points is not None}
            results.append(replace(item, points=points, decision=decided.get(item.id, "")))
    return sorted(results, key=lambda item: (-max(item.points.values(), default=0.0), item.case, item.component))


def truth_of_answer(suite: SuiteModel, case: Case, answer: Any) -> dict[str, Any]:
    """What an answer to a pending case says in the terms of the truth, by path of the case."""
    values: dict[str, Any] = {}
    for question in _questions(suite):
        if (value := question.stated(answer)) is not None:
            values |= question.ways(case, value)["correction"]
    return values


def _agreed(votes: Sequence[_Vote], agree: int) -> list[_Vote]:
    """The votes for what enough voters say; none where they do not agree, or on the truth."""
    by_voter: dict[str, Counter[str]] = defaultdict(Counter)
    for vote in votes:
        by_voter[vote.voter][vote.key] += 1
    firm = Counter(key for counts in by_voter.values() for key, n in counts.items() if n >= _SHARE * counts.total())
    key, n = firm.most_common(1)[0] if firm else ("", 0)
    enough = n >= agree and n >= _SHARE * len(by_voter)
    return [vote for vote in votes if enough and key and vote.key == key]


def _suggestion(case: Case, question: _Question, same: Sequence[_Vote], votes: Sequence[_Vote]) -> Suggestion:
    spelled = Counter(repr(vote.value) for vote in same).most_common(1)[0][0]
    value = next(vote.value for vote in same if repr(vote.value) == spelled)
    return Suggestion(
        id=digest([case.id, question.name, same[0].key])[:8],
        case=case.id,
        place=case.source,
        component=question.name,
        truth=question.scorer.expected_value(case) if question.path else None,
        value=value,
        voters=len({vote.voter for vote in same}),
        n_voters=len({vote.voter for vote in votes}),
        systems=len({vote.system for vote in same if vote.system}),
        people=len({vote.voter for vote in same if not vote.system}),
        answers=len(same),
        n_answers=len(votes),
        runs=tuple(sorted({vote.run for vote in same if vote.run})),
        ways=question.ways(case, value),
        state=truth_state(case),
        pending=case.pending,
    )


def _rise(
    suite: SuiteModel, store: Store, runs: Sequence[tuple[RunHeader, int]]
) -> Callable[[Case, dict[str, Any]], float | None]:
    """What other values in the truth of a case are worth: the mean rise of the runs' average scores, in points.

    Answers to the case are scored again, and nobody is called; each run comes with how many answers its average is of.
    """
    balances = [(run, n, OtherBalance(suite, run.description.judge, same_judge=True)) for run, n in runs]

    def rise(case: Case, values: dict[str, Any]) -> float | None:
        data: Any = {"expected": case.expected}
        for path, value in values.items():
            data = put(data, split_path(path), value)
        other, total = replace(case, **data), 0.0
        for run, n, balance in balances:
            for sample, asked in store.samples(run.id, case_ids=[case.id]):
                scored = (reading_of(balance.evaluate(sample, item), by_pass=False) for item in (case, other))
                before, after = scored if same_question(case, asked) else (nan, nan)
                total += 0.0 if isnan(after - before) else 100.0 * (after - before) / n
        return round(total / len(balances), 10) if balances else None

    return rise
