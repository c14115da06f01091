"""Figures of a judge: scores, agreement among members, rules it broke."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard.analysis.judge.model import Judged
from steelyard.analysis.judge.votes import (
    FAILED,
    DescribedRubric,
    Labels,
    described_rubric,
    is_unanswered,
    rebuttals,
    was_cut_off,
)
from steelyard.analysis.model import MAX_REBUTTALS, BoundFigure, JudgeFigures, Rebuttal, UsualScore
from steelyard.failures import failure_reason
from steelyard.frozen import frozen
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import (
    At,
    Contributions,
    Level,
    Reported,
)
from steelyard.metrics.run_data import RunData, Thing
from steelyard.records import Judgement, Mode, Sample, Vote
from steelyard.scoring.extract import BROKE_OFF
from steelyard.stats.groups import Running
from steelyard.stats.intervals import Estimate
from steelyard.store.base import Spending
from steelyard.suite.labels import Label

# Why judgements failed, counted: a person must see at once what to fix.

LONGEST = 300
"""Characters of a reason that are kept."""


class Reasons:
    """Counts judgements without a reading by their reason; of each reason the first wording is kept."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._words: dict[str, str] = {}

    def add(self, judgement: Judgement) -> None:
        """One more judgement that came to nothing."""
        key, words = reason_of(judgement)
        self._counts[key] += 1
        self._words.setdefault(key, words[:LONGEST])

    def counted(self) -> dict[str, int]:
        """Each reason in words with its count, most frequent first."""
        ordered = sorted(self._counts.items(), key=lambda pair: (-pair[1], pair[0]))
        return {self._words[key]: count for key, count in ordered}


def reason_of(judgement: Judgement) -> tuple[str, str]:
    """What tells the reason of a judgement without a reading from others, and the reason in words."""
    silent = [vote for vote in judgement.votes if vote.mode is None]
    return _reason(silent[0]) if silent else (judgement.message, judgement.message)


def _reason(vote: Vote) -> tuple[str, str]:
    """What tells the reason from others, and the reason in words: `judge m: http_401 Incorrect API key provided`."""
    kind, _, message = vote.message.partition(": ")
    if is_unanswered(vote):
        key, words = failure_reason(kind, message)
        return f"{vote.member}: {key}", f"judge {vote.member}: {words}"
    first = vote.message.partition(";")[0]
    return f"{vote.member}: {first}", f"judge {vote.member}: {first}"


ONLY_SCORES = "only bare scores could be read from the judge's answers"
_POSITION = re.compile(r"(?<=\.)\d+(?=[.:])")
_LONGEST_PROBLEM = 160


def is_excluded(judgement: Judgement, rubric: DescribedRubric) -> bool:
    """Whether it gave scores in another mode than was asked for: such texts are excluded, unless all are basic."""
    return judgement.mode is not None and (judgement.mode is Mode.BASIC or judgement.mode != rubric.mode)


def exclusion_reason(judgement: Judgement, rubric: DescribedRubric) -> str:
    """Why a judgement is of another mode than was asked for, with the first thing that was wrong."""
    if judgement.mode is not Mode.BASIC:
        return f"judged in mode {judgement.mode}"
    vote = next((vote for vote in judgement.votes if vote.mode is Mode.BASIC), None)
    problem = "" if vote is None else _first_problem(vote, rubric)
    return f"{ONLY_SCORES}: {problem}" if problem else ONLY_SCORES


def _first_problem(vote: Vote, rubric: DescribedRubric) -> str:
    if was_cut_off(vote):
        return BROKE_OFF
    if lacking := [name for name in rubric.asked_for if name and name not in vote.response]:
        return f"no {' and no '.join(lacking)} in the answer"
    problems = [vote.message, *(remark.message for remark in vote.remarks if remark.code == "VIOLATION")]
    first = next(filter(None, problems), "").partition(";")[0]
    # Which entry of a list it is, is no other cause.
    return _POSITION.sub("[]", first)[:_LONGEST_PROBLEM]


