"""A judge as data: rubric, rules, evidence, prompts and who judges, as the rest of the house sees it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from steelyard.records import Mode
from steelyard.suite.case import Case
from steelyard.suite.paths import compile_path


@dataclass(frozen=True, slots=True)
class Dimension:
    """One thing a judge scores, on the rubric's scale."""

    name: str
    about: str = ""
    meanings: dict[int, str] = field(default_factory=dict)
    """What each score means, highest first."""
    weight: float = 1.0
    """How much it counts in a sample's score; 0 is shown and does not count."""
    examples: dict[int, str] = field(default_factory=dict)
    """A calibration example for some of the scores."""
    needs: str = ""
    """Path to what a case must hold for this to be judged; where nothing is, it is not judged and counts nowhere."""


@dataclass(frozen=True, slots=True)
class Flag:
    """A yes or no that a judge says of a text; `fails` means that a flagged sample has not passed."""

    name: str
    about: str = ""
    triggers: tuple[str, ...] = ()
    fails: bool = True


@dataclass(frozen=True, slots=True)
class Rubric:
    """What is judged and on which scale."""

    dimensions: tuple[Dimension, ...]
    flags: tuple[Flag, ...] = ()
    low: int = 1
    high: int = 5
    neutral: int = 3
    """Where a judge starts; above it, evidence is asked for."""
    calibration: tuple[str, ...] = ()
    """Notes on how to use the scale."""
    version: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """All dimensions, then all flags."""
        return (*(one.name for one in self.dimensions), *(one.name for one in self.flags))


@dataclass(frozen=True, slots=True)
class BindingRule:
    """`when <condition> then <dimension> <= k and <flag>`: applied in code to whatever the judge says."""

    text: str
    holds: Callable[[Mapping[str, Any]], bool]
    """From the metrics by component to whether the condition is met; ValueError when one of them is no number."""
    caps: dict[str, float] = field(default_factory=dict)
    """The most that each named dimension may get."""
    raises: tuple[str, ...] = ()
    """The flags that are set."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Which quotes a judge owes."""

    place: str
    """The field of the answer that holds them: a text with quotes in it, a list of quotes, or one of either by
    dimension."""
    unproven: str = "neutral"
    """`neutral` binds a score above the neutral one without a quote to the neutral one; `report` only remarks."""
    fewest_words: int = 2
    """A shorter quote proves nothing, and is not checked."""
    dimensions: tuple[str, ...] = ()
    """Those that must be proven."""


@dataclass(frozen=True, slots=True)
class SaidMean:
    """A number that a judge says beyond its scores: its mean over the texts that have it is a figure."""

    figure: str
    """What the suite calls it."""
    key: str
    """Which of several of a kind it is; "" when there is one."""
    path: str
    """Where in the judge's answer it stands."""
    scale: tuple[float, float]
    about: str = ""

    @property
    def name(self) -> str:
        """What its scores and its figure are called."""
        return f"{self.figure}_{self.key}" if self.key else self.figure


@dataclass(frozen=True, slots=True)
class SaidCount:
    """Words that a judge says in a list beyond its scores: how often each is said is counted over all texts."""

    name: str
    words: tuple[str, ...]
    list_path: str
    """Where in the judge's answer the list stands."""
    word_path: str
    """Where in an element of it the word stands; "" when the element is the word."""
    about: str = ""


@dataclass(frozen=True, slots=True)
class JudgeSpec:
    """One judge by kind: `chat` with the settings of its connection, or `python` with the place of a function."""

    name: str
    kind: str
    settings: Any


@dataclass(frozen=True, slots=True)
class JudgeModel:
    """How answers are judged. Everything here but the health thresholds is part of the signature."""

    rubric: Rubric
    members: tuple[JudgeSpec, ...]
    """Who judges: one, or a panel."""
    system: str = ""
    """Template of the system message; see judging.prompt for the names it may use."""
    user: str = ""
    response: dict[str, Any] = field(default_factory=dict)
    """JSON Schema of an answer: reasons come before scores."""
    scores_in: str = ""
    """The field of the answer that holds the scores and flags; "" when they stand at its top."""
    shown: str = ""
    """Template of how what is judged is shown to a model; "" when it is shown as it is."""
    reasons: str = ""
    """The field of the answer that lists reasons or weaknesses; "" when none is asked for."""
    fewest_reasons: int = 0
    rules: tuple[BindingRule, ...] = ()
    evidence: Evidence | None = None
    of: str = ""
    """Which part of the answer is judged: a path; "" is the whole of it."""
    repeats: int = 1
    combine: str = "median"
    """`median` or `majority`, over repeats and members."""
    flags: str = "majority"
    """`majority` or `any`: when a panel's flag is set."""
    disagreement: float = 2.0
    """Scores of one text this far apart or farther are remarked on."""
    most_characters: int = 24_000
    """A longer text is shown by head and tail, and marked so."""
    ask_again: int = 1
    """How often a judge whose answer cannot be used is told why and asked again."""
    check: Any = None
    """A function of the suite, or its place: `(reply, text, case, metrics) -> Checked`. It holds what a judge complains
    of against what was judged; None when nothing of the kind is done."""
    means: tuple[SaidMean, ...] = ()
    counts: tuple[SaidCount, ...] = ()
    """What is made into figures beside the scores; it weighs nothing."""
    labels: str = ""
    """Path into the case to what a careful reviewer would say; never shown to a judge."""
    secrets: tuple[str, ...] = ()
    """Names of variables of the environment that hold secrets of judges in code; no part of the signature."""
    health: tuple[str, ...] = ()
    """Thresholds on the judge's health figures, for `judge check`."""
    judges: dict[str, JudgeSpec] = field(default_factory=dict)
    """Every judge the suite declares, by the name `--judge` chooses it with."""
    allow_self: bool = False
    """Whether the system under test may be its own judge."""

    @property
    def mode(self) -> Mode:
        """What kind of judge it is: code, or a language model. A panel is of one kind."""
        return Mode.RULES if all(member.kind == "python" for member in self.members) else Mode.MODEL

    def for_case(self, case: Case) -> JudgeModel:
        """The judge without the dimensions that need what this case does not hold; itself when there are none."""
        left_out = {
            one.name for one in self.rubric.dimensions if one.needs and _is_blank(compile_path(one.needs)(case))
        }
        if not left_out:
            return self
        kept = tuple(one for one in self.rubric.dimensions if one.name not in left_out)
        evidence = self.evidence and replace(
            self.evidence, dimensions=tuple(name for name in self.evidence.dimensions if name not in left_out)
        )
        response = _asking_less(self.response, left_out)
        if self.scores_in in response.get("properties", {}):
            inner = _asking_less(response["properties"][self.scores_in], left_out)
            response = response | {"properties": response["properties"] | {self.scores_in: inner}}
        return replace(self, rubric=replace(self.rubric, dimensions=kept), evidence=evidence, response=response)


def _is_blank(value: Any) -> bool:
    """True when nothing is there: missing, null, an empty list or group, an empty or blank text."""
    return not (value.strip() if isinstance(value, str) else value or value == 0)


def _asking_less(schema: dict[str, Any], left_out: Collection[str]) -> dict[str, Any]:
    """The schema of an object without these fields."""
    kept = {name: inner for name, inner in schema.get("properties", {}).items() if name not in left_out}
    required = [name for name in schema.get("required", ()) if name not in left_out]
    return schema | {"properties": kept, "required": required} if kept else schema
