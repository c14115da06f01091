"""The rules of alerts: what a suite or a project wants to be told of."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, field_validator

from steelyard.suite.baseline_names import BASELINE_SIGN, wrong_with_name
from steelyard.suite.file import Share
from steelyard.suite.gates import Gate, parse_gate

_SHARE_OR_TEXT = {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "examples": ["3 points", "200 ms"]}]}


class _Rule(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    kind: ClassVar[str]

    @property
    def label(self) -> str:
        """What tells this rule from the others of a suite; part of the name of every cause."""
        return self.kind


class GateFailed(_Rule):
    """A gate or criterion of the suite fails."""

    kind: ClassVar[str] = "gate_failed"

    secondary: bool = Field(default=False, description="Criteria that do not decide, too.")


class RunInvalid(_Rule):
    """The run is INVALID, or a health check finds it suspect."""

    kind: ClassVar[str] = "run_invalid"

    suspect: bool = Field(default=True, description="Suspect runs, too.")


class Regression(_Rule):
    """A figure is worse than it was, beyond noise."""

    kind: ClassVar[str] = "regression"

    metric: str = Field(
        default="", description="As gates name it, also of slices: category.*.average. Left out: pass_rate, or average."
    )
    against: str = Field(default="", description="A baseline, such as release. Left out: the window of earlier runs.")
    by: Annotated[str | float | None, WithJsonSchema(_SHARE_OR_TEXT)] = Field(
        default=None, description="The smallest change worth an alert: 3 points, 200 ms. Left out: any beyond noise."
    )
    worse: Literal["lower", "higher"] | None = Field(
        default=None, description="Which way is worse, for a figure of which nobody has said so. Left out: lower."
    )

    @field_validator("metric")
    @classmethod
    def _is_a_metric(cls, text: str) -> str:
        if text:
            figure_named(text)
        return text

    @field_validator("against")
    @classmethod
    def _is_a_name(cls, text: str) -> str:
        name = text.removeprefix(BASELINE_SIGN)
        if text and (wrong := wrong_with_name(name)):
            raise ValueError(wrong)
        return name

    @property
    def label(self) -> str:
        """Kind, metric and what it is held against."""
        return f"{self.kind} of {self.metric or 'the headline'} against {self.against or 'earlier runs'}"

    def least(self, unit: str) -> float:
        """The smallest change worth an alert, in the figure's own measure; ValueError when it cannot be read."""
        return least_change(self.by, unit)


class NewFinding(_Rule):
    """A finding code that no run of the window has."""

    kind: ClassVar[str] = "new_finding"

    samples: int = Field(default=1, ge=1, description="In how many samples it must be.")


class NewConfusion(_Rule):
    """One thing is taken for another that no run of the window took it for."""

    kind: ClassVar[str] = "new_confusion"

    samples: int = Field(default=2, ge=1, description="In how many samples it must be.")


class FlagRate(_Rule):
    """A flag of the judge, such as one for safety, is raised too often."""

    kind: ClassVar[str] = "flag_rate"

    flag: str = Field(default="", description="The flag. Left out: every flag of the rubric.")
    above: Share = Field(default=0.0, description="The share of texts that may carry it.")

    @property
    def label(self) -> str:
        """Kind and flag."""
        return f"{self.kind} of {self.flag}" if self.flag else self.kind


class JudgeDrift(_Rule):
    """The judge reads otherwise than it did: the same answers, or its own rules."""

    kind: ClassVar[str] = "judge_drift"

    by: Share = Field(default=0.0, description="The smallest shift on identical answers worth an alert: 2 %.")


class LatencyRise(_Rule):
    """Answers take longer than in earlier runs under the same load, beyond noise."""

    kind: ClassVar[str] = "latency_rise"

    metric: Literal["latency.p50", "latency.p95", "latency.p99", "latency.mean"] = Field(
        default="latency.p95", description="Which latency."
    )
    by: Share = Field(default=0.2, description="The smallest rise worth an alert, as a share of what it was.")

    @property
    def label(self) -> str:
        """Kind and metric."""
        return f"{self.kind} of {self.metric}"


class CostRise(_Rule):
    """A call costs more than in earlier runs, beyond noise."""

    kind: ClassVar[str] = "cost_rise"

    metric: Literal["cost", "tokens.in", "tokens.out"] = Field(default="cost", description="What is spent.")
    by: Share = Field(default=0.1, description="The smallest rise worth an alert, as a share of what it was.")

    @property
    def label(self) -> str:
        """Kind and metric."""
        return f"{self.kind} of {self.metric}"


Rule = GateFailed | RunInvalid | Regression | NewFinding | NewConfusion | FlagRate | JudgeDrift | LatencyRise | CostRise
RULES: dict[str, type[Rule]] = {
    rule.kind: rule
    for rule in (
        GateFailed,
        RunInvalid,
        Regression,
        NewFinding,
        NewConfusion,
        FlagRate,
        JudgeDrift,
        LatencyRise,
        CostRise,
    )
}


def figure_named(metric: str) -> Gate:
    """The figure that a metric names; ValueError with a sentence when it names none."""
    try:
        # A gate is a figure with a threshold, and any threshold does.
        return parse_gate(f"{metric} >= 0")
    except ValueError as error:
        raise ValueError(str(error).replace(f"gate '{metric} >= 0'", f"metric {metric!r}")) from None


def least_change(by: str | float | None, unit: str) -> float:
    """A change as it is written (`3 points`, `200 ms`, a number) in a figure's own measure; ValueError for others."""
    if by is None:
        return 0.0
    number, _, word = str(by).strip().partition(" ")
    shares = unit in ("share", "score")
    factor = (
        {"points": 0.01, "point": 0.01} if shares else {"": 1.0, "s": 1.0, "ms": 0.001} if unit == "s" else {"": 1.0}
    )
    if unit == "points":
        factor |= {"points": 1.0, "point": 1.0}
    word = word.strip()
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf") or word not in factor:
        shape = "3 points" if shares else "200 ms" if unit == "s" else "0.5"
        raise ValueError(f"by: {by} says nothing clear here: write for instance {shape}")
    return value * factor[word]
