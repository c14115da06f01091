"""What two runs come to when they are paired case by case: plain data that every report is a view of."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum

from steelyard.frozen import frozen
from steelyard.stats.intervals import Estimate


@frozen
class NotCompared:
    """One thing that was left out of a comparison."""

    what: str
    """component, measure, count, findings, confusions, sections, bands, latency, cost, ..."""
    name: str
    """Which of them; "" when there is but one."""
    why: str

    @property
    def sentence(self) -> str:
        """In words: `component title: only B has it`."""
        return f"{self.what} {self.name}: {self.why}" if self.name else f"{self.what}: {self.why}"


def lacking(what: str, name: str = "", *, a_has_it: bool) -> NotCompared:
    """Something that one of the runs has, and the other has not."""
    return NotCompared(what, name, f"only {'A' if a_has_it else 'B'} has it")


@frozen
class CheckMove:
    """One check of one case under one variant that holds in one run and is broken in the other."""

    case_id: str
    variant: str
    name: str
    passed_a: int
    """Repeats in which it passed, of `n_a` that were planned."""
    n_a: int
    passed_b: int
    n_b: int


@frozen
class CheckMoves:
    """How many checks moved, and the first 50 of them."""

    count: int = 0
    lines: tuple[CheckMove, ...] = ()


@frozen
class CellMoves:
    """How many cells (cases under a variant) moved, and the first 50 of them as case and variant."""

    count: int = 0
    names: tuple[tuple[str, str], ...] = ()


@frozen
class ChecksChange:
    """What became of every check that both runs have, in cells with the same question and truth.

    `fixed`, `broken`, `unchanged` and `cannot_tell` are all of them; so are those of the cells.
    """

    fixed: CheckMoves = field(default_factory=CheckMoves)
    """Broken in A, holds in B."""
    broken: CheckMoves = field(default_factory=CheckMoves)
    """Holds in A, broken in B."""
    unchanged: int = 0
    cannot_tell: int = 0
    """In A or in B it is undecided."""
    only_a: int = 0
    """Checks of the same cells that only A has."""
    only_b: int = 0
    cells_fixed: CellMoves = field(default_factory=CellMoves)
    """In A a check is broken, in B all hold."""
    cells_failed: CellMoves = field(default_factory=CellMoves)
    cells_unchanged: int = 0
    cells_cannot_tell: int = 0
    confounded: str = ""
    """Why holding in A and holding in B is not the same thing, in words; "" when it is."""

    @property
    def n(self) -> int:
        """Checks that both runs have."""
        return self.fixed.count + self.broken.count + self.unchanged + self.cannot_tell

    @property
    def n_cells(self) -> int:
        """Cells that both runs have."""
        return self.cells_fixed.count + self.cells_failed.count + self.cells_unchanged + self.cells_cannot_tell


LEVEL = 0.95
MOST_LISTED = 50
"""How many samples or cases a list names; its count is of all."""


class Moved(StrEnum):
    """What a difference comes to."""

    BETTER = "better"
    WORSE = "worse"
    CHANGED = "changed"
    """Beyond noise, in a figure that declares no better direction."""
    CANNOT_TELL = "cannot tell"
    SAME = "same"
    """No pair differs at all; of latency and cost, by less than matters."""
    NOT_TESTED = "not tested"
    """A latency or cost of too few runs: shown, without a verdict."""


class Why(StrEnum):
    """Why a sample has no counterpart that it can be compared with."""

    ONLY_IN_A = "only in A"
    ONLY_IN_B = "only in B"
    CHANGED_QUESTION = "another question under the same id"
    CHANGED_TRUTH = "another truth"
    NO_READING_IN_A = "inconclusive in A"
    NO_READING_IN_B = "inconclusive in B"
    NO_READING = "inconclusive in both"
    OTHER_MODE = "judged by another kind of judge"
    """By rules on one side and by a model on the other, or otherwise than the rest of its run."""


class Standing(StrEnum):
    """Whether something was found in A, in B, or in both, and where more often."""

    NEW = "new"
    """Not in A."""
    RESOLVED = "resolved"
    """Not in B."""
    MORE = "more"
    FEWER = "fewer"
    SAME = "same"


class Part(StrEnum):
    """What a difference between the two signatures means for the comparison."""

    SUBJECT = "subject"
    """What one compares: target, model, prompts."""
    SCALE = "scale"
    """The change may be the signature's: no verdict, unless asked for."""
    NOTED = "noted"
    """Said, and blocks nothing: what it touches is excluded, or it touches nothing."""


