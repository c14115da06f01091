"""Votes of judges against the rubric, each other and people's labels."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from steelyard.analysis.judge.model import CorrectedRate, JudgedText, SelfHealth, Together
from steelyard.analysis.model import Rebuttal
from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.records import Judgement, Mode, Sample, Vote
from steelyard.scoring.extract import extract_json
from steelyard.stats.agreement import FEWEST, krippendorff_alpha, score_correlation
from steelyard.stats.arrays import Array
from steelyard.stats.groups import mean, share
from steelyard.stats.intervals import ANYWHERE, Estimate, settled
from steelyard.store.base import JudgedSample
from steelyard.suite.case import MISSING, Case, compile_path, split_path
from steelyard.suite.judge import REBUTTED, REMARKS, UNANSWERED, JudgeModel
from steelyard.suite.labels import Label, labels_of
from steelyard.suite.models import SuiteModel

# The rubric of a run's judge, read from the suite as the run's header describes it.

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
    checked: frozenset[str]
    """The codes of remarks that this judge can earn: what is not asked of it, it cannot fail."""
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
        checked=_checked(judge),
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


def _checked(judge: JudgeModel) -> frozenset[str]:
    asked = {
        "RULE_BROKEN": judge.rules,
        "MADE_UP_QUOTE": judge.evidence,
        "UNPROVEN": judge.evidence,
        "CONTRADICTION": judge.check,
        "SELF_CONTRADICTION": judge.check,
        "TOO_FEW_REASONS": judge.reasons and judge.reasons.at_least,
        "UNANSWERED_FINDING": judge.must_answer,
        "REBUTTED_FINDING": judge.must_answer,
    }
    return frozenset(code for code, what in asked.items() if what)


# What judges said, as columns: texts with what their votes came to, and the votes themselves.

FAILED = "failed"
"""The step of a vote without a reading."""


class Votes:
    """The judgements of a run, read once."""

    def __init__(self, judged: Iterable[JudgedText], rubric: DescribedRubric) -> None:
        self.rubric = rubric
        self._names = (*rubric.dimensions, *rubric.flags)
        self.case_ids: dict[str, int] = {}
        self._units: dict[str, int] = {}
        self.modes: Counter[str] = Counter()
        self.step_names: dict[str, int] = {}
        self.members: dict[str, int] = {}
        self.broken: Counter[str] = Counter()
        """Votes that broke each rule."""
        self.n_excluded = self.n_failed = 0
        self.answers: list[tuple[int, str]] = []
        """By text, what was answered to each finding of a scorer."""
        self.rebuttals: list[Rebuttal] = []
        self._texts: list[tuple[float, ...]] = []
        self._uncapped: list[list[float]] = []
        self._capped: list[list[float]] = []
        self._votes: list[tuple[int, ...]] = []
        self._stated: list[list[float]] = []
        for item in judged:
            self._read(item)
        self._to_columns()

    def _read(self, judged: JudgedText) -> None:
        judgement = judged.judgement
        text = len(self._texts)
        main = judgement.mode == self.rubric.mode
        self.n_failed += judgement.mode is None
        self.n_excluded += judgement.mode is not None and not main
        length, passed = judged.text_length, judged.passed if main else None
        disagree = any(remark.code == "DISAGREEMENT" for remark in judgement.remarks)
        self._texts.append(
            (
                self.case_ids.setdefault(judged.case_id, len(self.case_ids)),
                np.nan if length is None else length,
                np.nan if passed is None else passed,
                disagree,
                self._units.setdefault(judged.unit, len(self._units)),
                judged.labelled,
            )
        )
        self._uncapped.append(self._values(judgement.uncapped, main))
        self._capped.append(self._values(judgement.capped, main))
        for vote in judgement.votes:
            self._count(vote, text)
            self.answers += [(text, item["answer"]) for item in answers_to_findings(vote, self.rubric)]
        self.rebuttals += rebuttals(judged.case_id, judgement, self.rubric)
        if not judgement.votes:
            self._count(_nothing(judgement), text)

    def _count(self, vote: Vote, text: int) -> None:
        main = vote.mode == self.rubric.mode
        if vote.mode is not None:
            self.modes[vote.mode.value] += 1
        codes = {remark.code for remark in vote.remarks} if main else set()
        if "RULE_BROKEN" in codes:
            self.broken.update(broken_rules(vote))
        self._votes.append(
            (
                text,
                self.members.setdefault(vote.member, len(self.members)),
                self.step_names.setdefault(vote.step, len(self.step_names)),
                main,
                vote.mode is None,
                is_unanswered(vote),
                was_cut_off(vote),
                vote.mode is Mode.BASIC,
                *(code in codes for code in REMARKS),
            )
        )
        self._stated.append(self._values(vote.uncapped, main))

    def _values(self, text: Mapping[str, float | bool], main: bool) -> list[float]:
        return [float(text.get(name, np.nan)) if main else np.nan for name in self._names]

    def _to_columns(self) -> None:
        texts = np.array(self._texts, dtype=float).reshape(-1, 6)
        self.labelled: Array = texts[:, 5] > 0
        """Whether the labels of its case, if it has any, were given for the text."""
        self.case: Array = texts[:, 0].astype(int)
        self.unit: Array = texts[:, 4].astype(int)
        """The unit of evidence of each text: its case, or the cluster that the case is in."""
        self.length, self.passed, self.disagreed = texts[:, 1], texts[:, 2], texts[:, 3] > 0
        votes = np.array(self._votes, dtype=int).reshape(-1, 8 + len(REMARKS))
        self.text, self.member, self.step = votes[:, 0], votes[:, 1], votes[:, 2]
        self.main, self.failed, self.unanswered, self.cut_off, self.basic = (
            votes[:, column] > 0 for column in (3, 4, 5, 6, 7)
        )
        self._remarked = {code: votes[:, 8 + i] > 0 for i, code in enumerate(REMARKS)}
        self._columns = {
            kind: np.array(rows, dtype=float).reshape(-1, len(self._names))
            for kind, rows in (("uncapped", self._uncapped), ("capped", self._capped), ("stated", self._stated))
        }
        self.n_texts, self.n = len(texts), len(votes)
        for rows in (self._texts, self._uncapped, self._capped, self._votes, self._stated):
            rows.clear()

    def uncapped(self, name: str) -> Array:
        """By text, what the votes come to for a dimension or flag, before rules and checks."""
        return self._column("uncapped", name)

    def capped(self, name: str) -> Array:
        """By text, what they come to after rules and checks."""
        return self._column("capped", name)

    def stated(self, name: str) -> Array:
        """By vote, what the judge said of a dimension or flag."""
        return self._column("stated", name)

    def _column(self, kind: str, name: str) -> Array:
        column: Array = self._columns[kind][:, self._names.index(name)]
        return column

    def remarked(self, code: str) -> Array:
        """The votes in the main mode that a remark of that code was made on."""
        return self._remarked[code]


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


def _nothing(judgement: Judgement) -> Vote:
    """What stands for the votes of a judge that gave none: a failure must not be out of sight."""
    return Vote("", 0, None, FAILED, message=judgement.message)


# A judge against its rubric and against itself: how it uses the scale, what moves together, what it repeats.


def share_between(scores: Array, low: float, high: float, case: Array) -> Estimate:
    """The share of the scores that are given which lie from `low` to `high`."""
    return share((scores >= low) & (scores <= high), ~np.isnan(scores), case)


def spread(scores: Array, case: Array) -> Estimate:
    """The standard deviation of the scores that are given; n/a below two.

    The interval is Student's of its logarithm (delta method, over cases), which keeps it above 0.
    """
    given = ~np.isnan(scores)
    available, n, missing = scores[given], int(given.sum()), int((~given).sum())
    if n < 2:
        return Estimate(None, n, missing)
    value = settled(round(float(available.std(ddof=1)), 12))
    squares = mean((available - available.mean()) ** 2, case[given], ANYWHERE)
    if value == 0 or squares.low is None or not squares.value:
        return Estimate(value, n, missing)
    half = math.exp((squares.value - squares.low) / squares.value / 2)
    return Estimate(value, n, missing, value / half, value * half)


def pairs_of(votes: Votes) -> tuple[Together, ...]:
    """Every two dimensions compared vote by vote, those that move together most first."""
    case = votes.unit[votes.text]
    results = []
    for first, second in combinations(votes.rubric.dimensions, 2):
        item, other = votes.stated(first), votes.stated(second)
        present = ~(np.isnan(item) | np.isnan(other))
        identical = int(present.sum()) >= FEWEST and bool((item[present] == other[present]).all())
        results.append(Together(first, second, score_correlation(item, other, "pearson", case), identical))
    return tuple(sorted(results, key=lambda pair: (not pair.identical, -abs(pair.correlation.value or 0.0))))


def repeated(votes: Votes, name: str) -> tuple[Estimate, Estimate]:
    """Of the texts that one member read several times, the share with one and the same score, and how far apart two
    readings lie on average. Texts with fewer than two readings of a member are missing."""
    scores = votes.stated(name)
    n_members = int(votes.member.max()) + 1 if votes.n else 1
    group, row = np.unique(votes.text * n_members + votes.member, return_inverse=True)
    present = ~np.isnan(scores)
    times = np.bincount(row[present], minlength=len(group))
    lowest, highest = np.full(len(group), np.inf), np.full(len(group), -np.inf)
    np.minimum.at(lowest, row[present], scores[present])
    np.maximum.at(highest, row[present], scores[present])
    several = times > 1
    case = votes.unit[group // n_members]
    low, high = votes.rubric.scale
    apart = np.where(several, _mean_distance(scores[present], row[present], times), np.nan)
    return share(lowest == highest, several, case), mean(apart, case, (0.0, high - low))


def _mean_distance(scores: Array, row: Array, times: Array) -> Array:
    """For each group, the mean distance between two of its scores."""
    order = np.lexsort((scores, row))
    ranked, group = scores[order], row[order]
    rank = np.arange(len(group)) - np.searchsorted(group, group)
    # In sorted order the k-th of n is above k others and below n - 1 - k.
    total = np.bincount(group, ranked * (2 * rank - times[group] + 1), minlength=len(times))
    return np.asarray(total / np.maximum(times * (times - 1) / 2, 1))


def reliability(votes: Votes, name: str) -> Estimate:
    """Krippendorff's alpha between the votes on each text; missing are the texts with fewer than two readings."""
    order = np.argsort(votes.text, kind="stable")
    text = votes.text[order]
    place = np.arange(len(text)) - np.searchsorted(text, text)
    ratings = np.full((int(place.max()) + 1 if len(place) else 1, votes.n_texts), np.nan)
    ratings[place, text] = votes.stated(name)[order]
    return krippendorff_alpha(ratings, case=votes.unit)


