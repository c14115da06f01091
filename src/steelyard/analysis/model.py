"""The summary of a run: its figures, each with n, missing and, where defined, its interval, and lists with names."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from steelyard.analysis.listed_samples import ListedSamples
from steelyard.failures import FailureCause
from steelyard.frozen import frozen
from steelyard.metrics.expressions import FEWEST_LABELS
from steelyard.metrics.figures import Figures, Slice
from steelyard.records import Outcome
from steelyard.wording import counted

if TYPE_CHECKING:
    from steelyard.analysis.checks import CheckDetails
    from steelyard.analysis.confidence_model import ConfidenceTexts
    from steelyard.analysis.confusions import ConfusionFigure
    from steelyard.analysis.flaky import FlakyCell
    from steelyard.analysis.latency import LatencyDetails
    from steelyard.analysis.stability import StabilityDetails
    from steelyard.metrics.table import Table


@frozen
class FoundCode:
    """One code of the taxonomy that was found; its figures are `findings.<code>`, `if_fixed.<code>`, `gain.<code>`."""

    code: str
    at_most: bool = False
    """True when it is unknown what would have come, as for an answer that could not be read: the gain is `up to`."""
    has_weight: bool = True
    """False when every finding is of a component that counts nothing in the score: then no gain says what it is
    worth to fix."""


@frozen
class BestVariant:
    """Which variant scores best, and whether that is more than noise."""

    best: str | None
    """None when no variant is better than all others beyond noise."""
    leader: str
    """The one with the highest average."""
    others: tuple[str, ...]
    """All others; `best.<other>` says how much better the leader is than each."""
    sentence: str


@frozen
class Pattern:
    """Something that goes wrong more than once: a sentence, how often, and its cases."""

    sentence: str
    count: int
    cases: tuple[str, ...] = ()
    """The first 50 in order of id."""
    n: int = 0
    """Out of how many samples `count` is."""
    n_cases: int = 0
    """How many different cases it is of."""


@frozen
class Priority:
    """What to fix first: a code or component; `gain.<component>` is how much the headline would rise."""

    sentence: str
    component: str


@frozen
class SampleLine:
    """One sample as reports list it."""

    case_id: str
    variant: str
    repeat: int
    outcome: str
    score: float | None
    band: str | None
    latency: float | None
    why: str
    """What went wrong in a few words: its findings, or the failure."""


@frozen
class UsualScore:
    """The score that a judge gives most often, next to what labels say of these texts."""

    score: float
    n: int
    """Texts with this score."""
    n_texts: int
    n_labelled: int
    """Units of evidence with labels."""
    n_refused: int
    """Of those, how many have labels that do not allow this score."""
    labels_differ: bool
    """Whether the best scores of the labels differ among each other."""


@frozen
class ReusedAnswers:
    """Of answers that are no new ones (`reused.*` says how many), when those from the cache of `--cache` were made."""

    first: float | None = None
    """The first and the last of them, in seconds since 1970; None where that was not recorded."""
    last: float | None = None

    @classmethod
    def of(cls, table: Table) -> ReusedAnswers | None:
        """Those of a run; None when all its answers are new ones."""
        if not (table.reused() | table.copied()).any():
            return None
        made_at = table.reported("made_at")[table.cached()]
        dates = made_at[~np.isnan(made_at)]
        return cls(float(dates.min()), float(dates.max())) if len(dates) else cls()


@frozen
class Rebuttal:
    """One disagreement of a scorer and a judge: a finding that the judge, asked about it, says is none."""

    case_id: str
    member: str
    finding: str
    """The code of the finding."""
    words: str
    """What it was found in."""
    reason: str
    """What the judge answered."""


MAX_REBUTTALS = 1000
"""Disagreements that a run lists one by one; the figure counts all of them."""


@frozen
class JudgeDetails:
    """What is listed of the judge of a run; its numbers are figures of the run (`judge.votes`, `judge.failed`)."""

    mode: str
    """The run's main mode: what is capped, broken and quoted is counted on votes of this mode alone."""
    why_failed: dict[str, int] = field(default_factory=dict)
    """Why texts are inconclusive, as sentences that name the judge, most frequent first."""
    why_excluded: dict[str, int] = field(default_factory=dict)
    """Why judgements are not in the mode that was asked for, most frequent first: excluded, or all of the run."""
    rebuttals: list[Rebuttal] = field(default_factory=list)
    """Findings of scorers that the judge rebutted, one by one."""
    constant: tuple[str, ...] = ()
    """Dimensions in which every text got the same score, but for those in which the suite expects it."""
    usual: dict[str, UsualScore] = field(default_factory=dict, metadata={"hidden": True})
    """By dimension with a score, what tells whether the judge is constant."""


