"""Gates and criteria that cannot fail: by their own words, for want of cases, or because probes get through."""

from __future__ import annotations

import json
import math
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from steelyard.analysis.model import Summary
from steelyard.analysis.summary_from_store import summarise_stored
from steelyard.auditing.probes import ANSWERED, CONSTANT, NULL, PARTLY, TRUTH, Probe
from steelyard.decide.gates import GateResult, Scope, evaluate, evaluate_criteria, named, needed_repeats
from steelyard.engine.sample import Evaluation
from steelyard.metrics.expression_checks import cannot_fail, settled
from steelyard.metrics.expressions import EVERY, Expression, Gate, RepeatsRule, parse_expression, parse_gate
from steelyard.metrics.registry import READABLE
from steelyard.records import CallResult, Outcome, RunHeader, Signature, TargetFacts, Verdict
from steelyard.scoring.evaluate import Evaluated, placed
from steelyard.stats.bounded_mean import BoundedMean
from steelyard.stats.paired import SIGNIFICANT, least_p
from steelyard.store.sql import open_store
from steelyard.suite.case import NONE, Case
from steelyard.suite.models import Criterion, SuiteModel
from steelyard.suite.slices import slice_names
from steelyard.wording import in_unit

_OVERALL = ("pass_rate", "average", "median", "cases.passed", "checks.passed", "passed", "score")
_OF_SCORES = ("score.<component>.average", "score.<component>.points", "band.<band>")
_OF_CALLS = ("latency", "cost", "tokens", "inconclusive_rate")
_OF_FORM = (*_OF_CALLS, "malformed_rate", "scored_rate", "stability", "flaky_rate")
"""Figures that say nothing of whether an answer is right: the same wrong answer every time has all of them."""
_ROUNDING = 1e-9
_FEWEST_WORTHLESS = 3
"""Of fewer cases, almost half says little."""
_SHOWN = 0.75
"""A figure shows that almost half of the answers are worthless when it falls below this share of right ones'."""

Tried = tuple[Probe, list[Evaluated]]
"""A probe with what it came to in every case."""


def gate_complaints(suite: SuiteModel, cases: list[Case], tried: list[Tried]) -> list[str]:
    """What is wrong with the suite's gates and criteria, one sentence each; they are compared with all probes tried."""
    complaints = []
    if suite.limits.max_inconclusive >= 1:
        complaints.append("max_inconclusive is 100 %: a run in which every call failed would not be INVALID")
    few = (cannot_fail(gate) or _too_few(suite, gate, cases) for gate in map(parse_gate, suite.gates))
    complaints.extend(filter(None, few))
    for criterion in suite.criteria:
        complaints.extend(_undecidable(suite, criterion, cases))
    if _only_of_readable(suite):
        complaints.append(
            "no gate or criterion that decides counts malformed answers, since those over .readable leave them out: add"
            " one on malformed_rate"
        )
    if _only_of_form(suite):
        complaints.append("no deciding gate or criterion measures correctness: add one, such as on pass_rate")
    elif not complaints and (suite.gates or suite.criteria):
        complaints.extend(_let_through(suite, cases, tried))
    return complaints


def _let_through(suite: SuiteModel, cases: list[Case], tried: list[Tried]) -> list[str]:
    """Gates that a probe passes which they should see, and probes that pass all gates together."""
    truth: dict[str, list[GateResult]] = {}
    named: dict[str, str] = {}
    through = []
    # What a gate on a baseline comes to depends on that baseline.
    is_relative = any(parse_gate(gate).baseline for gate in suite.gates)
    with _Trial(suite, cases) as trial:
        for probe, scored in sorted(tried, key=lambda item: item[0].kind != TRUTH):
            results = trial.results(scored)
            truth = results if probe.kind == TRUTH else truth
            for text, result in results.items():
                if text not in named and _should_see(probe, result, truth.get(text)):
                    named[text] = f"{text} passes a system that gives {probe.about}{_value(result)}"
            deciding = [item for result in results.values() for item in result if not item.secondary]
            if probe.kind not in (TRUTH, PARTLY) and not is_relative and _all_pass(deciding):
                through.append(f"{probe.about} ({probe.name})")
        if not named and not through and not is_relative:
            return list(_half_worthless(trial, cases, tried))
    if named or not through:
        return list(named.values())
    return [f"all gates and criteria together pass a system that gives {', '.join(through)}"]


