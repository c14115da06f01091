"""What an attribution holds: the causes, their portions of the change, and what these stand on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from enum import StrEnum

from steelyard.frozen import frozen
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Estimate
from steelyard.suite.ledger import LedgerLine


class Cause(StrEnum):
    """What can move the number, in the order in which the change is cut."""

    CASES = "cases"
    """Added or removed."""
    QUESTIONS = "questions"
    """Another question under the same id."""
    AVAILABILITY = "availability"
    """Inconclusive on one side: a call failed, or another kind of judge was used."""
    SCORERS = "scorers"
    """Scorers, weights, bands, pass rule, schema, and what is made of a judge's words."""
    TRUTH = "truth"
    JUDGE = "judge"
    """Another model or prompt, or the same one that has drifted."""
    SYSTEM = "system"
    """What is left: what one wants to know, and noise."""


class How(StrEnum):
    """Where a portion comes from."""

    COUNTED = "counted"
    """From the recorded scores of both runs."""
    SCORED_AGAIN = "rescored"
    """A's recorded answers scored again by B's suite."""
    ANCHORS = "anchors"
    """Measured on answers that both judges have read, and carried over to the others."""
    LEFT = "left"
    """What is left when all others are taken off."""


@frozen
class Portion:
    """The part of the change that one cause has, or several that cannot be separated."""

    causes: tuple[Cause, ...]
    change: Estimate
    """`n` is its number of cases. The interval says how far it would lie elsewhere with other cases like these:
    what was counted or scored again is exact for the cases of these runs."""
    how: How
    cannot_tell: bool = False
    """True when it may be noise alone; never of what is exact."""
    message: str = ""
    """What it is based on, in words."""

    @property
    def is_joint(self) -> bool:
        """True when several causes cannot be separated."""
        return len(self.causes) > 1


@frozen
class Noise:
    """How far the system's portion may be off: its value cannot be separated from the portion's own."""

    half_width: float
    """Half of the portion's 95 % interval."""
    of_repeats: float | None = None
    """The share of its variance that comes from repeats of one case differing; None without repeats."""


@frozen
class Reason:
    """What the ledger says of an edit."""

    text: str
    by: str
    at: str
    """ISO 8601, in UTC."""


@frozen
class ScoringEdit:
    """A part of how answers are scored that is another in B: `scorers`, `schema` or `rules`, as in a signature."""

    part: str
    reason: Reason | None = None


@frozen
class TruthEdit:
    """A case whose truth is another in B."""

    case_id: str
    n: int
    """Pairs of it."""
    moved: float
    """By how much A's answers to it rose when scored by B's truth, in the mean."""
    part: float
    """What that comes to in the headline number."""
    reason: Reason | None = None
    """None when the ledger has none."""


@frozen
class TruthEdits:
    """The cases whose truth changed; the list begins with those that moved the number most."""

    n_cases: int = 0
    n_moved: int = 0
    listed: tuple[TruthEdit, ...] = ()
    n_with_reason: int = 0
    """Cases of `n_cases` whose edit has a reason in the ledger."""
    part_without_reason: float | None = None
    """What the others come to in the headline number; None when nothing was scored again."""


@frozen
class Anchors:
    """Answers by which another judge, or a drift of the same one, is measured."""

    identical: int = 0
    """Judged pairs whose answers are the same to the byte in A and B."""
    bought: int = 0
    """Other answers of A that B's judge has read as well."""
    n_cases: int = 0
    """Cases that the measured shift stands on."""
    judged: int = 0
    """Pairs that a judge read on both sides."""
    failed: int = 0
    """Answers that B's judge was asked about and gave nothing on."""
    not_measured: str = ""
    """Why a drift of the same judge may be in the system's portion; "" when anchors show that there is none."""


@frozen
class Attribution:
    """The change of the headline number in portions that sum to it."""

    metric: str
    a: Estimate
    """As A's own report has it; `n` is scored samples."""
    b: Estimate
    total: float | None
    """None when a run has no scored sample."""
    portions: tuple[Portion, ...] = ()
    """Only what has, or may have, a part; the system is always last."""
    noise: Noise | None = None
    truth_edits: TruthEdits = field(default_factory=TruthEdits)
    scoring_edits: tuple[ScoringEdit, ...] = ()
    ledger: tuple[str, ...] = ()
    """How many edits the ledger gives a reason of, and what the others come to, in sentences."""
    anchors: Anchors = field(default_factory=Anchors)
    joined: tuple[str, ...] = ()
    """Why some causes could not be separated, and what to do about it."""
    sentence: str = ""
    method: str = ""

    @property
    def only_the_system(self) -> bool:
        """True when nothing but the system can have moved the number."""
        return all(portion.causes == (Cause.SYSTEM,) for portion in self.portions)


@frozen
class Wanted:
    """Which answers of A are to be scored again, and how: pairs stand in the order of A's cases."""

    first: Array
    """Positions in A's columns."""
    second: Array
    """Positions in B's."""
    other_truth: Array
    """Marks the pairs whose truth is another in B."""
    by_pass: bool
    """What the number is made of: passes, or scores."""


@frozen
class ScoredAgain:
    """A's answers scored by B's suite, a value for each wanted pair; NaN where B's suite cannot score one."""

    scorers: Array | None = None
    """By B's scorers with A's truth and A's judge's words; None when that cannot be told."""
    truth: Array | None = None
    """And with B's truth."""
    judge: Array | None = None
    """And by B's judge, where it has been asked about them; NaN elsewhere."""
    by_code: bool = False
    """True when B's judge is code and has read them all."""
    failed: int = 0
    """Answers that B's judge was asked about in vain."""
    stopped: str = ""
    """Why fewer answers were bought than were asked for."""
    untold: dict[Cause, str] = field(default_factory=dict)
    """Why something cannot be told."""
    ledger: tuple[LedgerLine, ...] = ()
    """The ledger of B's suite as it is now."""


ScoreAgain = Callable[[Wanted], ScoredAgain]
"""Scores answers of A again; called at most once, and only when the signatures differ or answers were paid for."""
Identical = Callable[[Array, Array], Array]
"""Marks the pairs (positions in A and in B) whose answers are the same to the byte."""