@frozen
class JudgeCheck:
    """Which labels a run's judge was compared with, and by which method; the results are figures of the run:
    `pass_rate.corrected`, `pass_rate.sensitivity`, `labels.texts`."""

    not_random: str = ""
    """Why the labels say nothing about unlabeled texts; "" when they are of a random sample, or of all texts."""
    message: str = ""
    """Why there is no corrected rate; "" when there is one."""
    method: str = ""
    """`prediction-powered`, `labels alone` or `post-stratified`; "" when there is no corrected rate."""
    why: str = ""
    """Why it was that method."""


@frozen
class Summary:
    """All figures of one run, computed once; every report is a view of it."""

    passing: str
    """The pass threshold as written, printed with every pass rate."""
    figures: Figures = field(compare=False, metadata={"hidden": True})
    """Every figure of the run, in the whole and in every slice, by name."""
    patterns: list[Pattern] = field(default_factory=list)
    priorities: list[Priority] = field(default_factory=list)
    reused: ReusedAnswers | None = None
    """None when every answer is a new one."""
    codes: list[FoundCode] = field(default_factory=list)
    """Every code that was found, the largest gain first."""
    best_variant: BestVariant | None = None
    """None when the run has fewer than two variants."""
    repeats: int = 1
    method: str = ""
    """How the intervals were computed, in one line."""
    judge: JudgeDetails | None = None
    """None for a run without a judge."""
    judge_check: JudgeCheck | None = None
    """What labels say of the run's judge or, without one, of its own pass and fail; None for a run without labels."""
    confidence: ConfidenceTexts | None = None
    """None for a run whose answers claim nothing with a confidence."""
    checks: CheckDetails | None = None
    """None for a suite without expectations."""
    flaky_cells: list[FlakyCell] = field(default_factory=list)
    """Cases that pass in some repeats and not in others, the one that passes least often first."""
    stability: StabilityDetails | None = None
    """None for a suite that does not compare repeats item by item."""
    latency: LatencyDetails | None = None
    """None for a run without calls."""
    confusions: list[ConfusionFigure] = field(default_factory=list)
    """What was taken for something else, most frequent first, the first ten."""
    failing_cells: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    """By slice (`variant.x`; "" is the whole run) and condition over repeats that the suite's criteria name, the first
    few cells that fail it, in words: `03-hard [boxes]: 1 of 3`."""
    failure_causes: list[FailureCause] = field(default_factory=list)
    """Why calls of the system under test failed: kind, code and message with counts, most frequent first."""
    scorer_errors: dict[str, int] = field(default_factory=dict, metadata={"hidden": True})
    """Why scorers, or the judge's own code, broke, with the number of samples, in the order of the plan."""
    samples: ListedSamples = field(default_factory=ListedSamples, metadata={"hidden": True})
    """The samples that reports list, by position."""

    @property
    def overall(self) -> Slice:
        """The figures of the whole run."""
        return self.figures.slice()

    @cached_property
    def slices(self) -> dict[str, list[Slice]]:
        """By factor: category, difficulty, variant, tag; only factors that the suite uses."""
        return {factor: self.figures.slices(factor) for factor in self.figures.factors if factor}

    @property
    def attempts(self) -> str:
        """`40 attempts for 30 calls; 10 first attempts failed (http_500 10)`; "" when no call was made."""
        total, rate = (self.overall[name] for name in ("attempts.total", "first_attempt_failure_rate"))
        if not total.n:
            return ""
        failed = round((rate.value or 0.0) * rate.n)
        kinds = ", ".join(f"{kind} {n:,}" for kind, n in self.overall.counts("first_failures.<kind>").items())
        calls = f"{round(total.value or 0.0):,} attempts for {counted(total.n, 'call')}"
        return f"{calls}; {counted(failed, 'first attempt')} failed{f' ({kinds})' if kinds else ''}"

    @property
    def why_inconclusive(self) -> dict[str, int]:
        """Why samples are inconclusive, as sentences that name who failed, most frequent first."""
        reasons = Counter(self.judge.why_failed if self.judge is not None else {})
        reasons.update({f"target: {cause}": cause.count for cause in self.failure_causes})
        reasons.update(self.scorer_errors)
        return dict(reasons.most_common())

    @property
    def n_scorer_errors(self) -> int:
        """Samples on which a scorer, or the judge's own code, broke: those without a reading that no judge refused."""
        return self.overall.outcomes.get(Outcome.JUDGE_FAILED, 0) - self.overall.count("judge.texts.failed")

    @property
    def judge_is_checked(self) -> bool:
        """Whether enough texts of a random sample have labels."""
        return self._is_labelled and not (self.judge_check and self.judge_check.not_random)

    @property
    def labels_are_chosen(self) -> bool:
        """Whether enough texts have labels, but not those of a random sample."""
        return self._is_labelled and not self.judge_is_checked

    @property
    def _is_labelled(self) -> bool:
        return self.overall.count("labels.texts") >= FEWEST_LABELS
