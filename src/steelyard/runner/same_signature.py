"""Whether two runs were scored alike although code or truth changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from steelyard.engine.other_suite import OtherBalance
from steelyard.pairing.cases import OTHER_TRUTH, common_cases
from steelyard.pairing.runs import ComparedRun, Rescored
from steelyard.pairing.signatures import other_scorers, signed
from steelyard.records import Mode, Sample
from steelyard.runner.current_suite import CurrentSuite, current_suite
from steelyard.runner.overlay import overlaid
from steelyard.suite.case import Case
from steelyard.suite.models import SuiteModel

_CHECKED = 20
"""Samples of a run that its suite must score as it did before it is believed to be that suite."""
_PAGE = 500
_DIGITS = 9
_CODE = ("source", "version", "about")
"""What a described component says of its code, and of its measures in words; everything else makes figures."""


def rescored(a: ComparedRun, b: ComparedRun, suite: str | SuiteModel | None = None) -> ComparedRun:
    """Run A with what rescoring shows to be the same in B; `suite` is B's suite or its place, if its name is not it.

    UsageError when that was named and cannot be read.
    """
    code, edited = _changed_code(a, b), _edited(a, b)
    if not code and (not edited or _another_scale(a, b)):
        return a
    for side, answers, by, place in (("A", a, b, suite), ("B", b, a, None)):
        hand = current_suite(by.header, place)
        if hand.suite is None or scored_otherwise(by, hand.suite):
            continue
        parts, n = _same_parts(answers, hand, code)
        available = replace(a, rescored=Rescored({part: signed(b, part) or "" for part in parts}, n, side))
        return available if _another_scale(available, b) else _by_one_truth(available, b, hand.suite, edited)
    return a


def _another_scale(a: ComparedRun, b: ComparedRun) -> bool:
    return other_scorers(a, b) or signed(a, "judge") != signed(b, "judge")


def _changed_code(a: ComparedRun, b: ComparedRun) -> list[str]:
    """The parts of the signature that differ in code alone; none where what a scorer or a rule is told differs too."""
    parts = [part for part in ("scorers", "rules", "judge") if signed(a, part) != signed(b, part)]
    declared = [
        part for part in parts if None in (signed(a, part), signed(b, part)) or _declared(a, part) != _declared(b, part)
    ]
    return [] if set(declared) - {"judge"} else [part for part in parts if part not in declared]


def _declared(run: ComparedRun, part: str) -> Any:
    """What the suite declares of a part, its code left out."""
    if part != "scorers":
        return run.header.description.judge
    suite = run.header.description
    components = [_without_code(component.data()) for component in suite.components if component.scorer != "judge"]
    return components, suite.passing, suite.bands, suite.stability


def _without_code(component: Mapping[str, Any]) -> dict[str, Any]:
    """What is declared of a component, and which counts its measures are made of: a run keeps its counts, not those."""
    measured = {
        kind: {name: _settings(item) for name, item in component[kind].items()} for kind in ("measures", "means")
    }
    return _settings(component) | measured


def _settings(part: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name not in _CODE}


def _edited(a: ComparedRun, b: ComparedRun) -> list[str]:
    """The cases with another truth, or one that a file does not hold."""
    if signed(a, "truth") == signed(b, "truth"):
        return []
    cases = common_cases(a, b)
    return [
        a.columns.case_ids[code] for code in (*cases.of_state(OTHER_TRUTH).tolist(), *cases.unknown_truths.tolist())
    ]


def scored_otherwise(run: ComparedRun, suite: SuiteModel) -> str:
    """The first case whose answer the suite does not score as the run has it, whatever its signature says; ""
    when there is none, or cannot tell."""
    balance = OtherBalance(suite, run.header.description.judge, same_judge=True)
    first = () if balance.why_no_words else islice(_answers(run), _CHECKED)
    return next((case.id for sample, case in first if not _alike(sample, balance.evaluate(sample, case))), "")


def _same_parts(run: ComparedRun, hand: CurrentSuite, code: list[str]) -> tuple[list[str], int]:
    """Which of the parts whose code changed give every answer of the run the scores it had, and how many they are."""
    if hand.suite is None:
        return [], 0
    balance = OtherBalance(hand.suite, run.header.description.judge, same_judge="judge" not in code)
    if not (balance.asks_no_model and hand.is_judge and run.mode == Mode.RULES):
        code = [part for part in code if part != "judge"]
    if not code or balance.why_no_words:
        return [], 0
    n = _all_alike(_answers(run), balance.judge if "judge" in code else balance.evaluate)
    return (code, n) if n else ([], 0)


def _by_one_truth(a: ComparedRun, b: ComparedRun, suite: SuiteModel, ids: list[str]) -> ComparedRun:
    """Run A with its answers to these cases scored by B's truth, and B's by A's; as it is where a model judged, since
    it may have read the truth."""
    balance = OtherBalance(suite, a.header.description.judge, same_judge=True)
    if balance.why_no_words or not balance.asks_no_model or a.mode not in (None, Mode.RULES):
        return a
    scored, moved, truths = list[dict[int, Sample]](), set[str](), set(ids)
    for run, other in ((a, b), (b, a)):
        again, another, unread = _scored_by(balance, run, other, ids)
        scored.append(again)
        moved |= another
        truths -= unread
    retained = [{at: sample for at, sample in result.items() if sample.case_id in truths} for result in scored]
    a = replace(a, rescored=replace(a.rescored, truths=frozenset(truths), moved=len(moved & truths)))
    by_b = replace(overlaid(a, retained[0]), samples=partial(_samples_by, balance, a, b, truths))
    return replace(a, by_truth_of_b=by_b, b_by_truth_of_a=overlaid(b, retained[1]) if moved & truths else None)


def _scored_by(
    balance: OtherBalance, run: ComparedRun, other: ComparedRun, ids: list[str]
) -> tuple[dict[int, Sample], set[str], set[str]]:
    """The answers of a run by the truth of another, by position; the cases that moved, and those without a result."""
    places, result, moved, unread = _places(run, ids), dict[int, Sample](), set[str](), set[str]()
    for sample, case, truth in _extra(run, other, ids):
        again = None if sample.call_result.text is None else balance.evaluate(sample, truth)
        if again is None or not again.outcome.conclusive:
            unread.add(case.id)
            continue
        # Texts stay in the store: only figures and findings of what was scored again are held.
        result[places[sample.key]] = replace(again, call_result=replace(again.call_result, text=None))
        if not _alike(sample, again):
            moved.add(case.id)
    return result, moved, unread


def _samples_by(
    balance: OtherBalance, a: ComparedRun, b: ComparedRun, truths: set[str], case_ids: list[str] | None = None
) -> Iterator[tuple[Sample, Case]]:
    """The samples of A, those of the cases with another truth scored by B's."""
    cases = {} if b.contents is None else b.contents.cases(sorted(truths))
    for sample, case in () if a.samples is None else a.samples(case_ids=case_ids):
        truth = cases.get(case.id)
        yield (
            (sample, case)
            if truth is None or not sample.outcome.conclusive
            else (balance.evaluate(sample, truth), truth)
        )


