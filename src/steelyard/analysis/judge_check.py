"""What the labels of a run's own cases say of its judge: the corrected pass rate, and whether the judge is checked."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from steelyard.analysis.correction import CorrectedRate, corrected_pass_rate
from steelyard.analysis.rubric import DescribedRubric, Labels
from steelyard.answer.ladder import climb
from steelyard.errors import UserMistake
from steelyard.records import Sample
from steelyard.stats.arrays import Array
from steelyard.store.base import JudgedSample
from steelyard.suite.case import Case
from steelyard.suite.judge import JudgeDescription, JudgeModel, JudgeSettings
from steelyard.suite.labels import is_labelled, labels_of
from steelyard.suite.paths import MISSING, compile_path

SampleKey = tuple[str, str, int]
"""Case, variant and repeat of a sample."""

FEWEST_LABELS = 20
"""On fewer texts than this even a judge without any mistake may be wrong one time in seven (rule of three: 3 / n)."""


@dataclass(frozen=True, slots=True)
class JudgeCheck:
    """How far the labels of a run tell what its judge is worth."""

    n_labelled: int
    """Judged texts with labels."""
    n_labelled_otherwise: int
    """Judged texts whose case has labels of another text, or that do not say of which."""
    corrected: CorrectedRate

    @property
    def enough(self) -> bool:
        """Whether the judge counts as checked."""
        return self.n_labelled >= FEWEST_LABELS


def judge_check(
    passed: Array,
    case: Array,
    case_ids: Iterable[str],
    labels: Mapping[str, Labels],
    labelled: Array,
    rubric: DescribedRubric,
) -> JudgeCheck:
    """The check by samples: `passed` holds 1, 0 or NaN (not judged), `case` codes into `case_ids`, and `labelled` says
    whether the labels of its case are of the sample's text."""
    by_case = [labels.get(case_id) or {} for case_id in case_ids]
    has_labels = np.array([bool(each) for each in by_case], dtype=bool)[case] & ~np.isnan(passed)
    passes = np.array([as_number(rubric.passes(each)) for each in by_case], dtype=float)[case]
    return JudgeCheck(
        int((has_labels & labelled).sum()),
        int((has_labels & ~labelled).sum()),
        corrected_by_labels(passed, np.where(labelled, passes, np.nan), case, rubric),
    )


def labelled_samples(samples: Iterable[tuple[Sample, Case]], judge: JudgeSettings) -> frozenset[SampleKey]:
    """Those whose judged text is the one that the labels of their case are of."""
    judged, labelled = judged_text(judge.of), judge.labelled
    return frozenset(
        (sample.case_id, sample.variant, sample.repeat)
        for sample, case in samples
        if is_labelled(judged(sample) or sample.attempt.text or "", case, labelled)
    )


def with_labelled(judged: Iterable[JudgedSample], labelled: Collection[SampleKey]) -> Iterator[JudgedSample]:
    """The same samples, which say whether the labels of their case are of their text."""
    return (replace(each, labelled=(each.case_id, each.variant, each.repeat) in labelled) for each in judged)


def judged_text(of: str) -> Callable[[Sample], str | None]:
    """From a sample to the part of its answer that was judged; None when that is the whole."""
    if not of:
        return lambda _sample: None
    place = compile_path(of)

    def text(sample: Sample) -> str | None:
        part = place(climb(sample.attempt.text or "", None, repair=True).value)
        if part is MISSING or part is None:
            return None
        return part if isinstance(part, str) else json.dumps(part, ensure_ascii=False, indent=2)

    return text


def corrected_by_labels(passed: Array, passes: Array, case: Array, rubric: DescribedRubric) -> CorrectedRate:
    """The corrected pass rate; n/a with the reason where a suite's labels cannot tell what passes."""
    found = corrected_pass_rate(passed, passes, case, chosen=rubric.labels_chosen)
    if rubric.passing is None:
        return replace(found, told="the suite does not say when a text passes")
    if rubric.others_weigh:
        told = "other components count in the score beside the judge, so labels do not tell which texts pass"
        return replace(found, told=told)
    return found


def as_number(value: bool | None) -> float:
    """1, 0, or NaN for what is not known."""
    return np.nan if value is None else float(value)


def labels_by_case(
    cases: Iterable[Case], judge: JudgeModel | JudgeDescription, *, skip_wrong: bool = False
) -> dict[str, Labels]:
    """The labels of those cases that have some; where one is wrong the case has none, or UserMistake says so."""
    found: dict[str, Labels] = {}
    for case in cases:
        try:
            if labels := labels_of(case, judge):
                found[case.id] = labels
        except ValueError as error:
            if not skip_wrong:
                raise UserMistake(f"case {case.id}: {error}") from None
    return found