def _remarked_rules(code: str, votes: Votes, case: Array) -> Estimate:
    """The share of votes with such a remark; n/a when the judge is not asked for what it is about."""
    if code not in votes.rubric.checked:
        return Estimate(None, 0)
    return share(votes.remarked(code), votes.main, case)


def _answered_as(votes: Votes, answer: str) -> Estimate:
    """The share of findings of scorers that got this answer; n/a when the judge is asked about none."""
    texts = votes.unit[np.array([text for text, _ in votes.answers], dtype=int)]
    hits = np.array([given == answer for _, given in votes.answers], dtype=bool)
    return share(hits, np.ones(len(hits), dtype=bool), texts) if votes.answers else Estimate(None, 0)


def against_itself(votes: Votes) -> SelfHealth:
    """What the judge did against its own instructions, and how its answers could be read."""
    case = votes.unit[votes.text]
    everything = np.ones(votes.n, dtype=bool)
    steps = {name: share(votes.step == code, everything, case) for name, code in votes.step_names.items()}
    readings = np.bincount(votes.text[votes.main], minlength=votes.n_texts)
    broken, made_up, unproven, reasons, contradictions, self_contradictions = (
        _remarked_rules(code, votes, case)
        for code in (
            *("RULE_BROKEN", "MADE_UP_QUOTE", "UNPROVEN", "TOO_FEW_REASONS"),
            *("CONTRADICTION", "SELF_CONTRADICTION"),
        )
    )
    return SelfHealth(
        broken_rules=broken,
        by_rule=dict(sorted(votes.broken.items(), key=lambda pair: (-pair[1], pair[0]))),
        made_up_quotes=made_up,
        unproven=unproven,
        too_few_reasons=reasons,
        contradictions=contradictions,
        self_contradictions=self_contradictions,
        rebutted_findings=_answered_as(votes, REBUTTED),
        unanswered_findings=_answered_as(votes, UNANSWERED),
        failed=share(votes.failed, ~votes.unanswered, case),
        unanswered=share(votes.unanswered, everything, case),
        cut_off=share(votes.cut_off, ~votes.unanswered, case),
        basic=share(votes.basic, everything, case),
        steps=dict(sorted(steps.items(), key=lambda pair: (-(pair[1].value or 0.0), pair[0]))),
        disagreement=share(votes.disagreed, readings > 1, votes.unit),
    )


