"""Gates and criteria that cannot fail: by their own words, for want of cases, or because empty answers get through."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from steelyard.analysis.model import Summary
from steelyard.analysis.stored import summarise_stored
from steelyard.audit.probes import ANSWERED, ProbeMaker
from steelyard.engine.sample import Weighing
from steelyard.records import Attempt, RunHeader, Verdict
from steelyard.release.criteria import evaluate_criteria
from steelyard.release.gates import Scope, evaluate, named
from steelyard.scoring.weigh import Weigher, placed
from steelyard.store.open import open_store
from steelyard.suite.case import Case
from steelyard.suite.criteria import Expression, parse_expression
from steelyard.suite.describe import describe
from steelyard.suite.gate_checks import cannot_fail, settled
from steelyard.suite.gates import EVERY, NONE, READABLE, Gate, parse_gate
from steelyard.suite.model import Criterion, SuiteModel
from steelyard.suite.repeats import RepeatsRule

_QUALITY = (
    "pass_rate",
    "average",
    "median",
    "score.<component>.average",
    "score.<component>.<measure>",
    "score.<component>.<measure>.readable",
    "scored_rate",
    "cases.held",
    "checks.held",
    "check.<check>.held",
    "pass_all.<k>",
    "stability.presence",
    "stability.<field>",
)
_OF_CALLS = ("latency", "cost", "tokens", "inconclusive_rate")
_OF_CELLS = ("cases.", "pass_all.", "flaky_rate", "stability.")


def gate_complaints(suite: SuiteModel, cases: list[Case]) -> list[str]:
    """What is wrong with the suite's gates and criteria, one sentence each."""
    complaints = []
    if suite.limits.max_inconclusive >= 1:
        complaints.append("max_inconclusive is 100 %: a run in which every call failed would not be INVALID")
    # An empty answer is the same in every repeat, so one repeat tells what all would.
    asked = replace(suite, criteria=tuple(_asked_once(criterion) for criterion in suite.criteria))
    summary = _summary_of_same_answers(asked, cases, "") if suite.gates or suite.criteria else None
    for gate in map(parse_gate, suite.gates):
        complaint = cannot_fail(gate) or _too_few(suite, gate, cases)
        if complaint is None and summary is not None and not gate.baseline and _lets_empty_through(gate, summary):
            complaint = f"gate {gate.text!r} lets a system through that answers nothing"
        if complaint:
            complaints.append(complaint)
    for criterion, once in zip(suite.criteria, asked.criteria, strict=True):
        found = _undecidable(suite, criterion, cases)
        if not found and summary is not None and _lets_nothing_pass(once, summary):
            found = [f"criterion {criterion.name} ({criterion.passes}) lets a system through that answers nothing"]
        complaints.extend(found)
    if _only_of_readable(suite):
        complaints.append(
            "no gate or criterion that decides counts malformed answers, since those over .readable leave them out: add"
            " one on malformed_rate"
        )
    if not complaints and (told := _lets_through(suite, cases)):
        complaints.append(f"{told}, the same for every case, passes every gate")
    return complaints


def _only_of_readable(suite: SuiteModel) -> bool:
    """True when a system that answers one case well and the others in no shape would pass."""
    criteria = (parse_expression(one.passes) for one in suite.criteria if not one.secondary)
    decide: list[Expression] = [*map(parse_gate, suite.gates), *criteria]
    patterns = [each.pattern if isinstance(each, Gate) else "" for each in decide]
    quality = [each for each in patterns if each.partition(".")[0] not in _OF_CALLS]
    return bool(quality) and all(each.endswith(READABLE) for each in quality)


def _lets_through(suite: SuiteModel, cases: list[Case]) -> str:
    """Which constant answer the gates together let through; one gate alone may well hold for it."""
    # What a gate on a baseline comes to for such a system depends on that baseline.
    if not suite.gates or suite.judge is not None or any(parse_gate(gate).baseline for gate in suite.gates):
        return ""
    maker = ProbeMaker(suite, cases)
    for told, answer in (
        ("a well-formed answer without items", maker.without_items()),
        ("the answer that is right for most cases", maker.commonest()),
    ):
        if answer is not None:
            found = evaluate(list(suite.gates), _summary_of_same_answers(suite, cases, answer))
            if all(result.verdict is Verdict.PASS for result in found):
                return told
    return ""


