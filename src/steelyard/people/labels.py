"""What a label may say on a suite's own terms, and labels as columns of numbers.

A person scores an answer by the rubric (`scores`), says whether it passes (`verdict`), prefers one of two answers
(`preference`), or answers the case as the system would (`answer`: a text, fields, items or spans, as the suite asks).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.analysis.judge.corrected import label_passes
from steelyard.analysis.judge.rubric import DescribedRubric, described_rubric
from steelyard.frozen import frozen
from steelyard.scoring.json_schema import SchemaValidator
from steelyard.scoring.spelling import fold
from steelyard.store.people import ANSWER, SCORES, VERDICT, Key, LabelRecord
from steelyard.suite.yaml import meant_or_listed, result

if TYPE_CHECKING:
    from steelyard.stats.arrays import Array
    from steelyard.suite.models import SuiteModel

PREFERENCE = "preference"
KINDS = (SCORES, VERDICT, ANSWER, PREFERENCE)
PASSES = "passes"
"""The name of the figure that every label of an answer has: whether the answer passes."""
CHOICES = ("a", "b", "tie")
"""The answer of the run, that of the other run, or neither is better."""
_YES, _NO = ("pass", "passed", "true", "yes", "1"), ("fail", "failed", "false", "no", "0")


@frozen
class LabelTerms:
    """What a label of a suite's answers may say. `check` gives a value as it is stored, or a sentence that is wrong."""

    suite: SuiteModel

    @cached_property
    def rubric(self) -> DescribedRubric | None:
        """The judge's rubric; None for a suite without a judge."""
        return described_rubric(self.suite)

    @property
    def kind(self) -> str:
        """What people are asked for unless somebody says otherwise."""
        return VERDICT if self.rubric is None else SCORES

    def check(self, kind: str, value: Any) -> Any:
        """The value as it is stored; ValueError with a sentence when it is not on the suite's terms."""
        match kind:
            case "scores":
                return self._scores(value)
            case "verdict":
                return truth_value(value, VERDICT)
            case "answer":
                return self._answer(value)
            case "preference" if value not in CHOICES:
                raise ValueError(f"a preference is a, b or tie; {result(value)}")
            case "skipped" if value not in KINDS:
                return self.kind
            case "preference" | "skipped":
                return str(value)
        raise ValueError(f"there is no kind of label {kind!r}{meant_or_listed(kind, KINDS)}")

    def read(self, kind: str, value: Any) -> Any:
        """The same of a value that may be written as a text: an answer that is no plain text is JSON."""
        if kind == ANSWER and isinstance(value, str) and self.suite.answer.schema_data is not None:
            try:
                value = json.loads(value)
            except ValueError as error:
                raise ValueError(f"answer is no JSON: {error}") from None
        return self.check(kind, value)

    def passes(self, label: LabelRecord) -> bool | None:
        """Whether a person lets the answer pass; None when the label does not tell."""
        return label_passes(label, self.rubric)

    def figures(self, label: LabelRecord) -> dict[str, float]:
        """What a label says as numbers, by dimension and flag, and whether the answer passes, where it tells."""
        figures = {name: float(value) for name, value in label.value.items()} if label.kind == SCORES else {}
        passes = self.passes(label)
        return figures if passes is None else figures | {PASSES: float(passes)}

    def _scores(self, value: Any) -> dict[str, int | bool]:
        rubric = self.rubric
        if rubric is None:
            raise ValueError("the suite has no rubric: label whether an answer passes (verdict)")
        if not isinstance(value, Mapping) or not value:
            raise ValueError(
                f"scores are given by dimension, as in {{{next(iter(rubric.dimensions))}: 3}}; {result(value)}"
            )
        names = (*rubric.dimensions, *rubric.flags)
        scores: dict[str, int | bool] = {}
        for name, given in value.items():
            if name not in names:
                raise ValueError(f"there is no dimension or flag {name!r}{meant_or_listed(str(name), names)}")
            scores[name] = truth_value(given, name) if name in rubric.flags else _score(given, name, rubric)
        return scores

    def _answer(self, value: Any) -> Any:
        if self.suite.answer.schema_data is None:
            if not isinstance(value, str):
                raise ValueError(f"the suite's answers are plain texts; {result(value)}")
        elif wrong := self._schema.problems(value):
            raise ValueError(f"the answer does not fit the suite's schema: {wrong[0]}")
        return value

    @cached_property
    def _schema(self) -> SchemaValidator:
        return SchemaValidator(self.suite.answer.schema_data or {})