# How the judge of a run behaved, from its votes; they pass by once and only sums are kept.

VoteValue = Callable[[Vote, DescribedRubric], float | None]
"""What a vote brings into a share; None when it is not in it."""


def _remarked(code: str) -> VoteValue:
    """Whether a vote of the run's own mode has a remark of that code."""

    def value(vote: Vote, rubric: DescribedRubric) -> float | None:
        return float(any(remark.code == code for remark in vote.remarks)) if vote.mode == rubric.mode else None

    return value


def _if_answered(hit: Callable[[Vote], bool]) -> VoteValue:
    return lambda vote, _: None if is_unanswered(vote) else float(hit(vote))


@frozen
class VoteShare:
    """A share of the judge's votes: a metric of the level of votes."""

    formula: str
    value: VoteValue
    excluded: str
    """Why a vote is not in it."""
    code: str = ""
    """The remark that it counts; it is n/a where the judge cannot earn it."""


_OTHER_MODE, _NO_ANSWER = "another mode than the run's, or no scores", "never answered"
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
    "self_contradictions": VoteShare(
        "votes whose scores do not fit the errors that they list / votes of the run's own mode",
        _remarked("SELF_CONTRADICTION"),
        _OTHER_MODE,
        "SELF_CONTRADICTION",
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


VOTE_NAMES: dict[str, Callable[[Vote, DescribedRubric], set[str] | None]] = {
    "mode": lambda vote, _: set() if vote.mode is None else {vote.mode.value},
    "step": lambda vote, _: {vote.step},
    "remark": lambda vote, rubric: {item.code for item in vote.remarks} if vote.mode == rubric.mode else None,
}
"""What votes are counted by, each by the names that it gives a vote; None when the vote is not looked at."""


def votes_of(judgement: Judgement) -> Sequence[Vote]:
    """The votes on a text; a judge that gave none counts as one without an answer: a failure must not be out of
    sight."""
    return judgement.votes or (Vote("", 0, None, FAILED, message=judgement.message),)


def disagreed(judgement: Judgement, rubric: DescribedRubric) -> float | None:
    """Whether the votes on a text are far apart; None with fewer than two of the run's own mode."""
    several = sum(vote.mode == rubric.mode for vote in judgement.votes) > 1
    return float(any(remark.code == "DISAGREEMENT" for remark in judgement.remarks)) if several else None


def was_shortened(judgement: Judgement) -> float | None:
    """Whether a model saw only the beginning and the end of a text; None when no model judged it."""
    asked = [vote for vote in judgement.votes if vote.mode is not Mode.RULES and not is_unanswered(vote)]
    return float(any(vote.shortened for vote in asked)) if asked else None


def dimension_scores(judgement: Judgement, name: str, rubric: DescribedRubric) -> tuple[float, float] | None:
    """A dimension as the judge gave it and after the rules; None without a score of the run's own mode."""
    if judgement.mode != rubric.mode or name not in judgement.uncapped or name not in judgement.capped:
        return None
    return float(judgement.uncapped[name]), float(judgement.capped[name])


@frozen
class DimensionFigure:
    """A figure of one dimension: what a text brings, by its score as the judge gave it and after rules and checks."""

    formula: str
    value: Callable[[float, float, DescribedRubric], float]
    unit: str


DIMENSION_FIGURES = {
    "capped": DimensionFigure("texts whose score was capped / n", lambda raw, after, _: raw != after, "share"),
    "uncapped_mean": DimensionFigure("sum of scores as the judge gave them / n", lambda raw, *_: raw, "points"),
    "capped_mean": DimensionFigure("sum of scores after rules and checks / n", lambda _, after, __: after, "points"),
    "top_share": DimensionFigure(
        "texts with the highest score of the scale, as the judge gave it / n",
        lambda raw, _, rubric: raw == rubric.high,
        "share",
    ),
}
"""By the name of its field."""


def judge_figures(
    judged: Iterable[Judged], rubric: DescribedRubric, labels: Mapping[str, Labels] | None = None
) -> JudgeFigures:
    """The figures of all judgements, which come unit by unit: those of a case or, side by side, of a
    cluster. `labels` are those of the cases that have some."""
    figures = _Figures(rubric)
    unit = None
    for item in judged:
        if item.unit != unit:
            figures.close()
            unit = item.unit
        figures.add(item.case_id, item.judgement, (labels or {}).get(item.case_id, {}) if item.labelled else {})
    return figures.result()


class _Dimension:
    """The sums of one dimension."""

    def __init__(self) -> None:
        self._figures = {name: Running() for name in DIMENSION_FIGURES}
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
        return *self._figures.values(), self._top_beyond

    def add(self, raw: float, after: float, rubric: DescribedRubric, label: Label | bool | None) -> None:
        if isinstance(label, Label):
            self._top_beyond.add((raw == rubric.high) - (label.best == rubric.high))
            self._of_unit.add((label.best, label.low, label.high))
        for name, running in self._figures.items():
            running.add(DIMENSION_FIGURES[name].value(raw, after, rubric))
        self._scores[raw] += 1

    def figure(self, scale: tuple[float, float], n_texts: int) -> BoundFigure:
        n = self._scores.total()
        figures = {
            name: running.share(n_texts - n)
            if DIMENSION_FIGURES[name].unit == "share"
            else running.mean(scale, n_texts - n)
            for name, running in self._figures.items()
        }
        return BoundFigure(
            **figures,
            top_beyond=self._top_beyond.mean((-1.0, 1.0), 0),
            constant=n > 1 and len(self._scores) == 1,
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
        self._names: dict[str, Counter[str]] = {kind: Counter() for kind in VOTE_NAMES}
        self._votes = {name: Running() for name in VOTE_SHARES}
        self._disagreed = Running()
        self._shortened = Running()
        self._rebuttals: list[Rebuttal] = []
        self._why = Reasons()
        self._why_excluded: Counter[str] = Counter()
        self._dimensions = {name: _Dimension() for name in rubric.dimensions}

    def _all(self) -> Iterable[Running]:
        yield from (*self._votes.values(), self._disagreed, self._shortened)
        for dimension in self._dimensions.values():
            yield from dimension.all()

    def close(self) -> None:
        """The judgements of a case end here."""
        for running in self._all():
            running.close()
        for dimension in self._dimensions.values():
            dimension.close()

    def add(self, case_id: str, judgement: Judgement, labels: Labels) -> None:
        """One more text of the case that is open."""
        self._n_texts += 1
        for vote in votes_of(judgement):
            self._vote(vote)
        if judgement.mode is None:
            self._why.add(judgement)
        elif is_excluded(judgement, self._rubric):
            self._why_excluded[exclusion_reason(judgement, self._rubric)] += 1
        if (apart := disagreed(judgement, self._rubric)) is not None:
            self._disagreed.add(apart)
        if (part := was_shortened(judgement)) is not None:
            self._shortened.add(part)
        if len(self._rebuttals) < MAX_REBUTTALS:
            self._rebuttals += rebuttals(case_id, judgement, self._rubric)
        for name, item in self._dimensions.items():
            if (scores := dimension_scores(judgement, name, self._rubric)) is not None:
                item.add(*scores, self._rubric, labels.get(name))

    def _vote(self, vote: Vote) -> None:
        for kind, names in VOTE_NAMES.items():
            self._names[kind].update(names(vote, self._rubric) or ())
        for name, running in self._votes.items():
            if (value := VOTE_SHARES[name].value(vote, self._rubric)) is not None:
                running.add(value)

    def result(self) -> JudgeFigures:
        """What all of them come to."""
        self.close()
        n_votes = self._votes["unanswered"].n
        figures: dict[str, Any] = {
            name: running.share(n_votes - running.n)
            if not VOTE_SHARES[name].code or VOTE_SHARES[name].code in self._rubric.checked
            else Estimate(None, 0)
            for name, running in self._votes.items()
        }
        figures |= {f"{kind}s": _most_frequent_first(counts) for kind, counts in self._names.items()}
        return JudgeFigures(
            mode=self._rubric.mode,
            n_texts=self._n_texts,
            n_votes=n_votes,
            disagreement=self._disagreed.share(self._n_texts - self._disagreed.n),
            shortened=self._shortened.share(self._n_texts - self._shortened.n),
            rebuttals=self._rebuttals[:MAX_REBUTTALS],
            why_failed=self._why.counted(),
            why_excluded=_most_frequent_first(self._why_excluded),
            dimensions={
                name: item.figure(self._rubric.scale, self._n_texts) for name, item in self._dimensions.items()
            },
            **figures,
        )


def _most_frequent_first(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _rubric(data: RunData) -> DescribedRubric:
    rubric = described_rubric(data.suite)
    if rubric is None:
        raise ValueError("a suite without a judge has no metrics of votes")
    return rubric


def _votes(
    value: Callable[[Vote, DescribedRubric, At], float | None], excluded: str = ""
) -> Callable[[RunData, At], Contributions]:
    """What every vote brings."""

    def contributions(data: RunData, at: At) -> Contributions:
        rubric = data.once(_rubric)

        def things(sample: Sample, _: str) -> Iterator[Thing]:
            for vote in () if sample.judgement is None else votes_of(sample.judgement):
                why = f", {vote.message}" if vote.message else ""
                yield value(vote, rubric, at), f"{vote.member or 'no vote'}: {vote.step}{why}"

        return data.things(things, excluded)

    return contributions


def _named(kind: str) -> Callable[[Vote, DescribedRubric, At], float | None]:
    """Whether a vote has the name that a figure is of."""

    def value(vote: Vote, rubric: DescribedRubric, at: At) -> float | None:
        names = VOTE_NAMES[kind](vote, rubric)
        return None if names is None else float(at.name(kind) in names)

    return value


def _texts(
    value: Callable[[Judgement, DescribedRubric, At], float | None], excluded: str = ""
) -> Callable[[RunData, At], Contributions]:
    """What every text brings that a judge was asked about."""

    def contributions(data: RunData, at: At) -> Contributions:
        rubric = data.once(_rubric)

        def things(sample: Sample, _: str) -> Iterator[Thing]:
            if sample.judgement is not None:
                yield value(sample.judgement, rubric, at), sample.judgement.message

        return data.things(things, excluded)

    return contributions


def _scores(name: str) -> Callable[[Judgement, DescribedRubric, At], float | None]:
    def value(judgement: Judgement, rubric: DescribedRubric, at: At) -> float | None:
        scores = dimension_scores(judgement, at.name("dimension"), rubric)
        return None if scores is None else float(DIMENSION_FIGURES[name].value(*scores, rubric))

    return value


def silent_texts(data: RunData, reason: str) -> Contributions:
    """Texts without a reading for one reason: the first wording of a reason stands for all of it."""
    first: dict[str, str] = {}

    def things(sample: Sample, _: str) -> Iterator[Thing]:
        if sample.judgement is not None and sample.judgement.mode is None:
            key, words = reason_of(sample.judgement)
            if first.setdefault(key, words[:LONGEST]) == reason:
                yield 1.0, words

    return data.things(things)


def excluded_texts(data: RunData, reason: str) -> Contributions:
    """Texts whose judgement is not in the mode that was asked for, for one reason."""
    rubric = data.once(_rubric)

    def things(sample: Sample, _: str) -> Iterator[Thing]:
        judgement = sample.judgement
        if judgement is not None and is_excluded(judgement, rubric) and exclusion_reason(judgement, rubric) == reason:
            yield 1.0, reason

    return data.things(things)


def _spent(data: RunData, at: At) -> Contributions:
    def things(sample: Sample, _: str) -> Iterator[Thing]:
        for call in sample.judgement.calls if sample.judgement is not None else ():
            spending = Spending()
            spending.add(call.call_result)
            yield float(getattr(spending, at.name("what"))), f"{call.member}, turn {call.turn + 1}"

    return data.things(things)


def _is_checked(name: str) -> Callable[[RunData, At], bool]:
    code = VOTE_SHARES[name].code
    return lambda data, _: not code or code in data.once(_rubric).checked


_ASKED = "a text is a sample that a judge was asked about; a vote is one member's scores for it in one judging repeat"
_VOTES = Reported("judge.votes", "judge.n_votes", "votes", _ASKED, _votes(lambda *_: 1.0), Level.VOTE, better="")
_TEXTS = replace(
    _VOTES, name="judge.texts", place="judge.n_texts", formula="texts", of="texts", contributions=_texts(lambda *_: 1.0)
)
REPORTED = (
    _TEXTS,
    _VOTES,
    *(
        replace(
            _VOTES,
            name=f"judge.{kind}.<{kind}>",
            place=f"judge.{kind}s.<{kind}>",
            formula=f"votes with that {kind}",
            contributions=_votes(_named(kind)),
        )
        for kind in VOTE_NAMES
    ),
    *(
        Reported(
            f"judge.{name}",
            f"judge.{name}",
            share.formula,
            _ASKED,
            _votes(lambda vote, rubric, _, share=share: share.value(vote, rubric), share.excluded),  # type: ignore[misc]
            Level.VOTE,
            "share",
            Aggregate.MEAN,
            when=_is_checked(name),
            even_unknown=True,
        )
        for name, share in VOTE_SHARES.items()
    ),
    Reported(
        "judge.disagreement",
        "judge.disagreement",
        "texts whose votes are far apart / texts with several",
        _ASKED,
        _texts(lambda text, rubric, _: disagreed(text, rubric), "fewer than two votes of the run's own mode"),
        Level.VOTE,
        "share",
        Aggregate.MEAN,
        of="texts",
        even_unknown=True,
    ),
    Reported(
        "judge.why_excluded.<n>",
        "judge.why_excluded.<n>",
        "texts whose judgement is not in the mode that was asked for, for that reason",
        "in the order of the report",
        lambda data, at: excluded_texts(data, list(at.item)[int(at.name("n")) - 1]),
        Level.VOTE,
        of="texts",
    ),
    Reported(
        "judge.shortened",
        "judge.shortened",
        "texts of which a model saw only the beginning and the end / texts that a model was shown",
        _ASKED,
        _texts(lambda text, *_: was_shortened(text), "no model was called"),
        Level.VOTE,
        "share",
        Aggregate.MEAN,
        of="texts",
        better="",
        even_unknown=True,
    ),
    Reported(
        "judge.why_failed.<n>",
        "judge.why_failed.<n>",
        "texts that are inconclusive for that reason",
        "in the order of the report",
        lambda data, at: silent_texts(data, list(at.item)[int(at.name("n")) - 1]),
        Level.VOTE,
        of="texts",
    ),
    *(
        Reported(
            f"judge.dimension.<dimension>.{name}",
            f"judge.dimensions.<dimension>.{name}",
            figure.formula,
            _ASKED,
            _texts(_scores(name), "no score of the run's own mode"),
            Level.VOTE,
            figure.unit,
            Aggregate.MEAN,
            of="texts",
            even_unknown=True,
        )
        for name, figure in DIMENSION_FIGURES.items()
    ),
    Reported(
        "judge.spending.<what>",
        "judge.spending.<what>",
        "sum over the calls of the judge",
        "calls that did not report it add nothing",
        _spent,
        Level.VOTE,
        "number",
        of="calls",
    ),
)
