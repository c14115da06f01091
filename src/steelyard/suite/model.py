"""The suite as the rest of the house sees it, however it was written (YAML or Python)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from steelyard.suite.case import Case
from steelyard.suite.confidence import ConfidenceRules
from steelyard.suite.judge_model import JudgeModel

if TYPE_CHECKING:
    from steelyard.suite.alert_settings import AlertSettings
    from steelyard.suite.ledger import LedgerLine


class CaseSource(Protocol):
    """Cases that can be read again and again without holding them in memory."""

    def __iter__(self) -> Iterator[Case]: ...


@dataclass(frozen=True, slots=True)
class CaseSurvey:
    """What one pass over all cases found: how many, which names occur how often, and what they hash to.

    The digests do not depend on the order of the cases. `cases_digest` covers everything asked (id, input, category,
    difficulty, tags, attachments with their bytes), `truth_digest` what is expected, `input_digest` only what a target
    sees.
    """

    n: int = 0
    categories: dict[str, int] = field(default_factory=dict)
    difficulties: dict[str, int] = field(default_factory=dict)
    tags: dict[str, int] = field(default_factory=dict)
    cases_digest: str = ""
    truth_digest: str = ""
    input_digest: str = ""
    noted_truths: dict[str, str] = field(default_factory=dict)
    """Digests of the truth of those cases that the ledger speaks of."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """A fraction 0..1 that a score must reach, with the text it was written as."""

    at_least: float
    text: str


@dataclass(frozen=True, slots=True)
class Band:
    """A rating: `name` for scores of `at_least` and above, up to the next band."""

    name: str
    at_least: float


@dataclass(frozen=True, slots=True)
class Variant:
    """One point of the grid of factors, for instance a prompt; `name` is "" when the suite has no variants."""

    name: str = ""
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FindingKind:
    """One code of the suite's taxonomy."""

    code: str
    about: str = ""
    severity: str = "error"
    name: str = ""
    """What people call it; "" when the code says enough."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """A named condition of a release with three outcomes: `passes` holds, `fails` holds, or neither does.

    Both are gate expressions, or say in how many repeats a condition holds. Without `fails`, what does not pass fails.
    A `secondary` criterion is shown and does not decide.
    """

    name: str
    passes: str
    fails: str | None = None
    secondary: bool = False
    about: str = ""


@dataclass(frozen=True, slots=True)
class Component:
    """One weighed part of the score.

    `scorer` is an instance of a registered scorer. `when_unknown` is the declared policy for a case whose truth is
    missing: "skip" takes the weight out, "say_unknown" asks the answer to say so in words, None means that such a
    case is a mistake in the suite. A value below `wrong_below` is a finding with `code`.
    """

    name: str
    scorer: Any
    weight: float = 1.0
    when_unknown: str | None = None
    wrong_below: float = 0.5
    code: str = ""
    scale: tuple[float, float] = (0.0, 1.0)
    scorer_name: str = ""
    """The name the scorer is registered under; "" for one that a suite brought along."""
    source: str = ""
    """A hash of the file of a scorer that a suite file names as `python`; "" for others."""


@dataclass(frozen=True, slots=True)
class AnswerShape:
    """What an answer must look like: `text`, or `json` that fits `schema`."""

    format: str = "text"
    schema: dict[str, Any] | None = None
    repair: bool = True
    """Whether JSON that is not quite valid may be mended; the rung says when it was."""


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """A target by kind with its validated settings (a pydantic model of that kind)."""

    kind: str
    settings: Any


@dataclass(frozen=True, slots=True)
class AuditLimits:
    """How much an answer that knows nothing may earn, and how much the truth must earn, as fractions."""

    null_share: float = 0.05
    null_share_strict: float | None = None
    null_passes: float = 0.0
    wrong_share: float = 0.5
    truth_share: float = 0.99


@dataclass(frozen=True, slots=True)
class Limits:
    """Engine limits that belong to the suite; the command line may tighten or widen them."""

    concurrency: int = 8
    timeout: float = 60.0
    retries: int = 3
    requests_per_second: float | None = None
    max_cost: float | None = None
    max_inconclusive: float = 0.05
    max_pixels: int = 64_000_000
    warm_up: int = 0
    """Calls before the clock starts, whose answers are thrown away."""
    rate: float | None = None
    """Calls a second under an open load, come what may; None for a closed load, `concurrency` at a time."""


class Hold(StrEnum):
    """In how many repeats of a case a check must pass."""

    ALL = "all"
    MAJORITY = "majority"
    FIRST = "first"


@dataclass(frozen=True, slots=True)
class StabilityRules:
    """What repeats of the same question should bring again."""

    items: str
    """Path to the list in the answer."""
    key: str
    """Path in an item: items with the same key are held against each other."""
    fields: dict[str, str] = field(default_factory=dict)
    """Path in an item, with how two values are held against each other: `equal` or `overlap`."""

    def as_data(self) -> dict[str, Any]:
        """As plain data, for the signature and for reports."""
        return {"items": self.items, "key": self.key, "fields": dict(self.fields)}


SMALLEST_SECONDS, SMALLEST_SHARE = 0.005, 0.05
"""What a change of latency must exceed to matter, where a suite does not say otherwise."""


@dataclass(frozen=True, slots=True)
class LatencyRules:
    """Times that look wrong, in seconds; None where nothing looks wrong."""

    below: float | None = None
    """A median below this looks like an answer that no system gave much thought."""
    above: float | None = None
    """A median above this looks like loading, or a queue."""
    smallest: float = SMALLEST_SECONDS
    """Seconds that a change must exceed to be better or worse."""
    smallest_share: float = SMALLEST_SHARE
    """The share of what it was that a change of latency or cost must exceed, too."""

    def as_data(self) -> dict[str, Any]:
        """As a run's header keeps it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class SuiteModel:
    """A validated suite. Built by `suite.load` from a file and by `steelyard.Suite` from Python."""

    name: str
    folder: Path
    path: str
    cases: CaseSource
    target: TargetSpec
    components: tuple[Component, ...]
    about: str = ""
    answer: AnswerShape = AnswerShape()
    passing: Threshold | None = None
    bands: tuple[Band, ...] = ()
    """Best first."""
    gates: tuple[str, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    variants: tuple[Variant, ...] = (Variant(),)
    repeats: int = 1
    taxonomy: tuple[FindingKind, ...] = ()
    """In the order of detection: an error that fits several codes gets the first."""
    limits: Limits = Limits()
    audit: AuditLimits = AuditLimits()
    prompts: dict[str, str] = field(default_factory=dict)
    """Every prompt text the suite uses, by name, for the signature."""
    survey: CaseSurvey = CaseSurvey()
    targets: dict[str, TargetSpec] = field(default_factory=dict)
    """Further targets by the name `--target` chooses them with."""
    version: str = ""
    """The suite's own version, when it declares one."""
    judge: JudgeModel | None = None
    """None for a suite that only computes."""
    confidence: ConfidenceRules | None = None
    """How confidences in answers are looked at; None, and the usual buckets hold."""
    redactor: Any = None
    """A `Redactor`, which takes personal data out of whatever is stored or sent; None, and nothing is taken out."""
    snapshots: Any = None
    """Snapshots in a shape of the suite's own: a `SnapshotFormat`, or its place; None when it has none."""
    hold: Hold = Hold.ALL
    """In how many repeats a check must pass where it does not say so itself; of no matter without `expect`."""
    stability: StabilityRules | None = None
    """None when repeats are not compared item by item."""
    latency: LatencyRules = LatencyRules()
    """Medians that look wrong; they make a run suspect and, as gates, are no part of the instrument."""
    alerts: AlertSettings | None = None
    """What people are told of after a run; None when the suite does not say."""
    ledger: tuple[LedgerLine, ...] = ()
    """Why truth and scorers are what they are, as the file beside the suite file has it."""