# What the labels of a run's own cases say of its judge: the corrected pass rate, and whether the judge is checked.

SampleKey = tuple[str, str, int]
"""Case, variant and repeat of a sample."""

FEWEST_LABELS = 20
"""On fewer texts than this even a judge without any mistake may be wrong one time in seven (rule of three: 3 / n)."""


@frozen
class JudgeCheck:
    """How far the labels of a run tell what its judge is worth."""

    n_labelled: int
    """Judged texts with labels."""
    n_labelled_otherwise: int
    """Judged texts whose case has labels of another text, or that do not say of which."""
    corrected: CorrectedRate
    not_random: str = ""
    """Why the labels show nothing of the unlabeled texts; "" when they are of a random sample, or of all texts."""

    @property
    def enough(self) -> bool:
        """Whether the judge counts as checked."""
        return self.n_labelled >= FEWEST_LABELS and not self.not_random

    @property
    def chosen_texts(self) -> bool:
        """Whether there are enough labels, but not of a random sample."""
        return self.n_labelled >= FEWEST_LABELS and bool(self.not_random)


def labelled_otherwise(n: int, texts: Sequence[str] = ()) -> str:
    """Why the labels of so many texts do not count, and which texts those are; "" for none."""
    if not n:
        return ""
    some = f" ({', '.join(texts)}{f' and {n - len(texts):,} more' if n > len(texts) else ''})" if texts else ""
    have = "1 text has labels" if n == 1 else f"{n:,} texts have labels"
    return f"{have} given for another text, or for none that judge.labelled names{some}"


