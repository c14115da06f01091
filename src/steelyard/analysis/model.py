"""The figures of a run. No number here stands without its n, its missing and, where defined, its interval."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from steelyard.analysis.listed_samples import ListedSamples
from steelyard.failures import FailureCause
from steelyard.frozen import frozen
from steelyard.metrics.expressions import FEWEST_LABELS
from steelyard.metrics.figures import Figures, Slice
from steelyard.records import Outcome
from steelyard.stats.intervals import Estimate
from steelyard.wording import counted

if TYPE_CHECKING:
    from steelyard.analysis.calibration import ConfidenceTexts
    from steelyard.analysis.findings import ConfusionFigure
    from steelyard.analysis.latency import LatencyFigures
    from steelyard.analysis.repeats import ChecksFigures
    from steelyard.analysis.stability import PassFigures, StabilityFigures


@frozen
class Repeated:
    """A condition looked at over the repeats of every case and variant (a cell)."""

    passed: int
    failed: int
    undecided: int
    """Cells with too few conclusive repeats."""
    failing: tuple[str, ...] = ()
    """The first few cells that fail, in words: `03-hard (boxes): 1 of 3`."""


@frozen
class FoundCode:
    """One code of the taxonomy that was found; its figures are `findings.<code>`, `if_fixed.<code>`, `gain.<code>`."""

    code: str
    at_most: bool = False
    """True when nothing says what would have come, as for an answer that could not be read."""
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
    """Something that goes wrong more than once: a sentence, how often, and the cases behind it."""

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
    """The score that a judge gives most often, and what labels make of it."""

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
    """The first and the last of them; None where nobody noted it."""
    last: float | None = None


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
class JudgeFigures:
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
class CorrectedRate:
    """What the pass rate would be, were the judge's errors those that the labeled part shows."""

    rate: Estimate
    """By the method below, inside 0..1; n/a when it cannot be computed."""
    reported: Estimate
    sensitivity: Estimate
    """Of the texts that pass by their labels, the share that the judge passes."""
    specificity: Estimate
    """Of the texts that do not pass by their labels, the share that the judge does not pass."""
    message: str = ""
    """Why there is no corrected rate; "" when there is one."""
    method: str = ""
    """`prediction-powered`, `labels alone` or `post-stratified`; "" when there is no corrected rate."""
    why: str = ""
    """Why it was that method."""
    labels: Estimate = field(default_factory=lambda: Estimate(None, 0))
    """The share of the labeled texts that pass by their labels; no interval where they are not a random sample."""


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
    """Every code that was found, what is worth most to fix first."""
    best_variant: BestVariant | None = None
    """None when the run has fewer than two variants."""
    repeats: int = 1
    method: str = ""
    """How the intervals were computed, in one line."""
    judge: JudgeFigures | None = None
    """None for a run without a judge."""
    judge_check: JudgeCheck | None = None
    """What labels say of the run's judge or, without one, of its own pass and fail; None for a run without labels."""
    confidence: ConfidenceTexts | None = None
    """None for a run whose answers claim nothing with a confidence."""
    checks: ChecksFigures | None = None
    """None for a suite without expectations."""
    passes: PassFigures | None = None
    """Over the repeats of a case; None for a suite with expectations, whose `checks` say it, or without a pass rule."""
    stability: StabilityFigures | None = None
    """None for a suite that does not compare repeats item by item."""
    latency: LatencyFigures | None = None
    """None for a run without calls."""
    confusions: list[ConfusionFigure] = field(default_factory=list)
    """What was taken for something else, most frequent first, the first ten."""
    failure_causes: list[FailureCause] = field(default_factory=list)
    """Why calls of the system under test failed: kind, code and message with counts, most frequent first."""
    why_inconclusive: dict[str, int] = field(default_factory=dict)
    """Why samples are inconclusive, as sentences that name who failed, most frequent first."""
    samples: ListedSamples = field(default_factory=ListedSamples, metadata={"hidden": True})
    """The samples that reports list, by position."""
    repeated: dict[str, dict[str, Repeated]] = field(default_factory=dict)
    """By slice (`variant.x`; "" is the whole run), what came of every condition over repeats that the suite's criteria
    name, by its text."""

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
    def n_scorer_errors(self) -> int:
        """Samples on which a scorer, or the judge's own code, broke: those without a reading that no judge refused."""
        refused = sum(self.judge.why_failed.values()) if self.judge is not None else 0
        return self.overall.outcomes.get(Outcome.JUDGE_FAILED, 0) - refused
