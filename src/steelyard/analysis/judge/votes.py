"""What judges said in a run, as columns: what every metric of a judge is computed from.

Texts come with what their votes come to, votes with what they say, both with what labels say of the texts. The answers
themselves pass by once and are not kept.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.analysis.judge.labels import as_number
from steelyard.analysis.judge.people import PeopleFigures, people_beside
from steelyard.analysis.judge.reasons import ReasonCounter, exclusion_reason, is_excluded
from steelyard.analysis.judge.rubric import (
    DescribedRubric,
    Labels,
    answers_to_findings,
    broken_rules,
    described_rubric,
    rebuttals,
    votes_of,
)
from steelyard.analysis.model import MAX_REBUTTALS, Rebuttal
from steelyard.frozen import frozen
from steelyard.metrics.registry import Contributions, Metric, Names, metrics
from steelyard.records import Judgement, Vote
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Estimate
from steelyard.store.base import Columns, JudgedSample
from steelyard.suite.judge import REBUTTED, UNANSWERED
from steelyard.suite.labels import Label

if TYPE_CHECKING:
    from steelyard.metrics.run_data import RunData

_OF_TEXTS = {
    **dict.fromkeys(("case", "variant", "repeat"), "i"),
    **dict.fromkeys(("length", "uncapped", "capped"), "d"),
    **dict.fromkeys(("labelled", "in_mode", "silent"), "b"),
}
_OF_VOTES = {
    **dict.fromkeys(("text", "member", "step"), "i"),
    "stated": "d",
    **dict.fromkeys(("mode", "main"), "b"),
}
_OF_REMARKS = {"vote": "i", "code": "i"}
_OF_ANSWERS = {"text": "i", "answer": "b"}
_ANSWERS = (REBUTTED, UNANSWERED)
VoteValue = Callable[[Vote, DescribedRubric], float | None]
TextValue = Callable[[Judgement, DescribedRubric], float | None]
"""What a vote, or what all votes on a text come to, brings into a metric; None when it is not in it."""


class OfVotes:
    """The rows of a metric to which every vote brings a value; `excluded` says why one brings none."""

    def __init__(self, value: VoteValue, excluded: str = "") -> None:
        self.value, self.excluded = value, excluded

    def __call__(self, data: RunData, _: Names) -> Contributions:
        votes = votes_in(data)
        return vote_rows(data, votes, votes.made[self].astype(float), self.excluded)


class OfTexts:
    """The same of a metric to which every judged text brings a value."""

    def __init__(self, value: TextValue, excluded: str = "") -> None:
        self.value, self.excluded = value, excluded

    def __call__(self, data: RunData, _: Names) -> Contributions:
        votes = votes_in(data)
        return text_rows(votes, votes.made[self].astype(float), self.excluded)


def vote_rows(data: RunData, votes: Votes, values: Array, excluded: str = "") -> Contributions:
    """Rows of votes, NaN where one is not in the metric."""
    members, steps = list(votes.members), list(votes.step_names)

    def detail(row: int) -> str:
        text = votes.text[row]
        sample = data.sample(int(votes.sample[text]))
        vote = None if sample is None or sample.judgement is None else votes_of(sample.judgement)
        why = "" if vote is None else vote[row - int(votes.first[text])].message
        return f"{members[votes.member[row]] or 'no vote'}: {steps[votes.step[row]]}{f', {why}' if why else ''}"

    return Contributions(
        values, excluded=((excluded, None),) if excluded else (), detail=detail, sample=votes.sample[votes.text]
    )


def text_rows(
    votes: Votes,
    values: Array,
    excluded: str = "",
    texts: Array | None = None,
    detail: Callable[[int], str] | None = None,
) -> Contributions:
    """Rows of judged texts, of all or of some; `values` has one for each of these."""
    sample = votes.sample if texts is None else votes.sample[texts]
    return Contributions(values, excluded=((excluded, None),) if excluded else (), detail=detail, sample=sample)


class _Table:
    """Columns that grow by a row at a time; a number takes as many bytes as its type."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        self.columns: dict[str, array[Any]] = {name: array(kind) for name, kind in columns.items()}

    def add(self, *row: float | Sequence[float]) -> None:
        """One more row; several numbers in one column stand side by side."""
        for column, value in zip(self.columns.values(), row, strict=True):
            if isinstance(value, list):
                column.extend(value)
            else:
                column.append(value)

    def take(self, name: str) -> Array:
        """A finished column."""
        column: Array = np.array(self.columns.pop(name))
        return column


