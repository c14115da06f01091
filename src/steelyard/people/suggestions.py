"""Suggestions: answers that several runs or people agree on and that differ from the truth, for a person to decide."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import isnan, nan
from typing import Any, Literal

from steelyard.analysis.summary import answers_from
from steelyard.engine.rescore import OtherBalance, reading_of, same_question
from steelyard.errors import UsageError
from steelyard.people.truth import Author, edit_case
from steelyard.plugins import checked_call
from steelyard.records import Outcome, RunHeader, RunState
from steelyard.scoring.base import Reading, Scorer
from steelyard.scoring.evaluate import placed
from steelyard.scoring.extract import SchemaValidator, extract_json
from steelyard.scoring.names import Alternatives
from steelyard.scoring.numbers import as_number
from steelyard.scoring.structure import Fields
from steelyard.scoring.text import Choice, Contains, Regex, as_phrases, as_text, chosen, normalise, says_unknown
from steelyard.store.base import Store
from steelyard.store.people import ANSWER
from steelyard.suite.case import Case, compile_path, digest, put, split_path
from steelyard.suite.load import load_suite
from steelyard.suite.models import Component, SuiteModel
from steelyard.suite.redaction import EMAIL, NAME, PHONE, written_cases
from steelyard.suite.truth import SUGGESTION, Decision, LedgerLine, append_lines, ledger_line
from steelyard.suite.yaml import meant

_RIGHT = ""
"""What stands for every answer that is right."""
_LONGEST = 200
"""A longer text is no name or choice."""


@dataclass(frozen=True, slots=True)
class Rules:
    """When answers agree: at least so many voters say the same, and so large a share of all voters, and of the answers
    of each of them."""

    agree: int = 3
    share: float = 2 / 3


@dataclass(frozen=True, slots=True)
class Vote:
    """An answer of a run, or of a person, to one question of a case."""

    voter: str
    """Who counts once: a person, or a run; runs of the same recorded answers are one voter."""
    system: str
    """"" of a person."""
    case: str
    component: str = ""
    value: Any = None
    is_right: bool = False
    run: str = ""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An answer that could be the truth, with its evidence."""

    id: str
    case: str
    place: str
    """File and line of the case."""
    component: str
    path: str
    truth: Any
    value: Any
    voters: int
    n_voters: int
    """How many say so, of all who answered."""
    systems: int
    people: int
    """How many of those who say so are people."""
    answers: int
    n_answers: int
    runs: tuple[str, ...]
    alternative: dict[str, Any] = field(default_factory=dict)
    """What to set to accept it beside the truth; empty where the scorer knows one truth alone."""
    points: dict[str, float] = field(default_factory=dict)
    """By how it is accepted, the mean rise of the average score of all runs looked at, in points."""
    decision: str = ""
    """What was decided before."""
    state: str = ""
    """The digest of the case's truth."""


@dataclass(frozen=True, slots=True)
class _Question:
    """A part of the truth that is a text, a number or a choice, and how an answer to it is read and scored."""

    name: str
    component: Component
    scorer: Scorer
    path: str
    """Where in the case the truth is."""
    outer: Callable[[Any], Any]

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
        if not normalise(text) or len(text) > _LONGEST or any(mark in text for mark in (EMAIL, PHONE, NAME)):
            return None
        return None if says_unknown(text) else text

    def is_wrong(self, answer: Any, case: Case) -> bool | None:
        """Whether an answer counts as wrong; None where nothing is scored."""
        who = f"the scorer of {self.name}"
        reading = checked_call(who, self.scorer.read, self.outer(answer), case, returns=Reading)
        low, high = self.component.scale
        return None if reading.value is None else (reading.value - low) / (high - low) < self.component.wrong_below

    def alternative(self, case: Case, value: Any) -> dict[str, Any]:
        """By path, the truth with this value beside the others."""
        path = getattr(self.scorer, "also" if isinstance(self.scorer, Alternatives) else "keywords", None)
        if not isinstance(path, str) or split_path(path)[0] != "expected":
            return {}
        present = as_phrases(compile_path(path)(case) or []) or []
        if isinstance(self.scorer, Alternatives):
            return {path: [*present, value]}
        present_words = {word for phrase in present for word in normalise(phrase).split()}
        return {path: [*present, *(word for word in normalise(as_text(value)).split() if word not in present_words)]}


def _questions(suite: SuiteModel) -> Iterator[_Question]:
    for component in suite.components:
        scorer = placed(component, suite)
        parts = [("", scorer)]
        if isinstance(scorer, Fields):
            parts = [(f".{name}", part) for name, _, part in scorer.parts]
        for name, part in parts:
            path = getattr(part, "expected", None)
            is_field = isinstance(part, Scorer) and not isinstance(part, Regex | Contains)
            if is_field and isinstance(path, str) and split_path(path)[:1] == ("expected",):
                outer = scorer.answer_value if name else lambda answer: answer
                yield _Question(f"{component.name}{name}", component, part, path, outer)


