"""Whether two runs were scored alike although code or truth changed: recorded answers are scored again to find out.

Code that gives every recorded answer the scores that it had is the same instrument. A changed truth
is the same when it changes the result of no answer of A and of none of B.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from steelyard.analysis.attribution_steps import other_scorers
from steelyard.analysis.compared_cases import TRUTH, common_cases
from steelyard.analysis.compared_run import ComparedRun, Rescored
from steelyard.analysis.instruments import signed
from steelyard.engine.again import OtherBalance
from steelyard.instrument_at_hand import AtHand, at_hand
from steelyard.records import Mode, Sample
from steelyard.suite.case import Case
from steelyard.suite.model import SuiteModel

_CHECKED = 20
"""Samples of a run that its suite must score as it did before it is believed to be that suite."""
_PAGE = 500
_DIGITS = 9
_CODE = ("source", "version", "about")
"""What a described component says of its code, and of its measures in words; everything else makes figures."""


def rescored(a: ComparedRun, b: ComparedRun, suite: str | None = None) -> ComparedRun:
    """Run A with what rescoring shows to be the same in B; `suite` is where B's suite is, if not where the run says.

    UserMistake when that was named and cannot be read.
    """
    code, edited = _changed_code(a, b), _edited(a, b)
    if not code and (not edited or _another_scale(a, b)):
        return a
    for side, answers, by, place in (("A", a, b, suite), ("B", b, a, None)):
        hand = at_hand(by.header, place)
        if hand.suite is None or scored_otherwise(by, hand.suite):
            continue
        parts, n = _same_parts(answers, hand, code)
        known = replace(a, rescored=Rescored({part: signed(b, part) or "" for part in parts}, n, side))
        same = frozenset[str]() if _another_scale(known, b) else _same_truths(a, b, hand.suite, edited)
        return replace(known, rescored=replace(known.rescored, truths=same))
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
        return run.suite.get("judge")
    components = [_without_code(each) for each in run.suite.get("components") or () if each.get("scorer") != "judge"]
    return components, *(run.suite.get(name) for name in ("passing", "bands", "stability"))


def _without_code(component: Mapping[str, Any]) -> dict[str, Any]:
    """What is declared of a component, and which counts its measures are made of: a run keeps its counts, not those."""
    measured = {kind: component.get(kind) or {} for kind in ("measures", "means")}
    kept = {kind: {name: _settings(one) for name, one in each.items()} for kind, each in measured.items()}
    return _settings(component) | kept


def _settings(part: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name not in _CODE}


def _edited(a: ComparedRun, b: ComparedRun) -> list[str]:
    """The cases with another truth, or one that a file does not hold."""
    if signed(a, "truth") == signed(b, "truth"):
        return []
    cases = common_cases(a, b)
    return [a.columns.case_ids[code] for code in (*cases.of_state(TRUTH).tolist(), *cases.unknown_truths.tolist())]


def scored_otherwise(run: ComparedRun, suite: SuiteModel) -> str:
    """The first case whose answer the suite does not score as the run has it, whatever its signature says; ""
    when there is none, or nobody can tell."""
    balance = OtherBalance(suite, run.suite.get("judge"), same_judge=True)
    first = () if balance.why_no_words else islice(_answers(run), _CHECKED)
    return next((case.id for sample, case in first if not _alike(sample, balance.weigh(sample, case))), "")


def _same_parts(run: ComparedRun, hand: AtHand, code: list[str]) -> tuple[list[str], int]:
    """Which of the parts whose code changed give every answer of the run the scores it had, and how many they are."""
    if hand.suite is None:
        return [], 0
    balance = OtherBalance(hand.suite, run.suite.get("judge"), same_judge="judge" not in code)
    if not (balance.asks_no_model and hand.is_judge and run.mode == Mode.RULES):
        code = [part for part in code if part != "judge"]
    if not code or balance.why_no_words:
        return [], 0
    n = _all_alike(_answers(run), balance.judge if "judge" in code else balance.weigh)
    return (code, n) if n else ([], 0)


def _same_truths(a: ComparedRun, b: ComparedRun, suite: SuiteModel, ids: list[str]) -> frozenset[str]:
    """The cases whose changed truth changes the result of no answer of either run; none where a model judged, since it
    may have read the truth."""
    same = set(ids)
    for run, other in ((a, b), (b, a)):
        balance = OtherBalance(suite, run.suite.get("judge"), same_judge=True)
        if balance.why_no_words or not balance.asks_no_model or run.mode not in (None, Mode.RULES):
            return frozenset()
        for start in range(0, len(ids), _PAGE):
            page = ids[start : start + _PAGE]
            truths = {} if other.contents is None else other.contents.cases(page)
            for sample, case in _answers(run, page):
                if not _all_alike([(sample, truths.get(case.id, case))], balance.weigh):
                    same.discard(case.id)
    return frozenset(same)


def _answers(run: ComparedRun, ids: list[str] | None = None) -> Iterator[tuple[Sample, Case]]:
    """Every sample that has a reading, with its case."""
    samples = () if run.samples is None else run.samples() if ids is None else run.samples(case_ids=ids)
    return ((sample, case) for sample, case in samples if sample.outcome.conclusive)


def _all_alike(answers: Iterable[tuple[Sample, Case]], score: Callable[[Sample, Case], Sample]) -> int:
    """How many answers there are; 0 when `score` gives one of them another result, or one was not kept."""
    n = 0
    for sample, case in answers:
        if sample.attempt.text is None or not _alike(sample, score(sample, case)):
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