class Votes:
    """The judgements of a run, read once: what every metric of a judge is computed from.

    `judged` are its judged samples, `columns` all of its samples, `unit` the unit of evidence of each of these, and
    `case_labels` what a reviewer says of its cases, None where nobody was to.
    """

    def __init__(
        self,
        judged: Iterable[JudgedSample],
        rubric: DescribedRubric,
        columns: Columns,
        unit: Array,
        case_labels: Mapping[str, Labels] | None = None,
    ) -> None:
        self.rubric = rubric
        self.case_ids = columns.case_ids
        self.mode_names: dict[str, int] = {}
        self.step_names: dict[str, int] = {}
        self.members: dict[str, int] = {}
        self.remark_names: dict[str, int] = {}
        self.broken: Counter[str] = Counter()
        """Votes that broke each rule."""
        self.reasons = ReasonCounter()
        self._why_excluded: Counter[str] = Counter()
        self.rebuttals: list[Rebuttal] = []
        self._names = (*rubric.dimensions, *rubric.flags)
        self._texts, self._votes, self._remarks, self._answers = map(
            _Table, (_OF_TEXTS, _OF_VOTES, _OF_REMARKS, _OF_ANSWERS)
        )
        every = [(metric.contributions, _kind(metric)) for metric in metrics(("judge",)).values()]
        self._of_texts: dict[OfTexts, array[Any]] = {
            item: array(kind) for item, kind in every if isinstance(item, OfTexts)
        }
        self._of_votes: dict[OfVotes, array[Any]] = {
            item: array(kind) for item, kind in every if isinstance(item, OfVotes)
        }
        self.n_texts = self.n = 0
        cases = {case_id: at for at, case_id in enumerate(columns.case_ids)}
        variants = {name: at for at, name in enumerate(columns.variants)}
        for item in judged:
            self._read(item, cases[item.case_id], variants[item.variant])
        self._to_columns(columns, unit)
        self.labels = TextLabels(self, case_labels or {})
        self.people = cache(self._people)
        self._once: dict[tuple[object, ...], Estimate] = {}

    def _read(self, judged: JudgedSample, case: int, variant: int) -> None:
        judgement, rubric = judged.judgement, self.rubric
        main = judgement.mode == rubric.mode
        if judgement.mode is None:
            self.reasons.add(judgement)
        elif is_excluded(judgement, rubric):
            self._why_excluded[exclusion_reason(judgement, rubric)] += 1
        for of, column in self._of_texts.items():
            value = of.value(judgement, rubric)
            column.append(math.nan if value is None else value)
        self._texts.add(
            *(case, variant, judged.repeat),
            math.nan if judged.text_length is None else judged.text_length,
            *(self._values(scores, main) for scores in (judgement.uncapped, judgement.capped)),
            judged.labelled,
            main,
            judgement.mode is None,
        )
        for vote in votes_of(judgement):
            self._count(vote)
        if len(self.rebuttals) < MAX_REBUTTALS:
            room = MAX_REBUTTALS - len(self.rebuttals)
            self.rebuttals += islice(rebuttals(judged.case_id, judgement, rubric), room)
        self.n_texts += 1

    def _count(self, vote: Vote) -> None:
        main = vote.mode == self.rubric.mode
        for of, column in self._of_votes.items():
            value = of.value(vote, self.rubric)
            column.append(math.nan if value is None else value)
        codes = {remark.code for remark in vote.remarks}
        if main and "RULE_BROKEN" in codes:
            self.broken.update(broken_rules(vote))
        for code in sorted(codes) if main else ():
            self._remarks.add(self.n, self.remark_names.setdefault(code, len(self.remark_names)))
        for item in answers_to_findings(vote, self.rubric):
            answer = item["answer"]
            self._answers.add(self.n_texts, _ANSWERS.index(answer) if answer in _ANSWERS else -1)
        self._votes.add(
            self.n_texts,
            self.members.setdefault(vote.member, len(self.members)),
            self.step_names.setdefault(vote.step, len(self.step_names)),
            self._values(vote.uncapped, main),
            -1 if vote.mode is None else self.mode_names.setdefault(vote.mode.value, len(self.mode_names)),
            main,
        )
        self.n += 1

    def _values(self, scores: Mapping[str, float | bool], main: bool) -> list[float]:
        return [float(scores.get(name, math.nan)) if main else math.nan for name in self._names]

    def _to_columns(self, columns: Columns, unit: Array) -> None:
        text, vote = self._texts.take, self._votes.take
        self.sample = _places(columns, text("case"), text("variant"), text("repeat"))
        """By text, its sample."""
        self.case: Array = columns.case[self.sample]
        self.unit: Array = unit[self.sample]
        """The unit of evidence of each text: its case, or the cluster that the case is in."""
        self.length = text("length")
        self.labelled, self.in_mode, self.silent = (text(name) > 0 for name in ("labelled", "in_mode", "silent"))
        """`labelled`: whether the labels of its case, if it has any, were given for the text."""
        self.text, self.member, self.step, self.mode = (vote(name) for name in ("text", "member", "step", "mode"))
        self.main: Array = vote("main") > 0
        """The votes in the run's own mode."""
        self.first: Array = np.searchsorted(self.text, np.arange(self.n_texts))
        """By text, its first vote."""
        self._scores = {
            kind: column.reshape(-1, max(1, len(self._names)))
            for kind, column in (("uncapped", text("uncapped")), ("capped", text("capped")), ("stated", vote("stated")))
        }
        self._remark_of, self._remark_code = self._remarks.take("vote"), self._remarks.take("code")
        self.made: dict[OfTexts | OfVotes, Array] = {
            **{of: np.array(column) for of, column in self._of_texts.items()},
            **{of: np.array(column) for of, column in self._of_votes.items()},
        }
        """What votes and texts bring into the metrics of such rows."""
        self.answer_text, self._answer = self._answers.take("text"), self._answers.take("answer")
        """By answer to a finding of a scorer, its text."""

    def uncapped(self, name: str) -> Array:
        """By text, what the votes come to for a dimension or flag, before rules and checks."""
        return self._column("uncapped", name)

    def capped(self, name: str) -> Array:
        """By text, what they come to after rules and checks."""
        return self._column("capped", name)

    def stated(self, name: str) -> Array:
        """By vote, what the judge said of a dimension or flag."""
        return self._column("stated", name)

    def _column(self, kind: str, name: str) -> Array:
        column: Array = self._scores[kind][:, self._names.index(name)]
        return column

    def remarked(self, code: str) -> Array:
        """The votes in the main mode that a remark of that code was made on."""
        result = np.zeros(self.n, dtype=bool)
        if code in self.remark_names:
            result[self._remark_of[self._remark_code == self.remark_names[code]]] = True
        return result

    def answered_as(self, answer: str) -> Array:
        """The answers to findings of scorers that are this one."""
        hits: Array = self._answer == _ANSWERS.index(answer)
        return hits

    def count(self, names: Mapping[str, int], codes: Array) -> dict[str, int]:
        """How many votes have each name, most frequent first."""
        counts = np.bincount(codes[codes >= 0], minlength=len(names)).tolist()
        ordered = sorted(((name, counts[code]) for name, code in names.items()), key=lambda item: (-item[1], item[0]))
        return dict(ordered)

    @property
    def why_failed(self) -> dict[str, int]:
        """Why judgements came to nothing, in words, most frequent first."""
        return self.reasons.counted()

    @property
    def why_excluded(self) -> dict[str, int]:
        """Why judgements are not in the mode that was asked for, most frequent first."""
        return dict(sorted(self._why_excluded.items(), key=lambda pair: (-pair[1], pair[0])))

    @cached_property
    def modes(self) -> dict[str, int]:
        """Votes of each mode, most frequent first; those without scores are in none."""
        counts = self.count(self.mode_names, self.mode)
        # Of modes that are as frequent, the one that came first.
        return dict(sorted(((name, counts[name]) for name in self.mode_names), key=lambda item: -item[1]))

    @cached_property
    def steps(self) -> dict[str, int]:
        """How answers were read, most frequent first."""
        return self.count(self.step_names, self.step)

    @cached_property
    def remarks(self) -> dict[str, int]:
        """Votes in the main mode with at least one remark of each code, most frequent first."""
        return self.count(self.remark_names, self._remark_code)

    # What several metrics are taken from, computed once for a dimension or flag.

    def once(self, figure: Callable[..., Estimate], *names: str) -> Estimate:
        """A figure of a dimension, or of two, computed when it is first asked for."""
        if (key := (figure, *names)) not in self._once:
            self._once[key] = figure(self, *names)
        return self._once[key]

    def _people(self, name: str) -> PeopleFigures | None:
        return people_beside(self.uncapped(name), *self.labels.people(name), self.unit, self.rubric.epsilon)


