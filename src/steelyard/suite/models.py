"""The suite's models: the schema of its file, what the rest of the house works with, and what a run stores of it.

`SuiteModel` is all three: a file is validated by it, `suite.build` puts what is built of a file in the place of what
is written, and a run's header keeps its `data`.
"""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SkipValidation,
    ValidationInfo,
    WithJsonSchema,
    field_serializer,
    field_validator,
    model_validator,
)

from steelyard.frozen import frozen, values_of
from steelyard.suite.case import CaseSource, CaseSurvey
from steelyard.suite.judge import JudgeModel
from steelyard.suite.paths import compile_path, compile_place
from steelyard.suite.values import (
    MIN_PAIRED,
    OPEN_CONCURRENCY,
    PASS_SCHEMA,
    PLACE_SCHEMA,
    UNWRITTEN,
    Anything,
    Band,
    Bands,
    Group,
    InFile,
    Key,
    Label,
    Rate,
    Scale,
    Seconds,
    Share,
    SlicePaths,
    SuitePart,
    Texts,
    Time,
    passing,
    raise_located,
)
from steelyard.wording import time_text

EXPECT = "expect"
"""The component of all checks, and the key that declares them."""
SCHEMA = "schema"
"""The check that an answer fits the suite's schema."""
PRESENCE = "presence"
"""What the share of items that come again is called; no field of `stability` may be called so."""
SMALLEST_SECONDS, SMALLEST_SHARE = 0.005, 0.05
"""What a change of latency must exceed to matter, where a suite does not say otherwise."""
_EMPTY: dict[str, Any] = {"default": {}}
"""The default of parts by name, as a file would write it."""
_NONE: dict[str, Any] = {"default": None}
_PLACES = Annotated[list[Any], WithJsonSchema({"type": "array", "items": PLACE_SCHEMA})]


class AnswerShape(SuitePart):
    """What an answer must look like; leave it out for plain text."""

    format: Literal["text", "json"] | None = Field(default=None, description="`json` is implied by a schema.")
    json_schema: str | dict[str, Anything] | None = Field(
        default=None, alias="schema", description="A JSON Schema that answers must fit: a file, or written here."
    )
    repair: bool = Field(default=True, description="Whether JSON that is not quite valid may be fixed.")

    @property
    def schema_data(self) -> dict[str, Any] | None:
        """The schema of a loaded suite, whose file is read."""
        return self.json_schema if isinstance(self.json_schema, dict) else None


class Threshold(SuitePart):
    """A fraction 0..1 that a score must reach, with the text it was written as."""

    at_least: float
    text: str


def _pass_rule(value: Any, info: ValidationInfo) -> Any:
    """The pass rule in `score >= 75 %` or a bare share of the score; data of a stored run as it is."""
    if info.context is None:
        return value
    at_least = passing(value)
    text = value.strip() if isinstance(value, str) else f"{value:g}"
    return Threshold(at_least=at_least, text=text if "score" in text else f"score >= {text}")


class Criterion(SuitePart):
    """One criterion: what passes, what fails, and between them what is ambiguous."""

    name: Key
    passes: str = Field(alias="pass", description="When it passes: a gate, or `valid in >= 2 of 3 repeats`.")
    fails: str | None = Field(
        default=None, alias="fail", description="When it fails; left out, whatever does not pass fails."
    )
    secondary: bool = Field(default=False, description="Shown, but the verdict does not depend on it.")
    about: str = Field(default="", description="What it means, or what to do when it fails.")


class FindingKind(SuitePart):
    """One kind of finding. Their order is the order of detection: an error that fits several codes gets the first."""

    code: Key
    name: str = Field(default="", description="What people call it.")
    about: str = Field(default="", description="What the code means, in a sentence.")
    severity: Literal["critical", "error", "major", "minor", "warning", "info"] = Field(
        default="error", description="How bad it is."
    )