def _extra(a: ComparedRun, b: ComparedRun, ids: list[str]) -> Iterator[tuple[Sample, Case, Case]]:
    """The answers of a run to some cases, each with its case there and in another run."""
    for start in range(0, len(ids), _PAGE):
        page = ids[start : start + _PAGE]
        truths = {} if b.contents is None else b.contents.cases(page)
        yield from ((sample, case, truths.get(case.id, case)) for sample, case in _answers(a, page))


def _places(run: ComparedRun, ids: list[str]) -> dict[tuple[str, str, int], int]:
    """The positions of the samples of some cases."""
    columns, wanted = run.columns, set(ids)
    codes = [code for code, name in enumerate(columns.case_ids) if name in wanted]
    rows = np.flatnonzero(np.isin(columns.case, codes)).tolist()
    variant = [columns.variants[code] for code in columns.variant[rows].tolist()]
    named = (columns.case_ids[code] for code in columns.case[rows].tolist())
    return dict(zip(zip(named, variant, columns.repeat[rows].tolist(), strict=True), rows, strict=True))


def _answers(run: ComparedRun, ids: list[str] | None = None) -> Iterator[tuple[Sample, Case]]:
    """Every sample that has a reading, with its case."""
    samples = () if run.samples is None else run.samples() if ids is None else run.samples(case_ids=ids)
    return ((sample, case) for sample, case in samples if sample.outcome.conclusive)


def _all_alike(answers: Iterable[tuple[Sample, Case]], score: Callable[[Sample, Case], Sample]) -> int:
    """How many answers there are; 0 when `score` gives one of them another result, or one was not kept."""
    n = 0
    for sample, case in answers:
        if sample.call_result.text is None or not _alike(sample, score(sample, case)):
            return 0
        n += 1
    return n


def _alike(before: Sample, after: Sample) -> bool:
    return _worth(before) == _worth(after)


def _worth(sample: Sample) -> tuple[Any, ...]:
    """The outcome, score, counts, checks and codes of a sample; what is said in words may differ."""
    numbers = [(score.name, score.value, dict(score.counts)) for score in sample.scores]
    return (
        (sample.outcome, sample.passed, sample.band, sample.score and round(sample.score, _DIGITS)),
        [(name, value and round(value, _DIGITS), counts) for name, value, counts in numbers],
        Counter(finding.code for finding in sample.findings),
        [(check.name, check.state) for check in sample.checks],
    )