@frozen
class SignatureChange:
    """One part of the signature that is another in B, in words."""

    part: str
    """suite, cases, truth, questions, scorers, prompts, schema, judge, rules, readings, target, model, repeats, ..."""
    means: Part
    sentence: str
    a: str = ""
    """How A names it: a model, a number, or the first digits of a hash; "" when it has no name."""
    b: str = ""
    cases: tuple[str, ...] = ()
    """The first 50 cases concerned, in order of id."""
    n_cases: int = 0


@frozen
class SignaturePair:
    """Everything about how the two runs were made that differs, what blocks a verdict first."""

    changes: tuple[SignatureChange, ...] = ()
    several: str = ""
    """Said when more than one thing that is compared changed at once; "" otherwise."""

    @property
    def confounds(self) -> tuple[SignatureChange, ...]:
        """The changes that may be mistaken for a change of the system."""
        return tuple(change for change in self.changes if change.means is Part.SCALE)

    @property
    def subject(self) -> tuple[SignatureChange, ...]:
        """What is compared: the changes that the difference is to be put down to."""
        return tuple(change for change in self.changes if change.means is Part.SUBJECT)


@frozen
class PairLine:
    """One sample as the lists name it, with its scores (0 to 1) in A and in B; None where it has none."""

    case_id: str
    variant: str
    repeat: int
    a: float | None = None
    b: float | None = None


@frozen
class PairList:
    """How many samples, of how many cases, and the first 50 of them."""

    count: int = 0
    n_cases: int = 0
    lines: tuple[PairLine, ...] = ()
    """In order of id, variant and repeat; `rose` and `fell` begin with those that moved most."""


@frozen
class Pairs:
    """What became of every sample. `fixed`, `broken` and `unchanged` are all comparable pairs; so are `rose`, `fell`
    and `level`; `not_comparable` are all others, each under one reason."""

    n_a: int
    """Samples of A."""
    n_b: int
    comparable: int
    n_cases: int
    """Cases with at least one comparable pair."""
    n_answered: int
    """Cases scored in at least one of the runs."""
    by_pass: bool
    """True when both suites have a pass rule; without it nothing can be fixed or broken."""
    fixed: PairList = field(default_factory=PairList)
    """Failed in A, passes in B."""
    broken: PairList = field(default_factory=PairList)
    """Passed in A, fails in B."""
    unchanged: PairList = field(default_factory=PairList)
    """The same side of the pass rule or, without one, the same score."""
    rose: PairList = field(default_factory=PairList)
    fell: PairList = field(default_factory=PairList)
    level: PairList = field(default_factory=PairList)
    not_comparable: dict[Why, PairList] = field(default_factory=dict)
    """Only the reasons that occur, in the order of `Why`."""

    @property
    def n_not_comparable(self) -> int:
        """Samples without a counterpart; a pair of two counts once."""
        return sum(item.count for item in self.not_comparable.values())