class Limits(SuitePart):
    """Limits of a run; the command line may change them."""

    concurrency: int = Field(default=8, ge=1, le=10_000, description="Most calls at the same time.")
    timeout: float = Field(default=60.0, gt=0, description="Seconds before a call is given up.")
    retries: int = Field(default=3, ge=0, le=100, description="How often a failed call is tried again.")
    requests_per_second: float | None = Field(default=None, gt=0, description="Most calls a second.")
    max_cost: float | None = Field(default=None, gt=0, description="Stop when the calls have cost this much.")
    max_inconclusive: Share = Field(default=0.05, description="Above this share of failed samples a run is INVALID.")
    min_paired: Share = Field(
        default=MIN_PAIRED,
        description="With a smaller share of cases in pairs, a comparison gives no verdict.",
    )
    max_pixels: int = Field(default=64_000_000, ge=1, description="Most pixels of a picture; a larger one is not sent.")
    warm_up: int = Field(
        default=0, ge=0, le=10_000, description="Unmeasured calls before the run, whose answers are dropped."
    )
    rate: Rate | None = Field(
        default=None,
        description="Open load: calls a second, sent whether or not earlier ones were answered; 20/s or 90/min.",
    )
    outage: Time = Field(
        default=300.0, description="How long to wait for a system that stopped answering: 5m; 0: do not wait."
    )
    anchors: int = Field(
        default=20,
        ge=0,
        le=1_000,
        description="Answers of the baseline that a model judge scores again, to measure its drift; 0: none.",
    )

    @model_validator(mode="before")
    @classmethod
    def _open_load(cls, data: Any) -> Any:
        """An open load that names no concurrency gets one that should never be reached."""
        if isinstance(data, dict) and data.get("rate") is not None and "concurrency" not in data:
            return {**data, "concurrency": OPEN_CONCURRENCY}
        return data

    @model_validator(mode="after")
    def _is_one_load(self) -> Self:
        if self.rate is not None and self.requests_per_second is not None:
            raise ValueError(
                "rate (an open load) and requests_per_second (the limit of a closed load) exclude each other: give one"
            )
        return self


class AuditLimits(SuitePart):
    """How much an answer that knows nothing may earn, and how much the truth must."""

    null_share: Share = Field(default=0.05, description="Most that an empty or constant answer may earn.")
    null_share_strict: Share | None = Field(default=None, description="The same under strict scoring.")
    null_passes: Share = Field(default=0.0, description="Share of cases that such an answer may pass.")
    wrong_share: Share = Field(default=0.5, description="Most that another case's truth may earn.")
    truth_share: Share = Field(default=0.99, description="Least that the truth itself must earn.")


class Utility(SuitePart):
    """What one claim that is kept is worth; one that is dropped is worth 0."""

    right: float = Field(default=1.0, gt=0, allow_inf_nan=False, description="What a right claim is worth.")
    wrong: float = Field(default=-1.0, lt=0, allow_inf_nan=False, description="What a wrong one costs, below 0.")


class ConfidenceRules(SuitePart):
    """How confidences in answers are looked at; a suite whose answers carry none needs nothing of it."""

    buckets: Bands = Field(
        default=(Band(name="high", at_least=0.8), Band(name="medium", at_least=0.6), Band(name="low", at_least=0.0)),
        json_schema_extra={"minProperties": 1, "default": {"high": 0.8, "medium": 0.6, "low": 0.0}},
        description="Buckets of confidence by their lower end, the highest first and the last at 0.",
    )
    utility: Utility = Field(
        default=Utility(), description="What the best threshold is the best for: a right and a wrong claim."
    )
    bins: int = Field(default=10, ge=2, le=100, description="Equal parts of 0 to 1 for the calibration error.")

    @field_validator("buckets")
    @classmethod
    def _are_some(cls, buckets: tuple[Band, ...]) -> tuple[Band, ...]:
        if not buckets:
            raise ValueError("give at least one")
        return buckets

    @property
    def right(self) -> float:
        """What a right claim is worth."""
        return self.utility.right

    @property
    def wrong(self) -> float:
        """What a wrong claim costs, below 0."""
        return self.utility.wrong


class StabilityRules(SuitePart):
    """What repeats of the same question should bring again."""

    items: str = Field(
        min_length=1, description="Where the list of items is in the answer: a path, or a JSONPath that begins with $."
    )
    key: str = Field(
        description="Path in an item: items with the same key are compared with each other; empty for the item itself."
    )
    fields: dict[str, Literal["equal", "overlap"]] = Field(
        default={},
        description="Paths in an item, each with how two values are compared with each other: `equal`, or `overlap` of"
        " [start, end).",
    )

    @field_validator("items")
    @classmethod
    def _is_a_place(cls, text: str) -> str:
        compile_place(text)
        return text

    @field_validator("key")
    @classmethod
    def _is_a_path(cls, text: str) -> str:
        compile_path(text)
        return text

    @field_validator("fields")
    @classmethod
    def _are_paths(cls, fields: dict[str, Any]) -> dict[str, Any]:
        raise_located((problem, (name,)) for name in fields if (problem := _field_problem(name)))
        return fields


