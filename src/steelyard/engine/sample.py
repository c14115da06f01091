"""From an attempt to a sample: weighed, judged, and inconclusive where the scale itself broke."""

from __future__ import annotations

from collections.abc import Callable

from steelyard.errors import SteelyardError
from steelyard.records import BROKEN_SCALE, Attempt, Finding, Judgement, Outcome, Sample
from steelyard.scoring.weigh import Weighed, Weigher
from steelyard.suite.case import Case
from steelyard.user_code import UserCodeError, raised_in_words


class Weighing:
    """One sample on the balance. `to_judge` is not None while a judge still has to speak."""

    def __init__(self, weigher: Weigher, case: Case, variant: str, repeat: int, attempt: Attempt) -> None:
        """Weigh the attempt as far as it goes without a judge."""
        self._weigher = weigher
        self.case = case
        self.weighed: Weighed | None = None
        self.sample = Sample(
            case_id=case.id,
            variant=variant,
            repeat=repeat,
            attempt=attempt,
            outcome=Outcome.TARGET_FAILED,
            category=case.category,
            difficulty=case.difficulty,
            cluster=case.cluster,
            tags=case.tags,
        )
        if attempt.failure is None:
            self._take(lambda: weigher.weigh(attempt.text or "", case, attempt.status, cut_off=attempt.cut_off))
        else:
            self.sample.checks = weigher.unrun(case, f"the call failed: {attempt.failure.kind}")

    @property
    def to_judge(self) -> str | None:
        """The text that a judge has to read; None when nothing is left to say."""
        return None if self.weighed is None else self.weighed.to_judge

    def judge(self, read: Callable[[Weighed], Judgement]) -> None:
        """Add what the judge says of what was weighed."""
        before = self.weighed
        if before is None:
            raise RuntimeError("there is nothing to judge")

        def judged() -> Weighed:
            judgement = self.sample.judgement = read(before)
            return self._weigher.judged(before, judgement)

        self._take(judged)

    def _take(self, weigh: Callable[[], Weighed]) -> None:
        """Take over what it weighs. A scorer or judge that raises makes the sample inconclusive, never a zero."""
        sample = self.sample
        self.weighed = None
        try:
            weighed = weigh()
        except Exception as error:  # noqa: BLE001 - a plug-in may raise anything; the paid-for answer must not be lost
            sample.outcome = Outcome.JUDGE_FAILED
            told = (
                str(error)
                if isinstance(error, UserCodeError | SteelyardError)
                else f"a scorer raised {raised_in_words(error)}"
            )
            sample.findings = (Finding(BROKEN_SCALE, evidence=told),)
            sample.checks = sample.checks or self._weigher.unrun(self.case, told)
            return
        sample.outcome = weighed.outcome
        sample.scores = weighed.scores
        sample.findings = weighed.findings
        sample.marks = weighed.marks
        sample.certainties = weighed.certainties
        sample.checks = weighed.checks
        sample.items = weighed.items
        sample.rung = weighed.rung
        if weighed.outcome.conclusive and weighed.to_judge is None:
            sample.score, sample.passed, sample.band = weighed.score, weighed.passed, weighed.band
        self.weighed = weighed
