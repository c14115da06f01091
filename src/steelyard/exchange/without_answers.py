"""Samples whose answer is not kept, only the results of their checks or of their judge: these count as recorded."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.records import CallResult, Check, CheckState, Failure, Finding, Judgement, Outcome, Sample, Score
from steelyard.scoring.evaluate import Evaluator, passes
from steelyard.store.recorded_run import RecordedSample
from steelyard.suite.models import EXPECT, SuiteModel


def checked_sample(suite: SuiteModel, recorded_sample: RecordedSample, repeat: int, created_at: float) -> Sample:
    """The sample with the score that its checks give: the share that passed, those that did not run among all.

    Without a check, or where one did not run and none failed, nothing says what the answer was worth: no reading,
    and not a zero.
    """
    checks = recorded_sample.checks or ()
    states = {check.state for check in checks}
    if not checks or (CheckState.NOT_RUN in states and CheckState.FAILED not in states):
        return _unread(recorded_sample, repeat, created_at)
    score = sum(check.state is CheckState.PASSED for check in checks) / len(checks)
    scored = next((component for component in suite.components if component.name == EXPECT), None)
    return Sample(
        case_id=recorded_sample.case.id,
        variant="",
        repeat=repeat,
        call_result=CallResult(latency=recorded_sample.latency or 0.0, tries=0, started_at=created_at),
        outcome=Outcome.SCORED,
        score=score,
        passed=None if suite.passing is None else passes(score, suite.passing.at_least, checks),
        band=next((band.name for band in suite.bands if score >= band.at_least), None),
        scores=() if scored is None else (Score(EXPECT, score, scored.weight),),
        findings=tuple(_findings_of_checks(suite, checks)),
        checks=checks,
        category=recorded_sample.case.category,
        difficulty=recorded_sample.case.difficulty,
        cluster=recorded_sample.case.cluster,
    )


def scored_sample(
    evaluator: Evaluator, judgement: Judgement, recorded_sample: RecordedSample, repeat: int, created_at: float
) -> Sample:
    """The sample with what its judge gave it then: scores by dimension, or all of them together as one."""
    scored = evaluator.by_judge_alone(judgement, recorded_sample.score)
    return Sample(
        case_id=recorded_sample.case.id,
        variant="",
        repeat=repeat,
        call_result=CallResult(
            tries=0, text=recorded_sample.answer, latency=recorded_sample.latency or 0.0, started_at=created_at
        ),
        outcome=scored.outcome,
        score=scored.score if scored.outcome.conclusive else None,
        passed=scored.passed,
        band=scored.band,
        scores=scored.scores,
        findings=scored.findings,
        checks=evaluator.unrun(recorded_sample.case, "the answer was not kept"),
        judgement=judgement,
        category=recorded_sample.case.category,
        difficulty=recorded_sample.case.difficulty,
        cluster=recorded_sample.case.cluster,
    )


def _unread(recorded_sample: RecordedSample, repeat: int, created_at: float) -> Sample:
    why = next(
        (check.detail for check in recorded_sample.checks or () if check.state is CheckState.NOT_RUN),
        recorded_sample.failure,
    )
    failure = Failure("recorded", why or ("not every check ran" if recorded_sample.checks else "no check was recorded"))
    return Sample(
        case_id=recorded_sample.case.id,
        variant="",
        repeat=repeat,
        call_result=CallResult(latency=recorded_sample.latency or 0.0, tries=0, started_at=created_at, failure=failure),
        outcome=Outcome.TARGET_FAILED,
        checks=recorded_sample.checks or (),
        category=recorded_sample.case.category,
        difficulty=recorded_sample.case.difficulty,
        cluster=recorded_sample.case.cluster,
    )


def _findings_of_checks(suite: SuiteModel, checks: Sequence[Check]) -> list[Finding]:
    """One for each failed check that the suite has a code for."""
    kinds = {kind.code: kind for kind in suite.taxonomy}
    results = []
    for check in checks:
        code = _code(suite, check.name)
        if check.state is CheckState.FAILED and code in kinds:
            severity = kinds[code].severity
            gain = 1 / len(checks)
            results.append(
                Finding(code, check.name, evidence=check.detail, severity=severity, component=EXPECT, gain=gain)
            )
    return results


def _code(suite: SuiteModel, name: str) -> str:
    """The code of the declared check that a name such as `colour:red` belongs to."""
    declared = name.partition(":")[0]
    for component in suite.components:
        if component.name == EXPECT and declared in component.scorer.checks:
            code: str = component.scorer.code_of(declared)
            return code
    return declared.upper()