def truth_value(value: Any, name: str) -> bool:
    """True or false, also as files spell it; ValueError with a sentence otherwise."""
    text = str(value).strip().lower()
    if text not in (*_YES, *_NO):
        raise ValueError(f"{name} must be true or false (or pass or fail); {result(value)}")
    return text in _YES


def case_key(case_id: str) -> Key:
    """The item that an expert's answer is of: the case, whatever variants and repeats there are of it."""
    return (case_id, "", 0)


def plain(value: Any) -> Any:
    """A value without what makes no difference: white space and case of texts, as for `exact`, and 1.0 for 1."""
    if isinstance(value, str):
        return fold(value, case=True, space=True, punctuation=False, accents=False)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _score(value: Any, name: str, rubric: DescribedRubric) -> int:
    try:
        number = float(value) if not isinstance(value, bool) else float("nan")
    except (TypeError, ValueError):
        number = float("nan")
    if number != number // 1 or not rubric.low <= number <= rubric.high:
        raise ValueError(f"{name} must be a whole score from {rubric.low:g} to {rubric.high:g}; {result(value)}")
    return int(number)


@frozen
class Sheet:
    """The labels of one figure as a table: a row for each person, a column for each item; NaN where there is none."""

    people: tuple[str, ...]
    items: tuple[Key, ...]
    values: Array

    def row(self, person: str) -> Array:
        """What one person said."""
        values: Array = self.values[self.people.index(person)]
        return values

    def part(self, inside: Array) -> Sheet:
        """The labels of some items."""
        return Sheet(self.people, tuple(itertools.compress(self.items, inside)), self.values[:, inside])

    @property
    def shared(self) -> Array:
        """Which items have labels of two people or more."""
        return np.asarray((~np.isnan(self.values)).sum(axis=0) > 1)

    @property
    def median(self) -> Array:
        """For each item the median of what people said, without those on which two halves differ; NaN for nothing."""
        ranked = np.sort(self.values, axis=0)
        counts = (~np.isnan(self.values)).sum(axis=0)
        lower, upper = (
            ranked[np.maximum(at, 0), np.arange(len(self.items))] for at in ((counts - 1) // 2, counts // 2)
        )
        return np.asarray(np.where((counts > 0) & (lower == upper), lower, np.nan))

    @property
    def by_item(self) -> dict[Key, float]:
        """For each item the mean of what people said."""
        return dict(zip(self.items, np.nanmean(self.values, axis=0).tolist(), strict=True))


def sheets(labels: Iterable[LabelRecord], terms: LabelTerms, *, round_: int = 0) -> dict[str, Sheet]:
    """By dimension, flag and `passes`, what each person said of each item; a label that was skipped says nothing."""
    values: dict[str, dict[tuple[str, Key], float]] = {}
    for label in labels:
        if label.round == round_ and label.kind in (SCORES, VERDICT):
            for name, value in terms.figures(label).items():
                values.setdefault(name, {})[label.person, label.key] = value
    return {name: _sheet(values) for name, values in values.items()}


def _sheet(values: Mapping[tuple[str, Key], float]) -> Sheet:
    people = tuple(sorted({person for person, _ in values}))
    items = tuple(sorted({key for _, key in values}))
    rows, columns = ({name: i for i, name in enumerate(names)} for names in (people, items))
    table = np.full((len(people), len(items)), np.nan)
    for (person, key), value in values.items():
        table[rows[person], columns[key]] = value
    return Sheet(people, items, table)
