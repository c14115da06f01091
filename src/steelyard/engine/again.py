"""Recorded answers of one run on the balance of another, in memory: nothing is kept, and nobody is called."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from steelyard.engine.judges import Judges
from steelyard.engine.sample import Weighing
from steelyard.errors import SteelyardError, UserMistake
from steelyard.records import Judgement, Outcome, Sample
from steelyard.scoring.weigh import Weigher
from steelyard.suite.case import Case
from steelyard.suite.chosen_judge import as_recorded
from steelyard.suite.judge import JudgeDescription
from steelyard.suite.models import SuiteModel

NOT_KEPT = "the words of A's judge cannot be read by B's rules: "


class OtherBalance:
    """A suite that weighs what another run has recorded. `judge_then` is that run's judge as its header describes it.

    With `same_judge` a judge that is code is asked again; otherwise it is another code than then, and its recorded
    judgement stands.
    """

    def __init__(self, suite: SuiteModel, judge_then: JudgeDescription | None, *, same_judge: bool) -> None:
        self._suite = suite
        self._weigher = Weigher(suite)
        self._as_judged_then: Judges | None = None
        self.why_no_words = ""
        """Why what the judge said then cannot be read again; "" when it can, or nobody judged."""
        if suite.judge is None:
            self.why_no_words = "" if judge_then is None else "A has a judge, and B has none"
        elif judge_then is None:
            self.why_no_words = "A has no judge, and B has one"
        elif same_judge or any(member.kind != "python" for member in judge_then.members):
            try:
                self._as_judged_then = Judges(as_recorded(suite.judge, judge_then), suite.folder)
            except UserMistake:
                told = "they were given on another scale or for other dimensions"
                self.why_no_words = NOT_KEPT + told

    @property
    def asks_no_model(self) -> bool:
        """True when everything that the suite says of an answer can be said again without a call."""
        judge = self._suite.judge
        return judge is None or all(member.kind == "python" for member in judge.members)

    @cached_property
    def _now(self) -> Judges | None:
        return None if self._suite.judge is None else Judges(self._suite.judge, self._suite.folder)

    def weigh(self, sample: Sample, case: Case) -> Sample:
        """The answer by this suite and the truth of `case`, with what its judge said then."""
        return self._weighed(sample, case, again=False)

    def judge(self, sample: Sample, case: Case) -> Sample:
        """The answer by this suite and its own judge, which must be code."""
        return self._weighed(sample, case, again=True)

    def _weighed(self, sample: Sample, case: Case, *, again: bool) -> Sample:
        try:
            weighing = Weighing(self._weigher, case, sample.variant, sample.repeat, sample.attempt)
            if weighing.to_judge is not None:
                self._judged(weighing, sample.judgement, again=again)
        except SteelyardError:  # the suite has no reading of this truth: no reading, and no reason to end
            return replace(sample, outcome=Outcome.JUDGE_FAILED, score=None, passed=None)
        return weighing.sample

    def _judged(self, weighing: Weighing, then: Judgement | None, *, again: bool) -> None:
        if again and self._now is not None:
            self._now.read_again(weighing, ())
        elif self._as_judged_then is not None and then is not None and then.ballots[:1] and not then.calls:
            self._as_judged_then.read_recorded(weighing, then.ballots[0])
        elif self._as_judged_then is not None:
            self._as_judged_then.read_again(weighing, () if then is None else then.calls)
        else:
            weighing.judge(lambda _: Judgement(None, told="nobody judged it then") if then is None else then)


def reading_of(sample: Sample, *, by_pass: bool) -> float:
    """What a sample adds to the headline number; NaN without a reading."""
    if not sample.outcome.conclusive or sample.score is None:
        return float("nan")
    if sample.outcome is Outcome.MALFORMED:
        return 0.0
    if not by_pass:
        return sample.score
    return float("nan") if sample.passed is None else float(sample.passed)