def votes_in(data: RunData) -> Votes:
    """The judgements of a run as columns, read once; ValueError for a suite without a judge."""
    return data.once(_read)


def _read(data: RunData) -> Votes:
    rubric = described_rubric(data.suite)
    if rubric is None:
        raise ValueError("the suite has no judge")
    judged = () if data.judged is None else data.judged()
    return Votes(judged, rubric, data.columns, data.table.unit, data.case_labels)


def _kind(metric: Metric) -> str:
    """How many bytes a number of it takes."""
    return "f" if metric.unit == "share" else "d"


def _places(columns: Columns, case: Array, variant: Array, repeat: Array) -> Array:
    """Which samples those with these codes are."""
    width, height = len(columns.variants), int(columns.repeat.max()) + 1 if columns.n else 1

    def key(case: Array, variant: Array, repeat: Array) -> Array:
        return (case.astype(np.int64) * width + variant) * height + repeat

    every, mine = key(columns.case, columns.variant, columns.repeat), key(case, variant, repeat)
    order = np.argsort(every, kind="stable")
    at = np.searchsorted(every[order], mine)
    places: Array = order[np.minimum(at, max(0, len(order) - 1))] if len(order) else order
    if len(places) != len(mine) or (every[places] != mine).any():
        raise ValueError("a judged text is of no sample of the run")
    return places