def _half_worthless(trial: _Trial, cases: list[Case], tried: list[Tried]) -> Iterator[str]:
    """What is wrong with gates that all pass where almost half of the answers are worth nothing, and whose figures do
    not show it: they are nearly those of right answers, as a median's are."""
    right = next((scored for probe, scored in tried if probe.kind == TRUTH), None)
    n = (len(cases) - 1) // 2
    if n < _FEWEST_WORTHLESS:
        return
    if right is None:  # nothing says what right answers come to, but what a median is made of
        quality = [item for item in trial.deciding if not (isinstance(item, Gate) and _is_about(item, _OF_FORM))]
        if quality and all(getattr(item, "pattern", "") == "median" for item in quality):
            yield (
                f"{quality[0].text!r} passes a system that gives nothing in {n} of {len(cases)} cases, which a median"
                " does not show: add a gate on pass_rate or average"
            )
        return
    empty = zip(*(scored for probe, scored in tried if probe.kind == NULL), strict=True)
    nothing = [min(some, key=lambda item: (item.score, item.outcome is Outcome.MALFORMED)) for some in empty]
    best = trial.results(right)
    smallest = sorted(range(len(cases)), key=lambda at: (len(json.dumps(cases[at].expected, default=str)), at))
    by_slice = sorted(range(len(cases)), key=lambda at: (cases[at].category or "", at))
    for order in (range(len(cases)), smallest, by_slice, by_slice[::-1]):
        worthless = set(order[:n])
        results = trial.results([(nothing if at in worthless else right)[at] for at in range(len(cases))])
        deciding = [item for result in results.values() for item in result if not item.secondary]
        blind = [
            f"{text}{_value(result)}"
            for text, result in results.items()
            if any(not item.secondary and not _shows(item, own) for item, own in zip(result, best[text], strict=True))
        ]
        if _all_pass(deciding) and blind:
            yield (
                f"all gates and criteria together pass a system that gives nothing in {n} of {len(cases)} cases, which"
                f" {', '.join(blind)} does not show: add a gate on pass_rate or average"
            )
            return


def _shows(result: GateResult, best: GateResult) -> bool:
    """Whether a figure of right or wrong tells that almost half of the answers are worthless."""
    value, whole = result.value.value or 0.0, best.value.value or 0.0
    return result.operator not in (">=", ">") or value < _SHOWN * whole


