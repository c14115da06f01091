"""The audit of a suite: what each probe earns under each rule, what the gates do, and whether that is acceptable."""

from __future__ import annotations

from dataclasses import field, replace

from steelyard.auditing.cases import case_complaints, contained_truths
from steelyard.auditing.dependence import shared_inputs
from steelyard.auditing.gates import Tried, for_sure_warnings, gate_complaints
from steelyard.auditing.guesses import Chance, even
from steelyard.auditing.independence import identical_labelers, labels_in_prompt, labels_of_judge
from steelyard.auditing.judge import (
    Balance,
    InjectionResult,
    recorded_answers,
    try_injections,
    unguarded,
    why_malformed,
)
from steelyard.auditing.probes import CONSTANT, EVERYTHING, NULL, PARTLY, STUFFED, TRUTH, WRONG, Probe, ProbeMaker
from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.loading.chosen_judge import models_of
from steelyard.loading.load import strict as with_strict_rules
from steelyard.records import Outcome, Verdict
from steelyard.redact import redacted_output
from steelyard.scoring.evaluate import Evaluated
from steelyard.suite.case import Case
from steelyard.suite.models import EXPECT, SuiteModel
from steelyard.suite.origins import shared_origins
from steelyard.wording import percent, threshold

MOST_CASES = 2_000
"""A larger suite is audited on cases drawn at random, always the same; the result says so."""
_ROUNDING = 1e-9
AS_WRITTEN = "as written"
STRICT = "strict"


@frozen
class ProbeResult:
    """What one probe earned under one rule: shares of full marks over `n` cases."""

    probe: str
    about: str
    kind: str
    rule: str
    n: int
    average: float
    highest: float
    lowest: float
    n_malformed: int
    """How many of them were malformed, so that no scorer saw them."""
    reason: str
    """Why the first of these was; "" when none was."""
    passed: tuple[str, ...]
    """Ids of the cases it passed."""
    limit: float
    """The most that `average` may be; for the truth, the least that `lowest` may be."""
    holds: bool
    """False when it earned what it must not, and when it was not read."""
    not_read: bool = False
    """True when it had to be read to say anything, and every answer was malformed."""
    only_shown: bool = False
    """True where a strict rule exists beside this one and is held to the limits in its place, and where a model would
    have to be asked: then it is what a judge that gives full marks, without proof, would leave it with."""


@frozen
class AuditResult:
    """All probes, the gates, what is wrong, and what could not be tried."""

    suite: str
    n_cases: int
    n_audited: int
    probes: list[ProbeResult] = field(default_factory=list)
    injections: list[InjectionResult] = field(default_factory=list)
    """For a judged suite: the results of prompt injections."""
    complaints: list[str] = field(default_factory=list)
    not_read: list[str] = field(default_factory=list)
    """Probes without a result, and why."""
    warnings: list[str] = field(default_factory=list)
    """Warnings that make figures less reliable than they look, and change no verdict."""
    notes: list[str] = field(default_factory=list)
    """What is right in some suites and a flaw in others, such as a text of the question that contains the truth."""
    not_tested: list[str] = field(default_factory=list)
    """What no probe could be built for, or nothing but a model could score: no verdict is about it."""
    chance: float | None = None
    """What guessing earns where some part is a choice of few, under the suite's own rules; None elsewhere."""

    @property
    def verdict(self) -> Verdict:
        """FAIL for what is wrong; AMBIGUOUS where a probe was not read, since it may earn anything."""
        if self.complaints:
            return Verdict.FAIL
        return Verdict.AMBIGUOUS if self.not_read else Verdict.PASS


