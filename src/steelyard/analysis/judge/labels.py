"""Which texts of a run have labels, and whether its judge counts as checked by them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from steelyard.analysis.judge.rubric import DescribedRubric, Labels
from steelyard.errors import UsageError
from steelyard.records import Sample
from steelyard.scoring.extract import extract_json
from steelyard.store.base import JudgedSample
from steelyard.suite.case import Case
from steelyard.suite.judge import JudgeModel
from steelyard.suite.labels import labels_of
from steelyard.suite.paths import MISSING, compile_path

SampleKey = tuple[str, str, int]
"""Case, variant and repeat of a sample."""


def labelled_otherwise(n: int, texts: Sequence[str] = ()) -> str:
    """Why the labels of so many texts do not count, and which texts those are; "" for none."""
    if not n:
        return ""
    some = f" ({', '.join(texts)}{f' and {n - len(texts):,} more' if n > len(texts) else ''})" if texts else ""
    have = "1 text has labels" if n == 1 else f"{n:,} texts have labels"
    return f"{have} given for another text, or for none that judge.labelled names{some}"


def judged_texts(
    samples: Iterable[tuple[Sample, Case]], judge: JudgeModel | None
) -> Iterator[tuple[Sample, Case, str]]:
    """Samples with their cases and the part of the answer that was judged."""
    judged = judged_text(judge.of if judge else "")
    return ((sample, case, judged(sample) or sample.call_result.text or "") for sample, case in samples)


def with_labelled(judged: Iterable[JudgedSample], labelled: Collection[SampleKey]) -> Iterator[JudgedSample]:
    """The same samples, which say whether the labels of their case are of their text."""
    return (replace(item, labelled=(item.case_id, item.variant, item.repeat) in labelled) for item in judged)


def judged_text(of: str) -> Callable[[Sample], str | None]:
    """From a sample to the part of its answer that was judged; None when that is the whole."""
    if not of:
        return lambda _sample: None
    place = compile_path(of)

    def text(sample: Sample) -> str | None:
        part = place(extract_json(sample.call_result.text or "", None, repair=True).value)
        if part is MISSING or part is None:
            return None
        return part if isinstance(part, str) else json.dumps(part, ensure_ascii=False, indent=2)

    return text


def why_labels_cannot_tell(rubric: DescribedRubric) -> str:
    """Why labels of cases do not decide whether a text passes; "" where they can."""
    if rubric.passing is None:
        return "the suite does not say when a text passes"
    if rubric.others_count:
        return "other components besides the judge count in the score, so labels do not decide which texts pass"
    return ""


def as_number(value: bool | None) -> float:
    """1, 0, or NaN for what is not known."""
    return np.nan if value is None else float(value)


def labels_by_case(cases: Iterable[Case], judge: JudgeModel, *, skip_wrong: bool = False) -> dict[str, Labels]:
    """The labels of those cases that have some; where one is wrong the case has none, or UsageError says so."""
    results: dict[str, Labels] = {}
    for case in cases:
        try:
            if labels := labels_of(case, judge):
                results[case.id] = labels
        except ValueError as error:
            if not skip_wrong:
                raise UsageError(f"case {case.id}: {error}") from None
    return results
