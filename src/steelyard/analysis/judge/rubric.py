"""The rubric of a run's judge, read from the suite as the run's header describes it, and what votes are by it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from steelyard.analysis.model import Rebuttal
from steelyard.frozen import frozen
from steelyard.records import Judgement, Mode, Vote
from steelyard.suite.judge import REBUTTED
from steelyard.suite.labels import Label
from steelyard.suite.models import SuiteModel
from steelyard.suite.paths import split_path

Labels = Mapping[str, Label | bool]
"""What a careful reviewer says of one case, by dimension and flag; see `suite.labels.labels_of`."""
_ROUNDING = 1e-9


@frozen
class DescribedRubric:
    """What analysis needs to know of a judge."""

    mode: str
    """The run's main mode: readings of any other are counted aside."""
    dimensions: dict[str, float]
    """Names with their weights, in the rubric's order."""
    flags: dict[str, bool]
    """Names with whether a flagged text has failed."""
    low: float
    high: float
    neutral: float
    passing: float | None
    """The share of the full score at which a text passes; None when the suite does not say."""
    others_count: bool
    """Whether anything but the rubric's dimensions counts in a score."""
    declared_random: bool
    """Whether the suite declares that the texts with labels were sampled at random."""
    epsilon: float
    """How much less often than a person the judge may agree with the others, in the alternative annotator test."""
    asked_for: tuple[str, ...] = ()
    """The fields of a reply that hold reasons and quotes."""
    answers_in: str = ""
    """The field of its answer that says what it makes of findings of scorers; "" when it is asked about none."""

    @property
    def scale(self) -> tuple[float, float]:
        """Lowest and highest score."""
        return self.low, self.high

    def passes(self, labels: Labels) -> bool | None:
        """Whether a reviewer's best scores and flags make a text pass; None when they do not tell."""
        weights = {name: weight for name, weight in self.dimensions.items() if weight > 0}
        if self.passing is None or self.others_count or not weights:
            return None
        flagged = [labels.get(name) for name, fails in self.flags.items() if fails]
        best = {name: label.best for name, label in labels.items() if isinstance(label, Label)}
        # Labels with a gap could tell only of texts that fail, which are no random part of all.
        if None in flagged or not best.keys() >= weights.keys():
            return None
        earned = sum(weight * (best[name] - self.low) for name, weight in weights.items())
        share = earned / (self.high - self.low) / sum(weights.values())
        return True not in flagged and share >= self.passing - _ROUNDING


def described_rubric(suite: SuiteModel) -> DescribedRubric | None:
    """The rubric of the suite's judge; None for a suite without one."""
    judge = suite.judge
    if judge is None:
        return None
    rubric = judge.rubric
    return DescribedRubric(
        mode=judge.mode,
        dimensions={dimension.name: dimension.weight for dimension in rubric.dimensions},
        flags={flag.name: flag.fails for flag in rubric.flags},
        low=float(rubric.low),
        high=float(rubric.high),
        neutral=float(rubric.neutral),
        passing=suite.passing.at_least if suite.passing else None,
        others_count=any(component.weight > 0 and component.name not in rubric.names for component in suite.components),
        declared_random=judge.labels_are == "random",
        epsilon=judge.epsilon,
        asked_for=tuple(dict.fromkeys(split_path(part.place)[0] for part in (judge.reasons, judge.evidence) if part)),
        answers_in=judge.must_answer.place if judge.must_answer else "",
    )


def answers_to_findings(vote: Vote, rubric: DescribedRubric) -> list[Mapping[str, str]]:
    """What a vote of the run's own mode answers to each finding that its judge was shown."""
    if not rubric.answers_in or vote.mode != rubric.mode or vote.mode is Mode.RULES:
        return []
    return [item for item in vote.response.get(rubric.answers_in) or () if "answer" in item]


def rebuttals(case_id: str, judgement: Judgement, rubric: DescribedRubric) -> Iterator[Rebuttal]:
    """The disagreements of scorers with the votes on one text."""
    for vote in judgement.votes:
        for item in answers_to_findings(vote, rubric):
            if item["answer"] == REBUTTED:
                yield Rebuttal(case_id, vote.member, item["finding"], item["words"], item["reason"])


FAILED = "failed"
"""The step of a vote without a reading."""


def votes_of(judgement: Judgement) -> Sequence[Vote]:
    """The votes on a text; a judge that gave none counts as one without an answer: a failure must not be out of
    sight."""
    return judgement.votes or (Vote("", 0, None, FAILED, message=judgement.message),)


def is_unanswered(vote: Vote) -> bool:
    """True when there is no reading because no call was ever answered; an answer that cannot be used is remarked."""
    return vote.mode is None and all(remark.code != "VIOLATION" for remark in vote.remarks)


def was_cut_off(vote: Vote) -> bool:
    """True when an answer behind the vote broke off at the limit of tokens, whatever it was read as."""
    return any(remark.code == "CUT_OFF" for remark in vote.remarks)


def broken_rules(vote: Vote) -> set[str]:
    """The rules that a vote broke, as the suite writes them."""
    messages = [remark.message for remark in vote.remarks if remark.code == "RULE_BROKEN"]
    # A remark says the rule, then what was given against it.
    return {text.rpartition(": ")[0] or text for text in messages}