class _Trial:
    """Holds the gates and criteria of a suite against what probes came to."""

    def __init__(self, suite: SuiteModel, cases: list[Case]) -> None:
        # An answer that is the same in every repeat: one repeat tells what all would.
        self._suite = suite.changed(criteria=tuple(map(_asked_once, suite.criteria)))
        self._written = {criterion.name: criterion.passes for criterion in suite.criteria}
        self._gates = [item for item in map(parse_gate, suite.gates) if not item.baseline and not _of_calls(item)]
        self.deciding = _deciding(suite)
        self._cases = cases
        self._description = self._suite.changed(repeats=1)
        self._available: dict[object, dict[str, list[GateResult]]] = {}

    def __enter__(self) -> _Trial:
        self._folder = tempfile.TemporaryDirectory()
        self._store = open_store(str(Path(self._folder.name) / "audit.db"))
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()
        self._folder.cleanup()

    def results(self, scored: list[Evaluated]) -> dict[str, list[GateResult]]:
        """By gate or criterion in words, what the answers come to; without gates on calls, since there were none."""
        # Probes that are malformed, or wrong in every case, come to the same.
        key = repr(
            [(item.score, item.outcome, item.scores, [finding.code for finding in item.findings]) for item in scored]
        )
        if key not in self._available:
            summary = self._summary(f"probe {len(self._available)}", scored)
            matches = {f"gate {gate.text!r}": evaluate([gate.text], summary) for gate in self._gates}
            for criterion in self._suite.criteria:
                written = f"criterion {criterion.name} ({self._written[criterion.name]})"
                matches[written] = evaluate_criteria([criterion], Scope(summary, summary.overall))
            self._available[key] = matches
        return self._available[key]

    def _summary(self, run: str, scored: list[Evaluated]) -> Summary:
        """The summary of a run that came to this."""
        call_result, variant = CallResult(text="", status=ANSWERED), self._suite.variants[0].name
        pairs = zip(self._cases, scored, strict=True)
        samples = [
            Evaluation(_Available(item, self._suite.slices), case, variant, 0, call_result).sample  # type: ignore[arg-type]
            for case, item in pairs
        ]
        header = RunHeader(
            run, self._suite.name, self._suite.path, time.time(), Signature(), TargetFacts(), self._description.data()
        )
        self._store.create_run(header)
        self._store.add_samples(run, samples, self._cases)
        return summarise_stored(self._store, run, self._description, only_for_gates=True)


class _Available:
    """Gives what was scored before."""

    needs_models = False

    def __init__(self, scored: Evaluated, slices: Sequence[str]) -> None:
        self._evaluated, self.slices = scored, slices

    def evaluate(self, text: str, case: Case, status: int | None, *, cut_off: bool) -> Evaluated:  # noqa: ARG002
        return self._evaluated


def _should_see(probe: Probe, gate_results: list[GateResult], truth: list[GateResult] | None) -> bool:
    """Whether a gate passes a probe whose figure is worse than the truth's; one that is as good asks for something
    that the probe has, such as the right shape."""
    if probe.kind not in (NULL, CONSTANT, PARTLY) or not _all_pass(gate_results):
        return False
    if probe.kind == PARTLY and not any(item.metric in probe.blind for item in gate_results):
        return False
    expression = parse_expression(gate_results[0].gate)
    figure = expression.pattern if isinstance(expression, Gate) else expression.condition
    if figure in _OVERALL and expression.operator in (">=", ">"):
        return probe.kind != PARTLY
    # A measure of what was said alone, or of what was left out alone, is for the gates together.
    sees = probe.kind == PARTLY or figure in _OF_SCORES
    return sees and any(_worse(item, best) for item, best in zip(gate_results, truth or (), strict=False))


def _worse(gate_result: GateResult, best: GateResult) -> bool:
    away = (best.value.value or 0.0) - (gate_result.value.value or 0.0)
    return away > _ROUNDING if gate_result.operator in (">=", ">") else -away > _ROUNDING


def _value(gate_results: list[GateResult]) -> str:
    available = [item for item in gate_results if item.value.value is not None]
    return f" ({in_unit(available[0].value.value, available[0].unit)})" if len(available) == 1 else ""


def _all_pass(gate_results: list[GateResult]) -> bool:
    return bool(gate_results) and all(item.verdict is Verdict.PASS for item in gate_results)


def _is_about(gate: Gate, figures: tuple[str, ...]) -> bool:
    return gate.pattern.partition(".")[0] in figures


def _of_calls(gate: Gate) -> bool:
    """Whether a gate is on calls or repeats: a probe makes none."""
    return _is_about(gate, _OF_CALLS) or needed_repeats(gate) > 1


def _deciding(suite: SuiteModel) -> list[Expression]:
    criteria = (parse_expression(item.passes) for item in suite.criteria if not item.secondary)
    return [*map(parse_gate, suite.gates), *criteria]


