"""A suite as plain data: what is stored with every run, so that reports need no suite file."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from steelyard.suite.describe_judge import describe_judge, judged_components, said_components
from steelyard.suite.expectations import EXPECT, SCHEMA
from steelyard.suite.model import Component, Criterion, FindingKind, SuiteModel
from steelyard.suite.taxonomy import FORMAT


def describe(suite: SuiteModel) -> dict[str, Any]:
    """Everything about the suite that reports, gates and comparisons read, as JSON-able data."""
    return {
        "name": suite.name,
        "about": suite.about,
        "version": suite.version,
        "components": _components(suite),
        "bands": [{"name": band.name, "at_least": band.at_least} for band in suite.bands],
        "passing": _passing(suite),
        "gates": list(suite.gates),
        "taxonomy": [_kind(kind) for kind in suite.taxonomy],
        "criteria": [_criterion(criterion) for criterion in suite.criteria],
        "variants": [variant.name for variant in suite.variants],
        "repeats": suite.repeats,
        "max_inconclusive": suite.limits.max_inconclusive,
        "answer": {"format": suite.answer.format, "schema": suite.answer.schema, "repair": suite.answer.repair},
        "judge": None if suite.judge is None else describe_judge(suite.judge),
        "confidence": None if suite.confidence is None else suite.confidence.as_data(),
        "expect": _expectations(suite),
        "stability": None if suite.stability is None else suite.stability.as_data(),
        "latency": suite.latency.as_data(),
    }


def _components(suite: SuiteModel) -> list[dict[str, Any]]:
    """What a sample has a score of: components, dimensions, flags, and the figures of what else a judge says."""
    computed = [describe_component(component) | {"kind": "component"} for component in suite.components]
    if suite.judge is None:
        return computed
    return computed + judged_components(suite.judge.rubric) + said_components(suite.judge)


def _expectations(suite: SuiteModel) -> dict[str, Any] | None:
    """The declared checks in their order, each with its code and how often it must pass; None without `expect`."""
    expect = next((one.scorer for one in suite.components if one.scorer_name == EXPECT), None)
    if expect is None:
        return None
    checks = [
        {"name": name, "code": expect.code_of(name), "hold": str(rule.hold or suite.hold)}
        for name, rule in expect.checks.items()
    ]
    schema = [{"name": SCHEMA, "code": FORMAT, "hold": str(suite.hold)}] if expect.with_schema else []
    return {"hold": str(suite.hold), "checks": schema + checks}


def _passing(suite: SuiteModel) -> dict[str, Any] | None:
    """The pass rule with all that a sample must not be flagged with."""
    if suite.passing is None:
        return None
    flags = [flag.name for flag in suite.judge.rubric.flags if flag.fails] if suite.judge else []
    text = suite.passing.text + "".join(f" and no {name}" for name in flags)
    return {"at_least": suite.passing.at_least, "text": text}


def describe_component(component: Component) -> dict[str, Any]:
    """One component with its scorer's full parameters, defaults included."""
    described = {
        "name": component.name,
        "weight": component.weight,
        "scorer": scorer_name(component),
        "version": getattr(component.scorer, "version", 1),
        "params": parameters(component.scorer),
        "code": component.code,
        "scale": list(component.scale),
        "when_unknown": component.when_unknown,
        "wrong_below": component.wrong_below,
        "strict": bool(getattr(component.scorer, "strict", False)),
        "measures": {
            name: {"numerator": measure.numerator, "denominator": measure.denominator, "about": measure.about}
            | ({"better": measure.better} if getattr(measure, "better", "") else {})
            for name, measure in getattr(component.scorer, "measures", {}).items()
        },
    }
    # A scorer without means has the name that it had before there were any.
    if means := getattr(component.scorer, "means", {}):
        described["means"] = {
            name: {"of": list(mean.of), "about": mean.about} | ({"better": mean.better} if mean.better else {})
            for name, mean in means.items()
        }
    return described | {"source": component.source} if component.source else described


def _kind(kind: FindingKind) -> dict[str, Any]:
    return {"code": kind.code, "name": kind.name, "about": kind.about, "severity": kind.severity}


def _criterion(criterion: Criterion) -> dict[str, Any]:
    return {
        "name": criterion.name,
        "pass": criterion.passes,
        "fail": criterion.fails,
        "secondary": criterion.secondary,
        "about": criterion.about,
    }


def scorer_name(component: Component) -> str:
    """The registered name, or the class of a scorer that a Python suite brought along."""
    if component.scorer_name:
        return component.scorer_name
    return f"{type(component.scorer).__module__}:{type(component.scorer).__qualname__}"


def parameters(scorer: Any) -> dict[str, Any]:
    """A scorer's parameters as plain data."""
    if isinstance(scorer, BaseModel):
        return scorer.model_dump(mode="json", by_alias=True)
    return {name: repr(value) for name, value in sorted(getattr(scorer, "__dict__", {}).items())}
