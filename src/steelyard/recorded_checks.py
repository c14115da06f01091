"""A sample whose answer nobody kept, but what came of its checks or what its judge gave it: that counts as recorded."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.recordings import RecordedSample
from steelyard.records import Attempt, Check, CheckState, Failure, Finding, Judgement, Outcome, Sample, Score
from steelyard.scoring.weigh import Weigher
from steelyard.suite.expectations import EXPECT
from steelyard.suite.model import SuiteModel


def checked_sample(suite: SuiteModel, one: RecordedSample, repeat: int, created_at: float) -> Sample:
    """The sample with the score that its checks give: the share that passed, those that did not run among all.

    Without a check, or where one did not run and none failed, nobody can tell what the answer was worth: no reading,
    and not a zero.
    """
    checks = one.checks or ()
    states = {check.state for check in checks}
    if not checks or (CheckState.NOT_RUN in states and CheckState.FAILED not in states):
        return _unread(one, repeat, created_at)
    score = sum(check.state is CheckState.PASSED for check in checks) / len(checks)
    weighed = next((component for component in suite.components if component.name == EXPECT), None)
    return Sample(
        case_id=one.case.id,
        variant="",
        repeat=repeat,
        attempt=Attempt(latency=one.latency or 0.0, started_at=created_at),
        outcome=Outcome.SCORED,
        score=score,
        passed=None if suite.passing is None else score >= suite.passing.at_least,
        band=next((band.name for band in suite.bands if score >= band.at_least), None),
        scores=() if weighed is None else (Score(EXPECT, score, weighed.weight),),
        findings=tuple(_findings(suite, checks)),
        checks=checks,
        category=one.case.category,
        difficulty=one.case.difficulty,
        tags=one.case.tags,
    )


def scored_sample(
    weigher: Weigher, judgement: Judgement, one: RecordedSample, repeat: int, created_at: float
) -> Sample:
    """The sample with what its judge gave it then: scores by dimension, or all of them together as one."""
    weighed = weigher.by_judge_alone(judgement, one.score)
    return Sample(
        case_id=one.case.id,
        variant="",
        repeat=repeat,
        attempt=Attempt(text=one.answer, latency=one.latency or 0.0, started_at=created_at),
        outcome=weighed.outcome,
        score=weighed.score if weighed.outcome.conclusive else None,
        passed=weighed.passed,
        band=weighed.band,
        scores=weighed.scores,
        findings=weighed.findings,
        judgement=judgement,
        category=one.case.category,
        difficulty=one.case.difficulty,
        tags=one.case.tags,
    )


def _unread(one: RecordedSample, repeat: int, created_at: float) -> Sample:
    why = next((check.detail for check in one.checks or () if check.state is CheckState.NOT_RUN), one.failure)
    failure = Failure("recorded", why or ("not every check ran" if one.checks else "no check was recorded"))
    return Sample(
        case_id=one.case.id,
        variant="",
        repeat=repeat,
        attempt=Attempt(latency=one.latency or 0.0, started_at=created_at, failure=failure),
        outcome=Outcome.TARGET_FAILED,
        checks=one.checks or (),
        category=one.case.category,
        difficulty=one.case.difficulty,
        tags=one.case.tags,
    )


def _findings(suite: SuiteModel, checks: Sequence[Check]) -> list[Finding]:
    """One for each failed check that the suite has a code for."""
    kinds = {kind.code: kind for kind in suite.taxonomy}
    found = []
    for check in checks:
        code = _code(suite, check.name)
        if check.state is CheckState.FAILED and code in kinds:
            severity = kinds[code].severity
            gain = 1 / len(checks)
            found.append(
                Finding(code, check.name, evidence=check.detail, severity=severity, component=EXPECT, gain=gain)
            )
    return found


def _code(suite: SuiteModel, name: str) -> str:
    """The code of the declared check that a name such as `colour:red` belongs to."""
    declared = name.partition(":")[0]
    for component in suite.components:
        if component.name == EXPECT and declared in component.scorer.checks:
            code: str = component.scorer.code_of(declared)
            return code
    return declared.upper()