@redacted_output()
def audit(suite: SuiteModel) -> AuditResult:
    """Score every probe on every case, by the suite's rules and by the strict ones."""
    drawn = set(even(suite.survey.n, MOST_CASES))
    cases = [case for at, case in enumerate(suite.cases) if at in drawn]
    recorded = [text for _, text in recorded_answers(suite, cases)]
    balances = [(rule, ruled, Balance(ruled)) for rule, ruled in _rules(suite)]
    probed = [(*item, ProbeMaker(item[1], cases, item[2].evaluate, recorded)) for item in balances]
    chances = [_chance(balance, maker, cases) for _, _, balance, maker in probed]
    result = AuditResult(suite.name, suite.survey.n, len(cases), chance=chances[0].average or None)
    tried: list[Tried] = []
    for (rule, ruled, balance, maker), chance in zip(probed, chances, strict=True):
        allowed = _Allowed(ruled, rule, chance)
        for probe in maker.probes():
            scored = [_evaluate_one(balance, probe.answer(at), case, probe) for at, case in enumerate(cases)]
            outcome, complaint = _result(ruled, balance, probe, cases, scored, allowed)
            result.probes.append(outcome)
            if complaint:
                result.complaints.append(complaint)
            if ruled is suite and not outcome.only_shown:
                tried.append((probe, scored))
        result.not_tested.extend(message for message in maker.untested if message not in result.not_tested)
    shown = dict.fromkeys(probe.probe for probe in result.probes if probe.only_shown and probed[0][2].is_lenient)
    result.not_tested.extend([f"what a model gives (audit calls none): {', '.join(shown)}"] if shown else [])
    result.not_read.extend(_not_read(result.probes))
    result.injections.extend(try_injections(suite, cases))
    if result.injections and not result.injections[0].n:
        untried = "prompt injections were not tried, since no readable answer could be made"
        result.not_read.append(f"{untried}: {result.injections[0].reason}")
    for injection in result.injections:
        result.complaints.extend(f"injection {injection.name}: {message}" for message in injection.broken)
    if suite.judge is not None and (text := unguarded(suite.judge)):
        result.complaints.append(text)
    if suite.judge is not None:
        result.complaints.extend(labels_in_prompt(suite, suite.cases))
        result.complaints.extend(identical_labelers(suite.judge, suite.cases))
        result.warnings.extend(labels_of_judge(suite, cases))
        models = models_of(str(getattr(suite.target.settings, "model", "")), suite.variants) or ()
        address = str(getattr(suite.target.settings, "base_url", None) or "")
        result.warnings.extend(shared_origins(models, address, suite.judge))
    result.complaints.extend(gate_complaints(suite, cases, tried))
    result.complaints.extend(case_complaints(suite))
    result.warnings.extend(for_sure_warnings(suite, cases))
    if warning := shared_inputs(suite):
        result.warnings.append(warning)
    result.notes.extend(contained_truths(suite))
    return result


def _not_read(probes: list[ProbeResult]) -> dict[str, None]:
    """Which probes were not read, and why. A filler that no pattern lets in is none of them, and earns nothing, where
    what one answer for all cases can earn is known from others."""
    if any(probe.kind == CONSTANT and probe.n_malformed < probe.n for probe in probes):
        probes[:] = [
            replace(probe, not_read=False, holds=True) if probe.kind == NULL and probe.not_read else probe
            for probe in probes
        ]
    return dict.fromkeys(f"{probe.probe} was not read: {probe.reason}" for probe in probes if probe.not_read)


@frozen
class _Allowed:
    """What probes may earn and pass under one rule. Where some parts are a choice of few, guessing earns something, and
    what is the same for every case may come half of the way (`wrong_share`) from there to full marks."""

    suite: SuiteModel
    rule: str
    chance: Chance

    def limit(self, probe: Probe) -> float:
        """The most that a probe may earn; for the truth, the least that it must in each case."""
        limits, kind = self.suite.audit, probe.kind
        null = limits.null_share
        if self.rule == STRICT and limits.null_share_strict is not None:
            null = limits.null_share_strict
        if kind == CONSTANT:
            # What is the same for every case passes the checks that all cases share: there, the cases it passes count.
            return 1.0 if _has_checks(self.suite) else max(null, self._half_way(self.chance.average))
        # A filler can be lucky where there is a choice. What is in no shape that was asked for is no guess.
        if not probe.may_be_malformed:
            null = max(null, self._half_way(self.chance.average, self.chance.weight))
        wrong = dict.fromkeys((WRONG, EVERYTHING), limits.wrong_share)
        if _has_checks(self.suite):
            wrong[WRONG] = max(limits.wrong_share, null)
        return ({TRUTH: limits.truth_share, PARTLY: 1.0} | wrong).get(kind, null)

    def passes(self, probe: Probe) -> float:
        """The share of cases that a probe may pass."""
        is_guess = probe.kind == NULL and not probe.may_be_malformed and self.chance.passes > 0
        is_guess = is_guess or probe.kind == CONSTANT or (probe.kind == WRONG and _has_checks(self.suite))
        part = self._half_way(self.chance.passes) if is_guess else 0.0
        return 1.0 if probe.kind == PARTLY else max(self.suite.audit.null_passes, part)

    def _half_way(self, chance: float, top: float = 1.0) -> float:
        return chance + self.suite.audit.wrong_share * max(0.0, top - chance)


def _has_checks(suite: SuiteModel) -> bool:
    return any(component.scorer_name == EXPECT for component in suite.computed)


