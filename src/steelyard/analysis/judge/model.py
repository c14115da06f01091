"""What is listed of a judge's health; the numbers are figures of its run, by name."""

from __future__ import annotations

from steelyard.analysis.model import Rebuttal
from steelyard.frozen import frozen
from steelyard.metrics.figures import Slice
from steelyard.metrics.run_data import CorrectedRate
from steelyard.records import Mode
from steelyard.stats.agreement import ConfusionMatrix
from steelyard.stats.intervals import Estimate
from steelyard.store.base import Spending

ALWAYS_TOGETHER = 0.95
"""Two dimensions with at least this correlation always move together."""
INFLATION = 0.10
"""More top scores than this are inflation, where no labels say how many are due."""
LABELS_FOR_INFLATION = 10
"""Fewer labels than this do not say how many are due: one label must not silence a complaint."""
MOST_LISTED = 10
"""So many texts on which judge and reviewer differ are named."""


def is_inflated(top: Estimate, beyond: Estimate, mode: str) -> bool | None:
    """Whether, beyond noise, more have the highest score than are due: by the labels where there are
    enough, by the rubric's own share only where there are not. `beyond` is the judge's share minus that of the labels.

    None without scores, and for code without labels: flattery is a habit of models, and what is computed from a truth
    gives as many as are due.
    """
    if beyond.n >= LABELS_FOR_INFLATION:
        return (beyond.low or 0.0) > 0
    if top.value is None or mode == Mode.RULES:
        return None
    return (top.low or 0.0) > INFLATION


@frozen
class Disagreement:
    """A text to which the judge gave a score outside the range that its reviewer allows."""

    case_id: str
    best: float
    low: float
    high: float
    stated: float
    """As the judge gave it, before any rule capped it; several votes are combined."""
    outside: float
    """Points beyond the nearer end of the range: above 0 too high, below 0 too low."""


@frozen
class People:
    """The people whose labels of one dimension are compared with each other and with the judge."""

    names: tuple[str, ...]
    epsilon: float
    """By how much the judge may be worse than a person, in the alternative annotator test."""


@frozen
class DimensionHealth:
    """One dimension of the rubric. Scores are as the judge gave them, before any rule bound them."""

    confusion: ConfusionMatrix
    inflated: bool | None
    """See `is_inflated`."""
    constant: bool
    """True when at least two texts were judged and all got the same."""
    people: People | None = None
    """None where labels do not name at least two."""
    disagreements: tuple[Disagreement, ...] = ()
    """The texts farthest outside the reviewer's range, at most `MOST_LISTED`."""


@frozen
class FlagCounts:
    """How often judge and reviewer set a flag."""

    hits: int
    """Flagged by both."""
    false_alarms: int
    """Flagged by the judge alone."""
    missed: int
    """Flagged by the reviewer alone."""
    quiet: int
    """Flagged by neither."""


@frozen
class FlagHealth:
    """One flag of the rubric, as the judge set it, and as it counts after the rules."""

    counts: FlagCounts
    capped: FlagCounts
    missed: tuple[str, ...] = ()
    """Cases of the first texts, at most `MOST_LISTED`, that the reviewer flags and the judge does not."""
    false_alarms: tuple[str, ...] = ()
    """The same of texts that the judge flags and the reviewer does not."""


@frozen
class Together:
    """Two dimensions, compared vote by vote."""

    first: str
    second: str
    identical: bool
    """True when every vote (of at least three) gives both the same score."""
    always: bool
    """Whether they always move together: then one of them says nothing that the other does not."""

    @property
    def metric(self) -> str:
        """The name of their correlation."""
        return f"judge.correlation.{self.first}.{self.second}"


@frozen
class JudgeHealth:
    """All that is known of how far a judge can be trusted."""

    mode: str
    """The main mode: only votes of this mode count, the others are counted separately."""
    scale: tuple[float, float]
    figures: Slice
    """Every figure of the judge, by name: `judge.agreement.tone.kappa`."""
    dimensions: dict[str, DimensionHealth]
    flags: dict[str, FlagHealth]
    pairs: tuple[Together, ...]
    """Every two dimensions, those that move together most first."""
    by_rule: dict[str, int]
    """How many votes broke each rule, most frequent first."""
    rebuttals: tuple[Rebuttal, ...]
    """The findings of scorers that the judge rebutted."""
    corrected: CorrectedRate
    spending: Spending | None
    """What the judge's calls took; None when nobody counted."""
    complaints: tuple[str, ...] = ()
    """What is wrong with the judge, in words, worst first."""
    constant: tuple[str, ...] = ()
    """Dimensions in which every text got the same score, but for those in which the suite expects it."""
    unfit: tuple[str, ...] = ()
    """Why it is not fit, whatever the thresholds are."""
    dependent: tuple[str, ...] = ()
    """Labels and votes that are not independent: figures that stand on them show nothing."""

    def __getitem__(self, name: str) -> Estimate:
        """A figure of the judge without the first part of its name: `agreement.tone.kappa`."""
        return self.figures[f"judge.{name}"]

    def count(self, name: str) -> int:
        """The same of a number of something."""
        return self.figures.count(f"judge.{name}")

    @property
    def modes(self) -> dict[str, int]:
        """Votes of each mode, most frequent first; those without scores are in none."""
        return self.figures.counts("judge.mode.<mode>")