def _field_problem(name: str) -> str:
    if name == PRESENCE:
        return "is the share of items that come again: write a field of that name in quotes, '\"presence\"'"
    try:
        compile_path(name)
    except ValueError as error:
        return str(error)
    return ""


class LatencyRules(SuitePart):
    """Medians of answered calls that look wrong, which make a run suspect, and the smallest change that matters."""

    below: Seconds | None = Field(
        default=None, description="A median below this looks short-circuited or cached: 100 ms."
    )
    above: Seconds | None = Field(default=None, description="A median above this looks like loading or a queue: 10 s.")
    normal: Annotated[tuple[Seconds, Seconds], Field(strict=False)] | None = Field(
        default=None,
        description="What is normal, shown next to the median as a hint: [500 ms, 5 s]. It decides nothing.",
    )
    smallest: Seconds = Field(
        default=SMALLEST_SECONDS, description="A change of latency must exceed this to be better or worse: 5 ms."
    )
    smallest_share: Share = Field(
        default=SMALLEST_SHARE, description="A change of latency or cost must exceed this share, too: 5 %."
    )

    @model_validator(mode="after")
    def _leaves_room(self) -> Self:
        if self.below is not None and self.above is not None and self.below >= self.above:
            limits = f"below {time_text(self.below)} is not less than above {time_text(self.above)}"
            raise_located([(f"{limits}: every median would look wrong", ("below",))])
        if self.normal is not None and self.normal[0] > self.normal[1]:
            raise_located([("normal is [shortest, longest], and the first is longer than the second", ("normal",))])
        return self


class ComponentSettings(SuitePart):
    """What a component may say besides its scorer."""

    weight: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        default=1.0,
        description="How much it counts, relative to the other components; 0 is measured and does not count.",
    )
    when_unknown: Literal["skip", "say_unknown"] | None = Field(
        default=None,
        description="For cases without a truth: `skip` takes the weight out, `say_unknown` asks the answer to say so.",
    )
    wrong_below: Share = Field(default=0.5, description="A value below this is a finding.")
    code: str = Field(default="", description="The code of that finding; else the component's name in capitals.")
    scale: Scale = Field(default=(0.0, 1.0), description="Lowest and highest value the scorer gives.")


class MeasureSettings(SuitePart):
    """What a suite may say of a measure of a function."""

    scale: Scale = Field(default=(0.0, 1.0), description="Lowest and highest value of the measure.")


class MeasureDescription(SuitePart):
    """A ratio of two counts of a component, over all samples."""

    numerator: str
    denominator: str
    about: str = ""
    better: str = ""
    """`higher` or `lower`; "" when the scorer does not say."""


class MeanDescription(SuitePart):
    """The mean of several measures of a component."""

    of: Texts
    about: str = ""
    better: str = ""