def chosen_runs(store: Store, suite: SuiteModel, names: Sequence[str] = (), most: int = 50) -> list[RunHeader]:
    """The ended runs that are named, or the newest; of runs over the same answers, as of `rescore`, the newest."""
    stored = store.runs(suite.name)
    runs = [store.run(name) for name in names] or [run for run in stored if run.state is RunState.ENDED]
    for run in runs:
        if run.suite_name != suite.name or run.state is not RunState.ENDED:
            raise UsageError(f"run {run.id} is no ended run of suite {suite.name}")
    origin = {run.id: answers_from(run) for run in stored}
    by_answers: dict[str, RunHeader] = {}
    for run in runs:
        root = run.id
        while before := origin.get(root):
            root = before
        by_answers.setdefault(root, run)
    return list(by_answers.values())[:most]


class _Reader:
    """Reads answers as votes, by the truth as it is now; answers to another question are passed over."""

    def __init__(self, suite: SuiteModel, store: Store) -> None:
        self._suite, self._store = suite, store
        self.questions = {question.name: question for question in _questions(suite)}
        self.cases = {case.id: case for case in suite.cases} if self.questions else {}
        schema = suite.answer.schema_data
        self._validator = None if schema is None else SchemaValidator(schema)

    def of_runs(self, runs: Iterable[RunHeader]) -> Iterator[Vote]:
        """What the answers of runs say."""
        for header in runs if self.questions else ():
            made = digest([header.signature.get("target"), header.signature.get("prompts")])
            recorded = header.signature.get("target_kind") == "recorded"
            for sample, then in self._store.samples(header.id):
                call, system = sample.call_result, f"{made} {sample.variant}"
                if call.text is not None and sample.outcome.conclusive:
                    voter = system if recorded else f"{header.id} {sample.variant}"
                    vote = Vote(voter, system, sample.case_id, run=header.id)
                    yield from self._votes(vote, call.text, then, cut_off=call.cut_off)

    def of_people(self) -> Iterator[Vote]:
        """What people say who answered cases themselves; of those who labelled a run it is known what was asked."""
        labels = [label for label in self._store.people.labels(suite=self._suite.name) if label.kind == ANSWER]
        runs = {label.run_id for label in labels if label.run_id}
        asked = {run: {case.id: case for case in self._store.cases(run)} for run in runs}
        for label in labels:
            text = label.value if isinstance(label.value, str) else json.dumps(label.value, ensure_ascii=False)
            then = asked.get(label.run_id or "", {}).get(label.case_id)
            yield from self._votes(Vote(f"person {label.person}", "", label.case_id), text, then)

    def _votes(self, vote: Vote, text: str, then: Case | None, *, cut_off: bool = False) -> Iterator[Vote]:
        """What an answer says to each question; `then` is the case that was asked, None when that was not kept."""
        case, answer, shape = self.cases.get(vote.case), text, self._suite.answer
        if case is None or (then is not None and not same_question(case, then)):
            return
        if shape.format == "json":
            answer = extract_json(text, self._validator, repair=shape.repair and not cut_off).value
        for name, question in self.questions.items() if answer is not None else ():
            truth = question.scorer.expected_value(case)
            wrong = None if truth is None else question.is_wrong(answer, case)
            value = question.value(answer, truth) if wrong else None
            if wrong is not None and not (wrong and value is None):
                yield replace(vote, component=name, value=value, is_right=not wrong)


def suggestions(
    suite: SuiteModel,
    store: Store,
    runs: Sequence[RunHeader],
    rules: Rules | None = None,
    people: Iterable[Vote] | None = None,
) -> list[Suggestion]:
    """What voters agree on against the truth, worth most points first; those decided before say so.

    People vote by their answers in the store, unless their votes are given.
    """
    reader, worth = _Reader(suite, store), _Worth(suite, store, runs)
    votes: dict[tuple[str, str], list[Vote]] = defaultdict(list)
    for vote in chain(reader.of_runs(runs), reader.of_people() if people is None else people):
        votes[vote.case, vote.component].append(vote)
    decided = {line.suggestion.id: line.suggestion.outcome for line in suite.ledger if line.suggestion}
    results = []
    for (case_id, name), given in votes.items():
        case, question = reader.cases.get(case_id), reader.questions.get(name)
        if case and question and (key := _agreed(given, rules or Rules())):
            item = _suggestion(case, question, key, given)
            results.append(replace(item, points=worth.of(item, case), decision=decided.get(item.id, "")))
    return sorted(results, key=lambda item: (-max(item.points.values(), default=0.0), item.case, item.component))


def _key(vote: Vote) -> str:
    if vote.is_right:
        return _RIGHT
    return normalise(vote.value) if isinstance(vote.value, str) else repr(vote.value)


