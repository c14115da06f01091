"""The suite file, key by key: what each may hold and what it means. The published schema is made from this."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from steelyard.suite.rate import OPEN_CONCURRENCY, parse_rate
from steelyard.suite.shares import passing, share

_SHARE_TEXT = {"type": "string", "pattern": r"^\s*[0-9.]+\s*%?\s*$", "examples": ["75 %"]}
_SHARE_SCHEMA = {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, _SHARE_TEXT]}
_PASS_SCHEMA = {
    "anyOf": [
        {"type": "string", "pattern": r"^\s*(score\s*>=\s*)?[0-9.]+\s*%?\s*$", "examples": ["score >= 75 %"]},
        {"type": "number", "minimum": 0, "maximum": 1},
    ]
}

_RATE_TEXT = {"type": "string", "pattern": r"^\s*[0-9.]+\s*((/|per|a)\s*[a-z]+)?\s*$", "examples": ["20/s", "90/min"]}
_RATE_SCHEMA = {"anyOf": [_RATE_TEXT, {"type": "number", "exclusiveMinimum": 0}]}

PLACE_SCHEMA = {"type": "string", "pattern": r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$", "examples": ["my_module:Name"]}


def _pass_rule(value: Any) -> Any:
    passing(value)
    return value if isinstance(value, str) else f"score >= {value:g}"


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


Rate = Annotated[float, BeforeValidator(parse_rate), WithJsonSchema(_RATE_SCHEMA)]
Share = Annotated[float, BeforeValidator(share), WithJsonSchema(_SHARE_SCHEMA)]
PassRule = Annotated[str, BeforeValidator(_pass_rule), WithJsonSchema(_PASS_SCHEMA)]
Label = Annotated[str, BeforeValidator(_text), WithJsonSchema({"type": ["string", "number"]})]
Anything = Annotated[Any, WithJsonSchema({})]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)


class CasesPart(_Part):
    """Where the cases are and how a record becomes a case."""

    files: str | list[str] | None = Field(
        default=None, description="One file, a list of files or a glob: .yaml .json .jsonl .csv .parquet."
    )
    folder: str | None = Field(default=None, description="A folder with one file a case, instead of `files`.")
    glob: str = Field(default="*", description="Which files of the folder are cases.")
    at: str = Field(default="", description="Where the list of cases is inside a JSON or YAML document: a path.")
    map: dict[str, Anything] = Field(
        default={},
        description="How a record of another shape becomes a case: path, constant, unit or template.",
    )


class AnswerPart(_Part):
    """What an answer must look like; leave it out for plain text."""

    format: Literal["text", "json"] | None = Field(default=None, description="`json` is implied by a schema.")
    schema_: str | dict[str, Anything] | None = Field(
        default=None, alias="schema", description="A JSON Schema that answers must fit: a file, or written here."
    )
    repair: bool = Field(default=True, description="Whether JSON that is not quite valid may be mended.")


class CriterionPart(_Part):
    """One criterion: what passes, what fails, and between them what is ambiguous."""

    pass_: str = Field(alias="pass", description="When it passes: a gate, or `valid in >= 2 of 3 repeats`.")
    fail: str | None = Field(default=None, description="When it fails; left out, whatever does not pass fails.")
    secondary: bool = Field(default=False, description="Shown, but the verdict does not depend on it.")
    about: str = Field(default="", description="What it means, or what to do when it does not hold.")


class ComponentPart(_Part):
    """What a component may say besides its scorer."""

    weight: float = Field(
        default=1.0,
        ge=0,
        allow_inf_nan=False,
        description="How much it counts, relative to the other components; 0 is measured and does not count.",
    )
    when_unknown: Literal["skip", "say_unknown"] | None = Field(
        default=None,
        description="For cases without a truth: `skip` takes the weight out, `say_unknown` asks the answer to say so.",
    )
    wrong_below: Share = Field(default=0.5, description="A value below this is a finding.")
    code: str = Field(default="", description="The code of that finding; else the component's name in capitals.")
    scale: list[float] = Field(
        default=[0.0, 1.0], min_length=2, max_length=2, description="Lowest and highest value the scorer gives."
    )


class FindingPart(_Part):
    """One kind of finding. Their order is the order of detection: an error that fits several codes gets the first."""

    name: str = Field(default="", description="What people call it.")
    about: str = Field(default="", description="What the code means, in a sentence.")
    severity: Literal["critical", "error", "major", "minor", "warning", "info"] = Field(
        default="error", description="How bad it is."
    )


class LimitsPart(_Part):
    """Limits of a run; the command line may change them."""

    concurrency: int = Field(default=8, ge=1, le=10_000, description="Most calls at the same time.")
    timeout: float = Field(default=60.0, gt=0, description="Seconds before a call is given up.")
    retries: int = Field(default=3, ge=0, le=100, description="How often a failed call is tried again.")
    requests_per_second: float | None = Field(default=None, gt=0, description="Most calls a second.")
    max_cost: float | None = Field(default=None, gt=0, description="Stop when the calls have cost this much.")
    max_inconclusive: Share = Field(default=0.05, description="Above this share of failed samples a run is INVALID.")
    max_pixels: int = Field(default=64_000_000, ge=1, description="Most pixels of a picture; a larger one is not sent.")
    warm_up: int = Field(
        default=0, ge=0, le=10_000, description="Calls before the clock starts, whose answers are thrown away."
    )
    rate: Rate | None = Field(
        default=None, description="Open load: calls that fall due each second, whatever came back; 20/s or 90/min."
    )

    @model_validator(mode="after")
    def _is_one_load(self) -> Self:
        if self.rate is not None and self.requests_per_second is not None:
            raise ValueError(
                "rate (an open load) and requests_per_second (the most of a closed load) are two loads: keep one"
            )
        return self

    @property
    def most_under_way(self) -> int:
        """The concurrency; under an open load that names none, one that should never be reached."""
        open_load = self.rate is not None and "concurrency" not in self.model_fields_set
        return OPEN_CONCURRENCY if open_load else self.concurrency


class AuditPart(_Part):
    """How much an answer that knows nothing may earn, and how much the truth must."""

    null_share: Share = Field(default=0.05, description="Most that an empty or constant answer may earn.")
    null_share_strict: Share | None = Field(default=None, description="The same under strict scoring.")
    null_passes: Share = Field(default=0.0, description="Share of cases that such an answer may pass.")
    wrong_share: Share = Field(default=0.5, description="Most that another case's truth may earn.")
    truth_share: Share = Field(default=0.99, description="Least that the truth itself must earn.")


class SuitePart(_Part):
    """A suite: cases, a target, how answers are weighed, and when the result is good enough."""

    suite: str = Field(min_length=1, max_length=100, description="The suite's name.")
    about: str = Field(default="", description="What is weighed, in a sentence.")
    version: Label = Field(default="", description="The suite's own version, for people.")
    cases: Anything = Field(default=None, description="Where the cases are.")
    target: Anything = Field(default=None, description="The system under test: one kind with its settings.")
    targets: dict[str, Anything] = Field(default={}, description="Further targets, chosen by name with --target.")
    answer: AnswerPart = Field(default=AnswerPart(), description="What an answer must look like; else plain text.")
    score: dict[str, Anything] = Field(
        default={}, description="The components of the score: a scorer each, with its weight."
    )
    expect: dict[str, Anything] = Field(
        default={}, description="Checks of an answer by name, each of one kind: passed, failed or not run."
    )
    hold: Literal["all", "majority", "first"] | None = Field(
        default=None, description="In how many repeats of a case a check of `expect` must pass; left out, in all."
    )
    judge: Anything = Field(default=None, description="Judging with a rubric, by a language model or by code.")
    redact: Anything = Field(
        default=None, description="Which personal data is taken out of whatever is stored or sent; left out, none."
    )
    confidence: Anything = Field(
        default=None, description="How confidences in answers are looked at: buckets, and what a claim is worth."
    )
    stability: Anything = Field(
        default=None, description="What repeats of the same question should bring again: items, their key and fields."
    )
    latency: Anything = Field(
        default=None, description="Medians of answered calls that look wrong, and make a run suspect: below and above."
    )
    findings: dict[str, FindingPart] = Field(default={}, description="The taxonomy: what each code of a finding means.")
    bands: dict[str, Share] = Field(default={}, description="Ratings by the score they start at, the lowest at 0.")
    pass_: PassRule | None = Field(default=None, alias="pass", description="When a sample passes: score >= 75 %.")
    criteria: dict[str, CriterionPart] = Field(
        default={}, description="Named conditions of a release with three outcomes: pass, fail and between them."
    )
    gates: list[str] = Field(default=[], description="What a run must reach for a release: pass_rate >= 90 %.")
    variants: dict[str, list[Anything]] = Field(default={}, description="Factors with their values; all are combined.")
    repeats: int = Field(default=1, ge=1, le=10_000, description="How often each case is asked under each variant.")
    limits: LimitsPart = Field(default=LimitsPart(), description="Limits of a run.")
    audit: AuditPart = Field(default=AuditPart(), description="What `audit` allows.")
    snapshots: Annotated[Any, WithJsonSchema(PLACE_SCHEMA)] = Field(
        default=None, description="Snapshots in a shape of your own, module:Name, for `import` and `export` --suite."
    )
