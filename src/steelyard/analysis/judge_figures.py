"""How the judge of a run behaved, from its ballots; they pass by once and only sums are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from steelyard.analysis.ballots import FAILED, is_unanswered, was_cut_off
from steelyard.analysis.judge_model import Judged
from steelyard.analysis.judge_silence import Reasons
from steelyard.analysis.model import BoundFigure, JudgeFigures, UsualScore
from steelyard.analysis.rubric import DescribedRubric, Labels
from steelyard.records import Ballot, Judgement
from steelyard.stats.groups import Running
from steelyard.stats.intervals import Estimate
from steelyard.suite.labels import Label

Vote = Callable[[Ballot, DescribedRubric], float | None]
"""What a vote brings into a share; None when it is not in it."""


def _remarked(code: str) -> Vote:
    """Whether a vote of the run's own mode has a remark of that code."""

    def value(vote: Ballot, rubric: DescribedRubric) -> float | None:
        return float(any(remark.code == code for remark in vote.remarks)) if vote.mode == rubric.mode else None

    return value


def _if_answered(hit: Callable[[Ballot], bool]) -> Vote:
    return lambda vote, _: None if is_unanswered(vote) else float(hit(vote))


@dataclass(frozen=True, slots=True)
class VoteShare:
    """A share of the judge's votes: a metric of the level of votes."""

    formula: str
    value: Vote
    excluded: str
    """Why a vote is not in it."""
    code: str = ""
    """The remark that it counts; it is n/a where the judge cannot earn it."""


_OTHER_MODE, _NO_ANSWER = "another kind of reading than the run's, or none", "never answered"
VOTE_SHARES = {
    "broken_rules": VoteShare(
        "votes that broke a binding rule / votes of the run's own mode",
        _remarked("RULE_BROKEN"),
        _OTHER_MODE,
        "RULE_BROKEN",
    ),
    "made_up_quotes": VoteShare(
        "votes with a quote that is not in the text / votes of the run's own mode",
        _remarked("MADE_UP_QUOTE"),
        _OTHER_MODE,
        "MADE_UP_QUOTE",
    ),
    "contradictions": VoteShare(
        "votes with a complaint that what was judged shows to be wrong / votes of the run's own mode",
        _remarked("CONTRADICTION"),
        _OTHER_MODE,
        "CONTRADICTION",
    ),
    "failed": VoteShare(
        "answered votes of which nothing could be used / answered votes",
        _if_answered(lambda vote: vote.mode is None),
        _NO_ANSWER,
    ),
    "unanswered": VoteShare("votes without any answer / all votes", lambda vote, _: float(is_unanswered(vote)), ""),
    "cut_off": VoteShare(
        "answered votes that broke off at the limit of tokens / answered votes", _if_answered(was_cut_off), _NO_ANSWER
    ),
}
"""By the name of its field."""


def votes_of(judgement: Judgement) -> Sequence[Ballot]:
    """The votes on a text; a judge that gave none counts as one without an answer: a failure must not be out of
    sight."""
    return judgement.ballots or (Ballot("", 0, None, FAILED, told=judgement.told),)


def disagreed(judgement: Judgement, rubric: DescribedRubric) -> float | None:
    """Whether the readings of a text lie far apart; None with fewer than two of the run's own mode."""
    several = sum(vote.mode == rubric.mode for vote in judgement.ballots) > 1
    return float(any(remark.code == "DISAGREEMENT" for remark in judgement.remarks)) if several else None


def dimension_scores(judgement: Judgement, name: str, rubric: DescribedRubric) -> tuple[float, float] | None:
    """A dimension as the judge gave it and after the rules; None without a score of the run's own mode."""
    if judgement.mode != rubric.mode or name not in judgement.raw or name not in judgement.bound:
        return None
    return float(judgement.raw[name]), float(judgement.bound[name])


def judge_figures(
    judged: Iterable[Judged], rubric: DescribedRubric, labels: Mapping[str, Labels] | None = None
) -> JudgeFigures:
    """The figures of all judgements, which come unit by unit: those of a case or, side by side, of a
    cluster. `labels` are those of the cases that have some."""
    figures = _Figures(rubric)
    unit = None
    for each in judged:
        if each.unit != unit:
            figures.close()
            unit = each.unit
        figures.add(each.judgement, (labels or {}).get(each.case_id, {}) if each.labelled else {})
    return figures.result()