def _agreed(votes: Sequence[Vote], rules: Rules) -> str:
    """What enough voters say; "" where they do not agree, or on the truth."""
    by_voter: dict[str, Counter[str]] = defaultdict(Counter)
    for vote in votes:
        by_voter[vote.voter][_key(vote)] += 1
    firm = Counter(
        key for counts in by_voter.values() for key, n in counts.items() if n >= rules.share * counts.total()
    )
    key, n = firm.most_common(1)[0] if firm else (_RIGHT, 0)
    return key if n >= rules.agree and n >= rules.share * len(by_voter) else _RIGHT


def _suggestion(case: Case, question: _Question, key: str, votes: Sequence[Vote]) -> Suggestion:
    same = [vote for vote in votes if _key(vote) == key]
    spelled = Counter(repr(vote.value) for vote in same).most_common(1)[0][0]
    value = next(vote.value for vote in same if repr(vote.value) == spelled)
    return Suggestion(
        id=digest([case.id, question.name, key])[:8],
        case=case.id,
        place=case.source,
        component=question.name,
        path=question.path,
        truth=question.scorer.expected_value(case),
        value=value,
        voters=len({vote.voter for vote in same}),
        n_voters=len({vote.voter for vote in votes}),
        systems=len({vote.system for vote in same if vote.system}),
        people=len({vote.voter for vote in same if not vote.system}),
        answers=len(same),
        n_answers=len(votes),
        runs=tuple(sorted({vote.run for vote in same if vote.run})),
        alternative=question.alternative(case, value),
        state=digest(case.expected),
    )


class _Worth:
    """What another truth is worth: answers to the case scored again, nobody called."""

    def __init__(self, suite: SuiteModel, store: Store, runs: Sequence[RunHeader]) -> None:
        self._store, self._runs = store, []
        for run in runs:
            columns = store.columns(run.id)
            conclusive = [code for code, name in enumerate(columns.outcomes) if Outcome(name).conclusive]
            if n := sum(int((columns.outcome == code).sum()) for code in conclusive):
                self._runs.append((run, n, OtherBalance(suite, run.description.judge, same_judge=True)))

    def of(self, item: Suggestion, case: Case) -> dict[str, float]:
        """The mean rise of the average score, in points, by how the suggestion is accepted."""
        ways = {"correction": {item.path: item.value}} | ({"alternative": item.alternative} if item.alternative else {})
        return {way: self._rise(case, values) for way, values in ways.items()} if self._runs else {}

    def _rise(self, case: Case, values: dict[str, Any]) -> float:
        data: Any = {"expected": case.expected}
        for path, value in values.items():
            data = put(data, split_path(path), value)
        other, total = replace(case, **data), 0.0
        for run, n, balance in self._runs:
            for sample, then in self._store.samples(run.id, case_ids=[case.id]):
                scored = (reading_of(balance.evaluate(sample, item), by_pass=False) for item in (case, other))
                before, after = scored if same_question(case, then) else (nan, nan)
                total += 0.0 if isnan(after - before) else 100.0 * (after - before) / n
        return round(total / len(self._runs), 10)


# Decisions. A suggestion never becomes truth by itself.


def decide(
    place: str,
    listed: Sequence[Suggestion],
    name: str,
    outcome: Literal["alternative", "correction", "rejected"],
    author: Author,
) -> LedgerLine:
    """Make an answer the truth or an alternative to it, or reject it, with a line in the ledger that says why."""
    matching = [item for item in listed if name and item.id.startswith(name)]
    if len(matching) != 1:
        several = f"{len(matching)} suggestions begin with {name!r}" if matching else f"there is no suggestion {name!r}"
        raise UsageError(
            f"{several}{meant(name, [item.id for item in listed])}; see `steelyard truth suggest --all`, and give"
            " the same --agree and --run here as there"
        )
    (item,) = matching
    values = {"correction": {item.path: item.value}, "alternative": item.alternative}.get(outcome)
    if values == {}:
        raise UsageError(
            f"the scorer of {item.component} knows one truth alone: accept it as a correction, or score it by"
            " alternatives with also"
        )
    about = {"id": item.id, "component": item.component, "value": item.value, "runs": list(item.runs)}
    decision = Decision(outcome=outcome, points=item.points.get(outcome), **about)
    if values is not None:
        return edit_case(place, item.case, values, author, decision=decision, state=item.state)
    edit = {"what": SUGGESTION, "case": item.case, "before": item.state, "after": item.state, "suggestion": decision}
    line = ledger_line(by=author.by, reason=author.reason, **edit)
    append_lines(load_suite(place).folder, [line])
    return line


def accepted(suite: SuiteModel) -> list[Decision]:
    """What was decided of suggestions that became truth and still are."""
    lines = [line for line in suite.ledger if line.suggestion and line.change]
    cases = {case.id: case for case in written_cases(suite.cases)} if lines else {}

    def stands(line: LedgerLine, path: str, after: Any) -> bool:
        now = compile_path(path)(cases.get(line.case or ""))
        is_part = isinstance(now, list) and isinstance(after, list) and all(item in now for item in after)
        return is_part or now == after

    return [
        line.suggestion
        for line in lines
        if line.suggestion and all(stands(line, path, edit.get("after")) for path, edit in (line.change or {}).items())
    ]