@frozen
class Range:
    """A reviewer's labels of one dimension, by text."""

    best: Array
    low: Array
    high: Array


class TextLabels:
    """The labels of all cases, as columns of the judged texts that they were given for."""

    def __init__(self, votes: Votes, by_case: Mapping[str, Labels]) -> None:
        self._by_case = [by_case.get(case_id) or {} for case_id in votes.case_ids]
        self._case, self._labelled = votes.case, votes.labelled
        has = np.array([bool(item) for item in self._by_case], dtype=bool)[self._case]
        self.any: Array = has & self._labelled
        self.otherwise: Array = has & ~self._labelled
        """The texts whose labels were given for another text, or do not say for which."""
        self.of = cache(self._range)

    def _by_text(self, values: list[Any]) -> Array:
        column: Array = np.array(values, dtype=float)[self._case] if values else np.empty(0)
        return np.where(self._labelled, column, np.nan)

    def _range(self, dimension: str) -> Range:
        labels = [label if isinstance(label := item.get(dimension), Label) else None for item in self._by_case]
        best, low, high = (
            self._by_text([np.nan if label is None else getattr(label, part) for label in labels])
            for part in ("best", "low", "high")
        )
        return Range(best, low, high)

    def people(self, dimension: str) -> tuple[Array, list[str]]:
        """A row of scores for each person who labelled the dimension, and their names."""
        results = [label.by if isinstance(label := item.get(dimension), Label) else {} for item in self._by_case]
        names = sorted(set().union(*results))
        rows = [self._by_text([by.get(name, np.nan) for by in results]) for name in names]
        return np.array(rows).reshape(len(names), len(self._case)), names

    def flag(self, name: str) -> Array:
        """1, 0 or NaN by text."""
        return self._by_text(
            [as_number(label if isinstance(label := item.get(name), bool) else None) for item in self._by_case]
        )