def _only_of_form(suite: SuiteModel) -> bool:
    """True when nothing that decides asks whether answers are right."""
    decide = _deciding(suite)
    return bool(decide) and all(
        _is_about(item, _OF_FORM) or item.metric == "findings.FORMAT"
        if isinstance(item, Gate)
        else item.condition == "valid"
        for item in decide
    )


def _only_of_readable(suite: SuiteModel) -> bool:
    """True when a system that answers one case well and the others in no shape would pass."""
    patterns = [item.pattern if isinstance(item, Gate) else "" for item in _deciding(suite)]
    quality = [pattern for pattern in patterns if pattern.partition(".")[0] not in _OF_CALLS]
    return bool(quality) and all(item.endswith(READABLE) for item in quality)


def _undecidable(suite: SuiteModel, criterion: Criterion, cases: list[Case]) -> list[str]:
    """What is wrong with a criterion by its own words or for want of cases.

    One that asks for more repeats than the suite makes is none: the command line may ask for more.
    """
    complaints = []
    for key, text in (("pass", criterion.passes), ("fail", criterion.fails)):
        if not text:
            continue
        expression = parse_expression(text)
        always = settled(expression)
        few = _too_few(suite, expression, cases) if isinstance(expression, Gate) else None
        if always is not None:
            complaints.append(
                f"criterion {criterion.name}: its {key} {'is always true' if always else 'is never true'}"
            )
        elif few:
            complaints.append(f"criterion {criterion.name}: its {key} {few}")
    return complaints


def _asked_once(criterion: Criterion) -> Criterion:
    once = {"passes": _once(criterion.passes), "fails": criterion.fails and _once(criterion.fails)}
    return criterion.model_copy(update=once)


def _once(text: str) -> str:
    expression = parse_expression(text)
    return expression.once if isinstance(expression, RepeatsRule) else text


def _too_few(suite: SuiteModel, gate: Gate, cases: list[Case]) -> str | None:
    """Fewer cases than a gate needs leave it undecided for ever: its minimum n, or what a paired test of it can show.

    One on slices may skip the small ones.
    """
    units = suite.n_units
    sizes = {name: min(n, units) for name, n in _cases_of(suite, gate, cases).items()}
    if gate.baseline and (message := _too_few_pairs(suite, gate, cases) or _never_for_sure(suite, gate, cases)):
        return message
    small = {name: n for name, n in sizes.items() if n < gate.min_n}
    if not small or (gate.skip_small and len(small) < len(sizes)):
        return None
    if len(small) == len(sizes):
        most = f"there are at most {max(sizes.values())}"
        return f"{gate.label} can never be decided: it asks for n >= {gate.min_n}, and {most}"
    return (
        f"{gate.label} can never be decided in {named(small)}: it asks for n >= {gate.min_n};"
        " write skip small after it to leave such slices out"
    )


def _too_few_pairs(suite: SuiteModel, gate: Gate, cases: list[Case]) -> str | None:
    """Why a gate on a baseline can never be decided: the least p of so few cases is above the limit."""
    n_of = {name: n for name, n in _cases_of(suite, gate, cases).items() if n >= gate.min_n or not gate.skip_small}
    small = {name or gate.metric: n for name, n in n_of.items() if least_p(n) * len(n_of) >= SIGNIFICANT}
    if not small or _is_about(gate, _OF_CALLS):
        return None
    return (
        f"{gate.label} can never be decided in {named(small)}: so few cases can show no difference, whatever they are"
    )


def for_sure_warnings(suite: SuiteModel, cases: list[Case]) -> list[str]:
    """Which gates `for sure` take more cases than there are, unless their baseline is worse than the run."""
    messages = []
    for gate in map(parse_gate, suite.gates):
        for name, n in _units_for_sure(suite, gate, cases).items():
            takes = _after(n, 0.0, 0).fewest(_limit(suite, gate)) if n else 0
            if n < takes < math.inf and not _never_for_sure(suite, gate, cases):
                where = f" in {name}" if name else ""
                messages.append(
                    f"gate {gate.text!r} passes{where} only where {gate.baseline} is worse: where nothing changes it"
                    f" takes {takes:,.0f} cases or clusters, and there are {n:,}"
                )
    return messages