class Component(ComponentSettings):
    """What a sample has a score of: a component, a judge's dimension or flag, or what else a judge says.

    `when_unknown` is the policy for a case whose truth is missing: None means that such a case is a mistake in the
    suite. A value below `wrong_below` is a finding with `code`. All else about a scorer is read from its instance.
    """

    name: str
    kind: Literal["component", "dimension", "flag", "stated"] = "component"
    scorer: Any = "judge"
    """An instance of a scorer; its name where a judge scores, and in what a run stores."""
    scorer_name: str = Field(default="", exclude=True)
    """The name the scorer is registered under; "" for one that a suite brought along."""
    version: int | str = 1
    params: dict[str, Any] = Field(default={})
    """The scorer's full parameters, defaults included."""
    strict: bool = False
    measures: dict[str, MeasureDescription] = Field(default={})
    means: dict[str, MeanDescription] = Field(default={})
    source: str = ""
    """A hash of the file of a scorer that a suite file names as `python`; "" for others."""
    figure: str = ""
    """What the suite calls what a judge says besides its scores; "" for all else."""
    key: str = ""
    about: str = ""

    @model_validator(mode="before")
    @classmethod
    def _as_its_scorer_is(cls, data: Any) -> Any:
        scorer = data.get("scorer", "") if isinstance(data, dict) else ""
        if isinstance(scorer, str):
            return data
        measures = {
            name: {key: getattr(ratio, key, "") for key in MeasureDescription.model_fields}
            for name, ratio in getattr(scorer, "measures", {}).items()
        }
        means = {
            name: {"of": tuple(mean.of), "about": mean.about, "better": mean.better}
            for name, mean in getattr(scorer, "means", {}).items()
        }
        version, strict = getattr(scorer, "version", 1), bool(getattr(scorer, "strict", False))
        read = {"version": version, "strict": strict, "params": parameters(scorer)}
        return read | {"measures": measures, "means": means} | data

    @field_serializer("scorer")
    def _named(self, scorer: Any) -> str:
        cls = type(scorer)
        return scorer if isinstance(scorer, str) else self.scorer_name or f"{cls.__module__}:{cls.__qualname__}"

    @property
    def finding_code(self) -> str:
        """The code of its findings, which it makes when its value counts as wrong."""
        return self.code or self.name.upper()

    def scored_by(self, scorer: Any) -> Component:
        """The same component with another instance of its scorer."""
        settings = values_of(self, "name", "scorer_name", "source")
        return Component(**settings, **values_of(self, *ComponentSettings.model_fields), scorer=scorer)


def parameters(scorer: Any) -> dict[str, Any]:
    """A scorer's parameters as plain data."""
    if isinstance(scorer, BaseModel):
        return scorer.model_dump(mode="json", by_alias=True, warnings=False)
    return {name: repr(value) for name, value in sorted(getattr(scorer, "__dict__", {}).items())}


class RequiredRepeats(StrEnum):
    """In how many repeats of a case a check must pass."""

    ALL = "all"
    MAJORITY = "majority"
    FIRST = "first"


class CheckDescription(SuitePart):
    """One declared check: its code, and in how many repeats it must pass."""

    name: str
    code: str = ""
    required_repeats: Annotated[RequiredRepeats, Field(strict=False)] = RequiredRepeats.ALL


class ExpectDescription(SuitePart):
    """The declared checks in their order, and in how many repeats they must pass where they do not say."""

    required_repeats: Annotated[RequiredRepeats, Field(strict=False)] = RequiredRepeats.ALL
    checks: tuple[CheckDescription, ...] = ()


@frozen
class Variant:
    """One point of the grid of factors, for instance a prompt; `name` is "" when the suite has no variants."""

    name: str = ""
    values: dict[str, Any] = field(default_factory=dict)


def levels_of(name: str) -> dict[str, str]:
    """Factor to level of a variant such as `prompt=short, heat=0`; nothing when the name does not tell."""
    pairs = [part.partition("=") for part in name.split(", ")]
    return {key: level for key, _, level in pairs} if all(sign for _, sign, _ in pairs) else {}


@frozen
class TargetSpec:
    """A target by kind with its validated settings (a pydantic model of that kind)."""

    kind: str
    settings: Any
    name: str = ""
    """Its key under `targets`, or the name that it declares; "" without one."""


def _as_data(value: Any) -> Any:
    return value.as_data() if hasattr(value, "as_data") else value


class PlannedCheck(BaseModel):
    """A check that a case asks for, with the ends of its range where it has one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    low: float | None = None
    high: float | None = None


class UncalledCase(BaseModel):
    """A case that a run planned under a variant and never called, with the checks that it asks for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    case_id: str
    variant: str = ""
    about: str = ""
    checks: tuple[PlannedCheck, ...] = ()


VariantByName = Annotated[
    Variant,
    BeforeValidator(lambda value: Variant(value) if isinstance(value, str) else value),
    PlainSerializer(lambda variant: variant.name),
]
"""A variant, of which a run stores the name alone."""
OwnData = Annotated[Any, PlainSerializer(_as_data)]
"""What says itself how a run stores it."""