def _undecidable(suite: SuiteModel, criterion: Criterion, cases: list[Case]) -> list[str]:
    """What is wrong with a criterion by its own words or for want of cases.

    One that asks for more repeats than the suite makes is none: the command line may ask for more.
    """
    complaints = []
    for key, text in (("pass", criterion.passes), ("fail", criterion.fails)):
        if not text:
            continue
        expression = parse_expression(text)
        always = settled(expression.operator, expression.threshold, expression.unit)
        few = _too_few(suite, expression, cases) if isinstance(expression, Gate) else None
        if always is not None:
            complaints.append(f"criterion {criterion.name}: its {key} {'always holds' if always else 'never holds'}")
        elif few:
            complaints.append(few.replace("gate ", f"criterion {criterion.name}: its {key} ", 1))
    return complaints


def _asked_once(criterion: Criterion) -> Criterion:
    return replace(criterion, passes=_once(criterion.passes), fails=criterion.fails and _once(criterion.fails))


def _once(text: str) -> str:
    expression = parse_expression(text)
    return expression.once if isinstance(expression, RepeatsRule) else text


def _lets_nothing_pass(criterion: Criterion, summary: Summary) -> bool:
    if not _asks_for_quality(parse_expression(criterion.passes)):
        return False
    (result,) = evaluate_criteria([criterion], Scope(summary, summary.overall, 1.0))
    return result.verdict is Verdict.PASS


def _asks_for_quality(expression: Expression) -> bool:
    figure = expression.pattern if isinstance(expression, Gate) else expression.condition
    return figure in (*_QUALITY, "valid", "passed", "score") and expression.operator in (">=", ">")


def _too_few(suite: SuiteModel, gate: Gate, cases: list[Case]) -> str | None:
    """A minimum n that a slice cannot reach leaves the gate undecided for ever, unless it skips such slices."""
    # A figure over repeats stands on cases and variants, or on so many checks of each that nobody can tell.
    if gate.pattern.startswith("check"):
        return None
    repeats = 1 if gate.pattern.startswith(_OF_CELLS) else suite.repeats
    grid = repeats if gate.factor == "variant" else repeats * len(suite.variants)
    sizes = {name: n * grid for name, n in _cases_of(suite, gate, cases).items()}
    small = {name: n for name, n in sizes.items() if n < gate.min_n}
    if not small or (gate.skip_small and len(small) < len(sizes)):
        return None
    if len(small) == len(sizes):
        most = f"there are at most {max(sizes.values())}"
        return f"gate {gate.text!r} can never be decided: it asks for n >= {gate.min_n}, and {most}"
    return (
        f"gate {gate.text!r} can never be decided in {named(small)}: it asks for n >= {gate.min_n};"
        " skip small behind it leaves such slices out"
    )


def _cases_of(suite: SuiteModel, gate: Gate, cases: list[Case]) -> dict[str, int]:
    """By slice that the gate speaks of, the cases that its figure can stand on."""
    survey, factor = suite.survey, gate.factor or ""
    counts = {"category": survey.categories, "difficulty": survey.difficulties, "tag": survey.tags}.get(factor)
    found = Counter({one.name: survey.n for one in suite.variants} if factor == "variant" else {"": survey.n})
    if counts is not None:
        found = Counter(counts)
        found[NONE] = 0 if factor == "tag" else survey.n - sum(counts.values())
    about = [one for one in suite.components if gate.metric.startswith(f"score.{one.name}.")]
    skipped = [one for one in about if one.when_unknown == "skip" and one.scorer.needs_truth]
    for component in skipped:
        for case in cases:
            if not placed(component, suite).truth_at(case):
                own = {"category": [case.category or NONE], "difficulty": [case.difficulty or NONE], "tag": case.tags}
                found.subtract(own.get(factor, list(found)))
    if gate.slice not in (None, EVERY):
        return {gate.slice: found[gate.slice]}
    return {name: n for name, n in found.items() if n or name != NONE}


def _lets_empty_through(gate: Gate, summary: Summary) -> bool:
    return _asks_for_quality(gate) and all(result.verdict is Verdict.PASS for result in evaluate([gate.text], summary))


def _summary_of_same_answers(suite: SuiteModel, cases: list[Case], text: str) -> Summary:
    weigher = Weigher(suite)
    attempt = Attempt(text=text, status=ANSWERED)
    samples = [Weighing(weigher, case, suite.variants[0].name, 0, attempt).sample for case in cases]
    description = describe(suite) | {"repeats": 1}
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(str(Path(folder) / "audit.db"))
        try:
            store.create_run(RunHeader("audit", suite.name, suite.path, time.time(), {}, {}, description))
            store.add_samples("audit", samples, cases)
            return summarise_stored(store, "audit", description, only_for_gates=True)
        finally:
            store.close()