def _never_for_sure(suite: SuiteModel, gate: Gate, cases: list[Case]) -> str | None:
    """Why a gate `for sure` can never pass: by the gate's own bound not even a run without a fault shows it against a
    baseline that meets the suite's plain gate on the same figure."""
    sign = gate.operator[0]
    plain = [item for item in map(parse_gate, suite.gates) if not item.baseline and item.operator[0] == sign]
    own = next((item for item in plain if item.stands_on == gate.stands_on), None)
    if own is None:
        return None
    low, high = _scale(suite, gate)
    gain = (high - own.threshold if sign == ">" else own.threshold - low) / (high - low)
    for name, n in _units_for_sure(suite, gate, cases).items():
        several = suite.repeats * len(suite.variants) > 1 or gate.pattern.endswith(("average", "points"))
        best = [_after(n, 1.0, math.floor(gain * n + _ROUNDING)), *([_after(n, gain, n)] if several else [])]
        if all(2 * item.p_at_most(_limit(suite, gate)) >= SIGNIFICANT for item in best):
            where = f" in {name}" if name else ""
            return (
                f"gate {gate.text!r} can never pass{where}: {n:,} cases or clusters without a fault do not show it"
                f" against a baseline that meets {own.text!r}"
            )
    return None


def _after(n: int, gain: float, gaining: int) -> BoundedMean:
    """What is for sure of a difference where some of n units gain so much, and the others nothing."""
    return BoundedMean(np.array([gain, 0.0]), np.ones(2), np.array([gaining, n - gaining]), -1.0, 1.0)


def _limit(suite: SuiteModel, gate: Gate) -> float:
    """What may be lost, below 0, as a share of the figure's scale."""
    low, high = _scale(suite, gate)
    return -abs(gate.threshold) / (high - low)


def _scale(suite: SuiteModel, gate: Gate) -> tuple[float, float]:
    scales = (
        component.scale for component in suite.computed if gate.unit == "points" and component.name == gate.subject
    )
    return next(scales, (0.0, 1.0))


def _units_for_sure(suite: SuiteModel, gate: Gate, cases: list[Case]) -> dict[str, int]:
    """By slice, the units that a gate `for sure` stands on at most; none of any other, and of sums."""
    if not gate.for_sure or gate.unit == "count":
        return {}
    units = suite.n_units
    results = {name: min(n, units) for name, n in _cases_of(suite, gate, cases).items()}
    return {name: n for name, n in results.items() if n and (n >= gate.min_n or not gate.skip_small)}


def _cases_of(suite: SuiteModel, gate: Gate, cases: list[Case]) -> dict[str, int]:
    """By slice that the gate speaks of, the cases that its figure can stand on."""
    survey, factor = suite.survey, gate.factor or ""
    counts = survey.slices.get(factor)
    results = Counter({variant.name: survey.n for variant in suite.variants} if factor == "variant" else {"": survey.n})
    if counts is not None:
        results = Counter(counts)
        if factor in ("category", "difficulty"):
            results[NONE] = survey.n - sum(counts.values())
    about = [component for component in suite.computed if gate.metric.startswith(f"score.{component.name}.")]
    skipped = [item for item in about if item.when_unknown == "skip" and item.scorer.needs_truth]
    for component in skipped:
        for case in cases:
            if not placed(component, suite).truth_at(case):
                own: dict[str, Sequence[str]] = {path: slice_names(case, path) for path in suite.slices}
                own |= {"category": [case.category or NONE], "difficulty": [case.difficulty or NONE], "tag": case.tags}
                results.subtract(own.get(factor, list(results)))
    if gate.slice not in (None, EVERY):
        return {gate.slice: results[gate.slice]}
    return {name: n for name, n in results.items() if n or name != NONE}