class _Dimension:
    """The sums of one dimension."""

    def __init__(self) -> None:
        self._bound, self._raw_mean, self._bound_mean, self._top = Running(), Running(), Running(), Running()
        self._top_beyond = Running()
        self._scores: Counter[float] = Counter()
        self._labels: Counter[tuple[int, int, int]] = Counter()
        """Units by the best, lowest and highest score that their labels allow."""
        self._of_unit: set[tuple[int, int, int]] = set()

    def close(self) -> None:
        """The texts of a unit end here. Its repeats have one label."""
        self._labels.update(self._of_unit)
        self._of_unit.clear()

    def all(self) -> Iterable[Running]:
        return self._bound, self._raw_mean, self._bound_mean, self._top, self._top_beyond

    def add(self, raw: float, after: float, highest: float, label: Label | bool | None) -> None:
        if isinstance(label, Label):
            self._top_beyond.add((raw == highest) - (label.best == highest))
            self._of_unit.add((label.best, label.low, label.high))
        self._bound.add(raw != after)
        self._raw_mean.add(raw)
        self._bound_mean.add(after)
        self._top.add(raw == highest)
        self._scores[raw] += 1

    def figure(self, scale: tuple[float, float], n_texts: int) -> BoundFigure:
        missing = n_texts - self._bound.n
        return BoundFigure(
            self._bound.share(missing),
            self._raw_mean.mean(scale, missing),
            self._bound_mean.mean(scale, missing),
            self._top.share(missing),
            self._top_beyond.mean((-1.0, 1.0), 0),
            constant=self._bound.n > 1 and len(self._scores) == 1,
            usual=self._usual(),
        )

    def _usual(self) -> UsualScore | None:
        if not self._scores:
            return None
        (score, n), labels = self._scores.most_common(1)[0], self._labels
        return UsualScore(
            score,
            n,
            n_texts=self._scores.total(),
            n_labelled=sum(labels.values()),
            n_refused=sum(count for (_, low, high), count in labels.items() if not low <= score <= high),
            labels_differ=len({best for best, _, _ in labels}) > 1,
        )


class _Figures:
    def __init__(self, rubric: DescribedRubric) -> None:
        self._rubric = rubric
        self._n_texts = 0
        self._modes: Counter[str] = Counter()
        self._rungs: Counter[str] = Counter()
        self._remarks: Counter[str] = Counter()
        self._votes = {name: Running() for name in VOTE_SHARES}
        self._disagreed = Running()
        self._why = Reasons()
        self._dimensions = {name: _Dimension() for name in rubric.dimensions}

    def _all(self) -> Iterable[Running]:
        yield from (*self._votes.values(), self._disagreed)
        for each in self._dimensions.values():
            yield from each.all()

    def close(self) -> None:
        """The judgements of a case end here."""
        for running in self._all():
            running.close()
        for dimension in self._dimensions.values():
            dimension.close()

    def add(self, judgement: Judgement, labels: Labels) -> None:
        """One more text of the case that is open."""
        self._n_texts += 1
        for vote in votes_of(judgement):
            self._vote(vote)
        if judgement.mode is None:
            self._why.add(judgement)
        if (apart := disagreed(judgement, self._rubric)) is not None:
            self._disagreed.add(apart)
        for name, each in self._dimensions.items():
            if (scores := dimension_scores(judgement, name, self._rubric)) is not None:
                each.add(*scores, self._rubric.high, labels.get(name))

    def _vote(self, vote: Ballot) -> None:
        self._rungs[vote.rung] += 1
        for name, running in self._votes.items():
            if (value := VOTE_SHARES[name].value(vote, self._rubric)) is not None:
                running.add(value)
        if vote.mode is not None:
            self._modes[vote.mode.value] += 1
        if vote.mode == self._rubric.mode:
            self._remarks.update({remark.code for remark in vote.remarks})

    def result(self) -> JudgeFigures:
        """What all of them come to."""
        self.close()
        n_votes = self._votes["unanswered"].n
        shares = {
            name: running.share(n_votes - running.n)
            if not VOTE_SHARES[name].code or VOTE_SHARES[name].code in self._rubric.checked
            else Estimate(None, 0)
            for name, running in self._votes.items()
        }
        return JudgeFigures(
            mode=self._rubric.mode,
            n_texts=self._n_texts,
            n_ballots=n_votes,
            modes=_most_frequent_first(self._modes),
            rungs=_most_frequent_first(self._rungs),
            disagreement=self._disagreed.share(self._n_texts - self._disagreed.n),
            why_failed=self._why.counted(),
            dimensions={
                name: each.figure(self._rubric.scale, self._n_texts) for name, each in self._dimensions.items()
            },
            remarks=_most_frequent_first(self._remarks),
            **shares,
        )


def _most_frequent_first(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
