"""Score one sample, off the event loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from steelyard.errors import SteelyardError
from steelyard.failures import failure_words
from steelyard.records import SCORER_ERROR, CallResult, Finding, Judgement, Outcome, Sample, ScorerCall
from steelyard.scoring.evaluate import Evaluated, Evaluator
from steelyard.scoring.model_scorers import NeededCall, looking_up
from steelyard.suite.case import Case
from steelyard.suite.slices import sample_tags
from steelyard.user_code import UserCodeError, raised_in_words

_RESULT = tuple(name for name in Evaluated.__match_args__ if name in Sample.__match_args__)
"""The fields of a sample that scoring its answer gives."""
_LONGEST_REASON = 300
"""Characters of a failure that a check shows."""


class Evaluation:
    """One sample being scored. `to_judge` is not None while a judge still has to be asked."""

    wanted: tuple[NeededCall, ...] = ()
    """What models have still to be asked for its scorers."""

    def __init__(
        self,
        evaluator: Evaluator,
        case: Case,
        variant: str,
        repeat: int,
        call_result: CallResult,
        calls: Sequence[ScorerCall] = (),
    ) -> None:
        """Score the attempt as far as it goes without a judge. `calls` are those that scorers asked for."""
        self._evaluator = evaluator
        self.case = case
        self.evaluated: Evaluated | None = None
        self.sample = Sample(
            case_id=case.id,
            variant=variant,
            repeat=repeat,
            call_result=call_result,
            outcome=Outcome.TARGET_FAILED,
            category=case.category,
            difficulty=case.difficulty,
            cluster=case.cluster,
            tags=sample_tags(case, evaluator.slices),
        )
        if call_result.failure is None:
            self._take(lambda: self._evaluate(calls))
        else:
            failure = failure_words(call_result.failure.kind, call_result.failure.message)
            self.sample.checks = evaluator.unrun(case, f"the call failed: {failure[:_LONGEST_REASON]}")

    @classmethod
    def received(cls, evaluator: Evaluator, case: Case, sample: Sample, evaluated: Evaluated | None) -> Evaluation:
        """The same of a sample that another process has scored; `evaluated` when a judge has still to be asked."""
        result = cls.__new__(cls)
        result._evaluator, result.case = evaluator, case
        result.sample, result.evaluated = sample, evaluated
        return result

    def _evaluate(self, calls: Sequence[ScorerCall]) -> Evaluated:
        given, evaluator = self.sample.call_result, self._evaluator
        if not evaluator.needs_models:
            return evaluator.evaluate(given.text or "", self.case, given.status, cut_off=given.cut_off)
        with looking_up(calls) as lookup:
            scored = evaluator.evaluate(given.text or "", self.case, given.status, cut_off=given.cut_off)
        if not lookup.wanted or scored.outcome is Outcome.MALFORMED:
            return scored
        self.wanted = tuple(lookup.wanted.values())
        finding = Finding(SCORER_ERROR, evidence=self.wanted[0].why)
        return replace(scored, outcome=Outcome.JUDGE_FAILED, findings=(finding,), to_judge=None)

    def again(self, calls: Sequence[ScorerCall] = ()) -> Evaluation:
        """The same answer scored with what models have said."""
        sample = self.sample
        return Evaluation(self._evaluator, self.case, sample.variant, sample.repeat, sample.call_result, calls)

    @property
    def to_judge(self) -> str | None:
        """The text that a judge has to read; None when nothing is left to say."""
        return None if self.evaluated is None else self.evaluated.to_judge

    def judge(self, read: Callable[[Evaluated], Judgement]) -> None:
        """Add what the judge says of what was scored."""
        before = self.evaluated
        if before is None:
            raise RuntimeError("there is nothing to judge")

        def judged() -> Evaluated:
            judgement = self.sample.judgement = read(before)
            return self._evaluator.judged(before, judgement)

        self._take(judged)

    def _take(self, score: Callable[[], Evaluated]) -> None:
        """Take over what it scores. A scorer or judge that raises makes the sample inconclusive, never a zero."""
        sample = self.sample
        self.evaluated = None
        try:
            scored = score()
        except Exception as error:  # noqa: BLE001 - a plug-in may raise anything; the paid-for answer must not be lost
            sample.outcome = Outcome.JUDGE_FAILED
            message = (
                str(error)
                if isinstance(error, UserCodeError | SteelyardError)
                else f"a scorer raised {raised_in_words(error)}"
            )
            sample.findings = (Finding(SCORER_ERROR, evidence=message),)
            sample.checks = sample.checks or self._evaluator.unrun(self.case, message)
            return
        for name in _RESULT:
            setattr(sample, name, getattr(scored, name))
        if scored.to_judge is not None or not scored.outcome.conclusive:
            sample.score = sample.passed = sample.band = None
        self.evaluated = scored