def _chance(balance: Balance, maker: ProbeMaker, cases: list[Case]) -> Chance:
    """What guesses earn on average; nothing when there are none."""
    guess = Probe("guess", "a guess among the truths", CONSTANT, lambda _: "")
    some = [cases[at] for at in even(len(cases))]
    results = [_evaluate_one(balance, text, case, guess) for text in maker.guesses() for case in some]
    earned, passed = sum(item.score or 0.0 for item in results), sum(bool(item.passed) for item in results)
    return Chance(earned / len(results), passed / len(results), maker.choice_weight) if results else Chance()


def _rules(suite: SuiteModel) -> list[tuple[str, SuiteModel]]:
    rules = [(AS_WRITTEN, suite)]
    return [*rules, (STRICT, with_strict_rules(suite))] if _has_strict(suite) else rules


def _has_strict(suite: SuiteModel) -> bool:
    return any(component.scorer.has_strict and not component.scorer.strict for component in suite.computed)


def _result(
    suite: SuiteModel, balance: Balance, probe: Probe, cases: list[Case], scored: list[Evaluated], allowed: _Allowed
) -> tuple[ProbeResult, str | None]:
    scores = [item.score or 0.0 for item in scored]
    malformed = [why_malformed(item) for item in scored if item.outcome is Outcome.MALFORMED]
    not_read = len(malformed) == len(cases) and probe.must_be_read
    passed = tuple(case.id for case, item in zip(cases, scored, strict=True) if item.passed)
    # One answer for all cases may be the right one of one of them.
    own = 1 / len(cases) if probe.kind == CONSTANT else 0.0
    rule, limit = allowed.rule, max(allowed.limit(probe), own)
    average, lowest = sum(scores) / len(scores), min(scores)
    complaint = None
    only_shown = probe.kind in (STUFFED, EVERYTHING) and rule == AS_WRITTEN and _has_strict(suite)
    only_shown = only_shown or balance.is_lenient
    if probe.kind == TRUTH and not not_read:
        if lowest < limit or (len(passed) < len(cases) and suite.passing is not None):
            complaint = _truth_complaint(cases, scored, limit)
    elif probe.kind != TRUTH and not only_shown:
        if average > limit * (1 + _ROUNDING):
            complaint = f"{percent(average)} of full marks for {probe.about}; at most {limit * 100:.4g} % is allowed"
        elif len(passed) > max(allowed.passes(probe), own) * len(cases) + _ROUNDING:
            complaint = f"{probe.about} passes {len(passed)} of {len(cases)} cases: {', '.join(passed[:5])}"
        if complaint is not None and probe.kind == NULL:
            complaint += _right_for_some(suite, cases)
    probe_result = ProbeResult(
        probe=probe.name,
        about=probe.about,
        kind=probe.kind,
        rule=rule,
        n=len(cases),
        average=average,
        highest=max(scores),
        lowest=lowest,
        n_malformed=len(malformed),
        reason=malformed[0] if malformed else "",
        passed=passed,
        limit=limit,
        holds=complaint is None and not not_read,
        not_read=not_read,
        only_shown=only_shown,
    )
    return probe_result, complaint and f"{probe.name} ({rule}): {complaint}"


def _evaluate_one(balance: Balance, answer: str, case: Case, probe: Probe) -> Evaluated:
    try:
        return balance.evaluate(answer, case)
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        raise UsageError(
            f"a scorer of the suite breaks on {probe.about} (case {case.id}): {message}."
            " Fix it: a scorer must be able to read any answer"
        ) from error


def _right_for_some(suite: SuiteModel, cases: list[Case]) -> str:
    """What to do where some cases ask for nothing, and an answer that holds nothing is right for them."""
    scorers = [component.scorer for component in suite.computed if component.weight > 0]
    n = sum(all(scorer.asks_nothing(case) for scorer in scorers) for case in cases) if suite.judge is None else 0
    if not n:
        return ""
    return (
        f". {n} of {len(cases)} cases ask for nothing, for which it is right: declare how much it may score, as in"
        f" audit: {{null_share: {-(-100 * n // len(cases))} %, null_passes: {-(-100 * n // len(cases))} %}}"
    )


def _truth_complaint(cases: list[Case], scored: list[Evaluated], limit: float) -> str:
    worst = sorted(zip(scored, (case.id for case in cases), strict=True), key=lambda item: (item[0].score, item[1]))
    listed = ", ".join(
        f"{case_id} {percent(item.score)}{_in_brackets(why_malformed(item))}" for item, case_id in worst[:5]
    )
    return f"the truth itself must earn {threshold(limit)} and pass; lowest: {listed}"


def _in_brackets(reason: str) -> str:
    return f" ({reason})" if reason else ""