@frozen
class MetricChange:
    """One figure in A and in B, over comparable pairs."""

    name: str
    """As gates name it: pass_rate, average, score.COMPONENT.points, score.COMPONENT.MEASURE, band.NAME, latency.p50,
    inconclusive_rate, malformed_rate; as means over samples: findings.total, findings.CODE, count.COMPONENT.NAME,
    tokens.in, tokens.out, cost, section.NAME (its findings); over cells, with all their repeats: cases.passed,
    checks.passed, stability.presence, stability.FIELD."""
    group: str
    """headline, failures, format, components, measures, flags, bands, findings, extra (components without weight),
    counts, latency, spending, sections, expectations, stability: tables are made by it."""
    unit: str
    """share (0 to 1), points (on `scale`), seconds, count (a sample), tokens, cost."""
    better_when: str
    """higher, lower, or "" when none is declared."""
    a: Estimate
    """`n` is comparable pairs in which the figure is known on both sides; of failures, pairs with the same question; of
    expectations and stability, checks or cells of both runs."""
    b: Estimate
    difference: Estimate
    """B minus A, with the interval of the paired difference; `n` is the number of cases, which stand for their repeats
    and variants, or of clusters of cases: see `counts`."""
    p: float | None = None
    """Of the paired test; None when undefined (fewer than two cases)."""
    p_adjusted: float | None = None
    """For the other figures of the same table (Holm), each thing counted once and none that so few cases could not have
    shown; the primary metric was named before looking and stands alone."""
    same_as: str = ""
    """An earlier figure that is the same thing by another name, as the share of a band may be the pass rate."""
    confidence_level: float = LEVEL
    """Of the interval: 95 %, or more for one of several figures, so that it leaves 0 out where p_adjusted is below 5 %
    and nowhere else."""
    verdict: Moved = Moved.CANNOT_TELL
    smallest: float | None = None
    """The smallest true difference that this many cases would show with 80 % power; None when they could show none."""
    test: str = ""
    """exact McNemar, exact sign flips, drawn sign flips, paired t, ratio of sums, quantile, Welch's t; of what was not
    tested, why."""
    scale: tuple[float, float] | None = None
    """The ends of the scale, where it has ends."""
    primary: bool = False
    counts: str = "case"
    """What the unit of evidence is: case or cluster."""
    effect: float | None = None
    """The mean difference of cases in standard deviations of it (Cohen's d for pairs); None when undefined."""
    rose: int = 0
    """Cases that are higher in B; 0, as the next two, where a figure has no value by case (quantiles, ratios)."""
    level: int = 0
    fell: int = 0
    matters: float | None = None
    """Of latency and cost, the difference that must be exceeded to be better or worse."""
    runs: tuple[int, int] | None = None
    """Of latency and cost over several runs a side, how many of A and of B: `a` and `b` are means over them, and `n` of
    the difference counts them."""
    df: int | None = None
    """Degrees of freedom of the test over runs."""
    own: tuple[Estimate, Estimate] | None = None
    """Over several runs a side, the figures of run A and run B alone."""


@frozen
class CodeChange:
    """How often one code was found in comparable samples."""

    code: str
    a: int
    b: int
    samples_a: int
    """Samples with at least one such finding."""
    samples_b: int
    standing: Standing


@frozen
class Confusion:
    """One thing taken for another: how often `got` came where `expected` belonged."""

    code: str
    expected: str
    got: str
    a: int
    b: int
    standing: Standing


@frozen
class Confusions:
    """Every pair that was confused in comparable samples. Counts are of all; the list holds those that moved most."""

    n: int = 0
    """Different ones in A and B together."""
    counts: dict[Standing, int] = field(default_factory=dict)
    """How many different ones are new, resolved, more, fewer or the same."""
    listed: tuple[Confusion, ...] = ()
    """New ones, then resolved ones, then others, each by how much they moved; all of them up to a few hundred."""


@frozen
class SectionChange:
    """What was found in one section of the texts."""

    section: str
    """"" for findings that are in no section."""
    a: int
    b: int
    rate: MetricChange
    """Findings a sample, over the samples that are conclusive on both sides."""
    codes: tuple[CodeChange, ...] = ()