def judged_texts(
    samples: Iterable[tuple[Sample, Case]], judge: JudgeModel | None
) -> Iterator[tuple[Sample, Case, str]]:
    """Samples with their cases and the part of the answer that was judged."""
    judged = judged_text(judge.of if judge else "")
    return ((sample, case, judged(sample) or sample.call_result.text or "") for sample, case in samples)


def with_labelled(judged: Iterable[JudgedSample], labelled: Collection[SampleKey]) -> Iterator[JudgedSample]:
    """The same samples, which say whether the labels of their case are of their text."""
    return (replace(item, labelled=(item.case_id, item.variant, item.repeat) in labelled) for item in judged)


def judged_text(of: str) -> Callable[[Sample], str | None]:
    """From a sample to the part of its answer that was judged; None when that is the whole."""
    if not of:
        return lambda _sample: None
    place = compile_path(of)

    def text(sample: Sample) -> str | None:
        part = place(extract_json(sample.call_result.text or "", None, repair=True).value)
        if part is MISSING or part is None:
            return None
        return part if isinstance(part, str) else json.dumps(part, ensure_ascii=False, indent=2)

    return text


def why_labels_cannot_tell(rubric: DescribedRubric) -> str:
    """Why labels of cases do not decide whether a text passes; "" where they can."""
    if rubric.passing is None:
        return "the suite does not say when a text passes"
    if rubric.others_count:
        return "other components besides the judge count in the score, so labels do not decide which texts pass"
    return ""


def as_number(value: bool | None) -> float:
    """1, 0, or NaN for what is not known."""
    return np.nan if value is None else float(value)


def labels_by_case(cases: Iterable[Case], judge: JudgeModel, *, skip_wrong: bool = False) -> dict[str, Labels]:
    """The labels of those cases that have some; where one is wrong the case has none, or UsageError says so."""
    results: dict[str, Labels] = {}
    for case in cases:
        try:
            if labels := labels_of(case, judge):
                results[case.id] = labels
        except ValueError as error:
            if not skip_wrong:
                raise UsageError(f"case {case.id}: {error}") from None
    return results
