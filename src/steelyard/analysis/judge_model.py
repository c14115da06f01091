"""The figures of a judge's health: none without its n, its missing and, where defined, its interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from steelyard.analysis.correction import CorrectedRate
from steelyard.analysis.people import People
from steelyard.records import Judgement, Mode, Verdict
from steelyard.stats.agreement import Agreement, FlagAgreement
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


class Judged(Protocol):
    """A sample with what its judge said, as a store gives it."""

    @property
    def case_id(self) -> str: ...

    @property
    def unit(self) -> str: ...

    @property
    def judgement(self) -> Judgement: ...

    @property
    def labelled(self) -> bool: ...


class JudgedText(Judged, Protocol):
    """The same with what else a judge's health stands on."""

    @property
    def passed(self) -> bool | None: ...
    @property
    def text_length(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A text to which the judge gave a score outside the range that its reviewer allows."""

    case_id: str
    best: float
    low: float
    high: float
    said: float
    """As the judge gave it, before any rule bound it; of several readings what they come to."""
    outside: float
    """Points beyond the nearer end of the range: above 0 too high, below 0 too low."""


@dataclass(frozen=True, slots=True)
class DimensionHealth:
    """One dimension of the rubric. Scores are as the judge gave them, before any rule bound them."""

    agreement: Agreement
    bound_exact: Estimate
    """As `agreement.exact`, of the scores after rules and checks: what the run counts."""
    bound_within_one: Estimate
    top_share: Estimate
    """Share of texts with the highest score of the scale."""
    top_labelled: Estimate
    """Share of the labelled texts for which the highest score is the reviewer's best."""
    top_beyond: Estimate
    """Of the labelled texts, the share with the highest score by the judge minus that by the reviewer."""
    inflated: bool | None
    """See `is_inflated`."""
    middle_share: Estimate
    """Share of texts from the neutral score to the next above it."""
    spread: Estimate
    """Standard deviation, in points; n/a below n 2."""
    constant: bool
    """True when at least two texts were judged and all got the same."""
    length: Estimate
    """Spearman's correlation with the length of the text."""
    length_labelled: Estimate
    """The same of the reviewer's best scores: where good texts are long, a good judge likes long ones."""
    repeatability: Estimate
    """Of the texts that one judge read more than once, the share that got the same score each time."""
    moved: Estimate
    """The mean difference between two readings of one text by one judge, in points."""
    reliability: Estimate
    """Krippendorff's alpha, ordinal, between all ballots on a text, be they of repeats or of members."""
    people: People | None = None
    """What several people say beside the judge; None where labels do not name at least two."""
    disagreements: tuple[Disagreement, ...] = ()
    """The texts farthest outside the reviewer's range, at most `MOST_LISTED`."""
    n_disagreements: int = 0
    """How many texts are outside it."""


@dataclass(frozen=True, slots=True)
class FlagHealth:
    """One flag of the rubric, as the judge set it, and as it counts after the rules."""

    agreement: FlagAgreement
    bound: FlagAgreement
    share: Estimate
    """Share of texts that the judge flagged."""
    missed: tuple[str, ...] = ()
    """Cases of the first texts, at most `MOST_LISTED`, that the reviewer flags and the judge does not."""
    false_alarms: tuple[str, ...] = ()
    """The same of texts that the judge flags and the reviewer does not."""


@dataclass(frozen=True, slots=True)
class Together:
    """Two dimensions, compared ballot by ballot."""

    first: str
    second: str
    correlation: Estimate
    identical: bool
    """True when every ballot (of at least three) gives both the same score."""

    @property
    def always(self) -> bool:
        """Whether they always move together: then one of them says nothing that the other does not."""
        return self.identical or (self.correlation.value or 0.0) >= ALWAYS_TOGETHER


@dataclass(frozen=True, slots=True)
class SelfHealth:
    """The judge against its own instructions; shares are of ballots in the main mode unless they say otherwise.

    What is not asked of the judge (rules, quotes, reasons, complaints that are checked) is n/a.
    """

    broken_rules: Estimate
    by_rule: dict[str, int]
    """How many ballots broke each rule, most frequent first."""
    made_up_quotes: Estimate
    unproven: Estimate
    too_few_reasons: Estimate
    contradictions: Estimate
    """Share of ballots with a complaint that what was judged shows to be wrong."""
    failed: Estimate
    """Of the ballots that were answered, the share of which nothing could be used."""
    unanswered: Estimate
    """Share of all ballots without any answer: calls that failed, which say nothing of how the judge judges."""
    cut_off: Estimate
    """Of the answered ballots of any mode, the share with an answer that broke off at the limit of tokens."""
    rungs: dict[str, Estimate]
    """How answers were read, as shares of all ballots, most frequent first."""
    disagreement: Estimate
    """Share of the texts with several readings on which these lie far apart."""


@dataclass(frozen=True, slots=True)
class JudgeHealth:
    """All that is known of how far a judge can be trusted."""

    mode: str
    """The main mode: only ballots of this mode count, the others are counted aside."""
    scale: tuple[float, float]
    n_texts: int
    """Texts that came before the judge."""
    n_labelled: int
    """Of those, how many a reviewer has labelled."""
    n_labelled_otherwise: int
    """Of those, how many have labels that were given for another text, or do not say for which."""
    n_ballots: int
    modes: dict[str, int]
    """Ballots of each mode; those without a reading are in none."""
    n_aside: int
    """Texts whose judgement is in another mode: in no figure against labels or rubric."""
    n_failed: int
    """Texts whose judgement came to nothing."""
    dimensions: dict[str, DimensionHealth]
    flags: dict[str, FlagHealth]
    pairs: tuple[Together, ...]
    """Every two dimensions, those that move together most first."""
    itself: SelfHealth
    corrected: CorrectedRate
    spending: Spending | None
    """What the judge's calls took; None when nobody counted."""
    complaints: tuple[str, ...] = ()
    """What is wrong with the judge, in words, worst first."""


@dataclass(frozen=True, slots=True)
class HealthResult:
    """One threshold of the suite on one figure."""

    text: str
    """As the suite writes it."""
    verdict: Verdict
    """PASS or FAIL with the whole interval; AMBIGUOUS when the figure is not available or not shown: no pass."""
    value: float | None
    n: int
    reason: str
    estimate: Estimate
    across: bool = False
    """True when the interval reaches across the threshold: another draw of texts could turn the verdict."""