class SuiteModel(SuitePart):
    """A suite: cases, a target, how answers are scored, and when the result is good enough.

    It is the schema of suite files, what `suite.load` and `steelyard.Suite` build, and what every run stores: a header
    has it as plain data (`data`), so that reports, gates and comparisons need no suite file. What only the process has
    that loaded it (code, cases, settings of targets) is not stored.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: Annotated[str, InFile(Annotated[str, Field(min_length=1, max_length=100)], needed=True)] = Field(
        default="", validation_alias="suite", description="The suite's name."
    )
    about: str = Field(default="", description="What is scored, in a sentence.")
    version: Label = Field(default="", description="The suite's own version, for people.")
    cases: Annotated[SkipValidation[CaseSource], InFile(Anything)] = Field(
        default=(), exclude=True, json_schema_extra=_NONE, description="Where the cases are."
    )
    target: Annotated[TargetSpec, InFile(Anything)] = Field(
        default=TargetSpec("", None),
        exclude=True,
        json_schema_extra=_NONE,
        description="The system under test: one kind with its settings, and if you like its name.",
    )
    targets: Annotated[dict[str, TargetSpec], InFile(dict[str, Anything])] = Field(
        default={}, exclude=True, description="Further targets, chosen by name with --target."
    )
    allow: Texts = Field(default=(), description="Places outside the folder that cases and answers may be read from.")
    answer: AnswerShape = Field(default=AnswerShape(), description="What an answer must look like; else plain text.")
    components: Annotated[tuple[Component, ...], InFile(dict[str, Anything])] = Field(
        default=(),
        validation_alias="score",
        json_schema_extra=_EMPTY,
        description="The components of the score: a scorer each, with its weight.",
    )
    """What a sample has a score of; with a judge its dimensions, flags, and the figures of what else it says too."""
    expect: Annotated[ExpectDescription | None, InFile(dict[str, Anything])] = Field(
        default=None,
        json_schema_extra=_EMPTY,
        description="Checks of an answer by name, each of one kind: passed, failed or not run.",
    )
    required_repeats: Literal["all", "majority", "first"] | None = Field(
        default=None,
        exclude=True,
        description="In how many repeats of a case a check of `expect` must pass; left out, in all.",
    )
    judge: Annotated[JudgeModel | None, InFile(Anything)] = Field(
        default=None, description="Judging with a rubric, by a language model or by code."
    )
    redactor: Annotated[Any, InFile(Anything)] = Field(
        default=None,
        exclude=True,
        validation_alias="redact",
        description="Which personal data is taken out of whatever is stored or sent; left out, none.",
    )
    confidence: ConfidenceRules | None = Field(
        default=None, description="How confidences in answers are evaluated: buckets, and what a claim is worth."
    )
    stability: StabilityRules | None = Field(
        default=None, description="What repeats of a question are compared by: items, their key and fields."
    )
    latency: Annotated[LatencyRules, BeforeValidator(lambda value: LatencyRules() if value is None else value)] = Field(
        default=LatencyRules(),
        description="Medians of answered calls that look wrong, and make a run suspect: below and above.",
    )
    alerts: Annotated[OwnData, InFile(Anything)] = Field(
        default=None, description="Alerts after a run: rules and channels."
    )
    """`AlertSettings`; plain data in what a run stores."""
    taxonomy: Annotated[tuple[FindingKind, ...], Group()] = Field(
        default=(),
        validation_alias="findings",
        json_schema_extra=_EMPTY,
        description="The taxonomy: what each code of a finding means.",
    )
    """In the order of detection: an error that fits several codes gets the first."""
    bands: Bands = Field(
        default=(), json_schema_extra=_EMPTY, description="Ratings by the score they start at, the lowest at 0."
    )
    passing: Annotated[Threshold, BeforeValidator(_pass_rule), WithJsonSchema(PASS_SCHEMA)] | None = Field(
        default=None, validation_alias="pass", description="When a sample passes: score >= 75 %."
    )
    """With all that a sample must not be flagged with."""
    criteria: Annotated[tuple[Criterion, ...], Group()] = Field(
        default=(),
        json_schema_extra=_EMPTY,
        description="Named conditions of a release with three outcomes: pass, fail and between them.",
    )
    metrics: Annotated[tuple[dict[str, Any], ...], InFile(_PLACES)] = Field(
        default=(), description="Metrics of your own over all samples of a run, each as module:function."
    )
    gates: Texts = Field(default=(), description="What a run must reach for a release: pass_rate >= 90 %.")
    slices: SlicePaths = Field(default=(), description="Fields of the cases that figures are given by: input.language.")
    variants: Annotated[tuple[VariantByName, ...], InFile(dict[str, list[Anything]])] = Field(
        default=(Variant(),),
        json_schema_extra=_EMPTY,
        description="Factors with their values; all are combined.",
    )
    repeats: Annotated[int, InFile(Annotated[int, Field(ge=1, le=10_000)])] = Field(
        default=1, description="How often each case is asked under each variant."
    )
    limits: Limits = Field(default=Limits(), description="Limits of a run.")
    audit: AuditLimits = Field(default=AuditLimits(), description="What `audit` allows.")
    snapshots: Annotated[Any, InFile(Annotated[Any, WithJsonSchema(PLACE_SCHEMA)])] = Field(
        default=None,
        exclude=True,
        description="Snapshots in a shape of your own, module:Name, for `import` and `export` --suite.",
    )

    usual_repeats: Annotated[int | None, UNWRITTEN] = None
    """What the suite declares, in a run; None where nobody knows."""
    n_cases: Annotated[int | None, UNWRITTEN] = None
    n_pending: Annotated[int, UNWRITTEN] = 0
    """Cases of the suite whose truth is pending: not in `n_cases`, and in no figure."""
    n_pending_known: Annotated[int, UNWRITTEN] = 0
    """Those of them that have all of the truth that scorers read, and are called pending all the same."""
    pending_of: Annotated[str, UNWRITTEN] = ""
    """The name of the suite whose pending cases this is, for people to find their truth; "" of any other suite."""
    n_planned: Annotated[int | None, UNWRITTEN] = None
    uncalled: Annotated[tuple[UncalledCase, ...], UNWRITTEN] = ()
    """Of a run that stopped before its end: its cases that were never called, at most 1,000."""
    without_truth: Annotated[Texts, UNWRITTEN] = ()
    ledger: Annotated[tuple[OwnData, ...], UNWRITTEN] = ()
    """Why truth and scorers are what they are, as the file next to the suite file has it: `LedgerLine`s."""

    folder: Annotated[Path, UNWRITTEN] = Field(default=Path(), exclude=True)
    path: Annotated[str, UNWRITTEN] = Field(default="", exclude=True)
    prompts: Annotated[dict[str, str], UNWRITTEN] = Field(default={}, exclude=True)
    """Every prompt text the suite uses, by name, for the signature."""
    survey: Annotated[SkipValidation[CaseSurvey], UNWRITTEN] = Field(default=CaseSurvey(), exclude=True)
    other_cases: Annotated[str, UNWRITTEN] = Field(default="", exclude=True)
    """The folder or file whose cases are read instead of those that the suite declares; "" when there is none."""

    @model_validator(mode="before")
    @classmethod
    def _without_gaps(cls, data: Any, info: ValidationInfo) -> Any:
        """What a run leaves open has its default, and without variants it has the one that has no name."""
        if info.context is not None or not isinstance(data, dict):
            return data
        return {key: value for key, value in data.items() if value is not None and (value or key != "variants")}

    @property
    def computed(self) -> tuple[Component, ...]:
        """The components that a scorer scores."""
        return tuple(component for component in self.components if component.kind == "component")

    @property
    def variant_factors(self) -> dict[str, dict[str, str]]:
        """Of variants of several factors, each factor that has several levels: by variant, its level."""
        levels = {name: levels_of(name) for name in self.variant_names}
        factors = list(next(iter(levels.values()), {}))
        if len(factors) < 2 or any(list(item) != factors for item in levels.values()):
            return {}
        results = {factor: {name: item[factor] for name, item in levels.items()} for factor in factors}
        return {factor: by_name for factor, by_name in results.items() if len({*by_name.values()}) > 1}

    @property
    def variant_names(self) -> tuple[str, ...]:
        """The names of the variants, "" for the only one."""
        return tuple(variant.name for variant in self.variants)

    @property
    def n_units(self) -> int:
        """How many cases there are, or clusters of cases."""
        return len({case.unit for case in self.cases}) if self.survey.n_clusters else self.survey.n

    def changed(self, **changes: Any) -> SuiteModel:
        """The same suite with other values of these fields."""
        return self.model_copy(update=changes)
