"""Recorded answers of one run scored by the suite of another, in memory: nothing is stored, and no call is made."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from steelyard.engine.costs import scorer_calls
from steelyard.engine.sample import Evaluation
from steelyard.errors import SteelyardError, UsageError
from steelyard.loading.chosen_judge import as_recorded
from steelyard.records import Judgement, Outcome, Sample
from steelyard.scoring.evaluate import Evaluator
from steelyard.suite.case import Case
from steelyard.suite.judge import JudgeModel
from steelyard.suite.models import SuiteModel

if TYPE_CHECKING:
    from steelyard.engine.judges import Judges


NOT_KEPT = "the recorded answers of A's judge cannot be scored by B's rules: "


class OtherBalance:
    """A suite that scores what another run has recorded. `judge_then` is that run's judge as its header describes it.

    With `same_judge` a judge that is code is asked again; otherwise it is another code than then, and its recorded
    judgement stands.
    """

    def __init__(self, suite: SuiteModel, judge_then: JudgeModel | None, *, same_judge: bool) -> None:
        self._suite = suite
        self._evaluator = Evaluator(suite)
        self._as_judged_then: Judges | None = None
        self.why_no_words = ""
        """Why what the judge said then cannot be read again; "" when it can, or nobody judged."""
        if suite.judge is None:
            self.why_no_words = "" if judge_then is None else "A has a judge, and B has none"
        elif judge_then is None:
            self.why_no_words = "A has no judge, and B has one"
        elif same_judge or any(member.kind != "python" for member in judge_then.members):
            from steelyard.engine.judges import Judges

            try:
                self._as_judged_then = Judges(as_recorded(suite.judge, judge_then), suite.folder)
            except UsageError:
                message = "they were given on another scale or for other dimensions"
                self.why_no_words = NOT_KEPT + message

    @property
    def asks_no_model(self) -> bool:
        """True when everything that the suite says of an answer can be said again without a call."""
        judge = self._suite.judge
        if self._evaluator.needs_models:
            return False
        return judge is None or all(member.kind == "python" for member in judge.members)

    @cached_property
    def _now(self) -> Judges | None:
        if self._suite.judge is None:
            return None
        from steelyard.engine.judges import Judges

        return Judges(self._suite.judge, self._suite.folder)

    def evaluate(self, sample: Sample, case: Case) -> Sample:
        """The answer by this suite and the truth of `case`, with what its judge said then."""
        return self._evaluated(sample, case, again=False)

    def judge(self, sample: Sample, case: Case) -> Sample:
        """The answer by this suite and its own judge, which must be code."""
        return self._evaluated(sample, case, again=True)

    def _evaluated(self, sample: Sample, case: Case, *, again: bool) -> Sample:
        try:
            to_score = (self._evaluator, case, sample.variant, sample.repeat, sample.call_result)
            scoring = Evaluation(*to_score, scorer_calls(sample))
            if scoring.to_judge is not None:
                self._judged(scoring, sample.judgement, again=again)
        except SteelyardError:  # the suite has no reading of this truth: no reading, and no reason to end
            return replace(sample, outcome=Outcome.JUDGE_FAILED, score=None, passed=None)
        return scoring.sample

    def _judged(self, evaluation: Evaluation, then: Judgement | None, *, again: bool) -> None:
        if again and self._now is not None:
            self._now.read_again(evaluation, ())
        elif self._as_judged_then is not None and then is not None and then.votes[:1] and not then.calls:
            self._as_judged_then.read_recorded(evaluation, then.votes[0])
        elif self._as_judged_then is not None:
            self._as_judged_then.read_again(evaluation, () if then is None else then.calls)
        else:
            evaluation.judge(lambda _: Judgement(None, message="it was not judged") if then is None else then)


def reading_of(sample: Sample, *, by_pass: bool) -> float:
    """What a sample adds to the headline number; NaN without a reading."""
    if not sample.outcome.conclusive or sample.score is None:
        return float("nan")
    if sample.outcome is Outcome.MALFORMED:
        return 0.0
    if not by_pass:
        return sample.score
    return float("nan") if sample.passed is None else float(sample.passed)
