"""A run in the shape of the seed's results file: the same fields, and beside them what the seed left out.

Every figure is the run's own: checks over all repeats, those that did not run in the denominator, stability over all
pairs of repeats, latency of every answered call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard import Case, RunHeader, Sample

SCHEMA_CHECK = "schema"
_POINTS = ("mean", "min", "max", "p50", "p95", "p99")
_HELD = {True: "held", False: "broken", None: "undecided"}


@dataclass(slots=True)
class Answers:
    """What is known of one case besides the run's figures."""

    description: str = ""
    counts: list[int] = field(default_factory=list)
    """Observations in each answer that could be read, in the order of the repeats."""
    models: set[str] = field(default_factory=set)


def document(header: RunHeader, samples: Iterable[tuple[Sample, Case]]) -> dict[str, Any]:
    """The run as one results document."""
    summary = header.summary or {}
    checks, stability, latency = (summary.get(name) or {} for name in ("checks", "stability", "latency"))
    answers = _answers(samples)
    stable = {_key(cell): cell for cell in stability.get("cells", ())}
    times = {_key(cell): cell for cell in latency.get("cells", ())}
    results = [
        _result(cell, answers[cell["case_id"]], stable.get(_key(cell)), times.get(_key(cell)))
        for cell in checks.get("cells", ())
    ]
    expectations = [one for result in results for one in result["expectation_results"]]
    # A case that was never asked has at least one expectation, and none of them is decided.
    unknown = checks.get("cells_unknown", 0)
    return {
        "backend": ", ".join(sorted({model for one in answers.values() for model in one.models})),
        "repeats": header.description.repeats,
        "cases_passed": checks.get("cells_held", 0),
        "cases_total": checks.get("n_cells", 0),
        "cases_undecided": checks.get("cells_undecided", 0),
        "expectations_passed": sum(one["passed"] for one in expectations),
        "expectations_total": len(expectations) + unknown,
        "expectations_undecided": sum(one["state"] == "undecided" for one in expectations) + unknown,
        "overall_latency": _latency(latency.get("overall"), latency),
        "overall_repeatability": _overall_stability(stability),
        "verdict": None if header.verdict is None else header.verdict.value,
        "suspect": list(header.suspect),
        "run": header.id,
        "results": results,
    }


def _key(cell: Mapping[str, Any]) -> tuple[str, str]:
    return cell["case_id"], cell["variant"]


def _answers(samples: Iterable[tuple[Sample, Case]]) -> defaultdict[str, Answers]:
    found: defaultdict[str, Answers] = defaultdict(Answers)
    for sample, case in samples:
        answers = found[case.id]
        answers.description = case.why
        if sample.items is not None:
            answers.counts.append(len(sample.items))
        if sample.attempt.model:
            answers.models.add(sample.attempt.model)
    return found


def _result(
    cell: Mapping[str, Any], answers: Answers, stable: Mapping[str, Any] | None, times: Mapping[str, Any] | None
) -> dict[str, Any]:
    schema = [check for check in cell["checks"] if check["name"] == SCHEMA_CHECK]
    result: dict[str, Any] = {
        "case_id": cell["case_id"] if not cell["variant"] else f"{cell['case_id']} ({cell['variant']})",
        "description": answers.description,
        "latency": _latency((times or {}).get("spread"), times or {}),
        "pass": cell["holds"] is True,
        "state": _HELD[cell["holds"]],
        "runs_clean": cell.get("clean", 0),
        "runs_decided": cell.get("decided", 0),
    }
    # As in the seed, a case that is to be refused has no observations to compare or to count.
    if schema:
        result["schema_valid"] = schema[0]["holds"]
        result["repeatability"] = _repeatability(stable)
        result["observation_counts"] = answers.counts
    result["expectation_results"] = [_expectation(one) for one in cell["checks"] if one["name"] != SCHEMA_CHECK]
    return result


def _expectation(check: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "check": check["name"],
        "passed": check["holds"] is True,
        "detail": check["detail"],
        "state": _HELD[check["holds"]],
        "runs_passed": check["passed"],
        "runs_failed": check["failed"],
        "runs_not_run": check["not_run"],
        **{name: check[name] for name in ("low", "high") if check.get(name) is not None},
    }


def _repeatability(stable: Mapping[str, Any] | None) -> dict[str, Any]:
    fields = (stable or {}).get("fields", {})
    return {
        "span_stability": _value(fields.get("span")),
        "severity_stability": _value(fields.get("severity")),
        "presence_stability": _value((stable or {}).get("presence")),
        "comparisons": (fields.get("severity") or {}).get("n", 0),
    }


def _overall_stability(stability: Mapping[str, Any]) -> dict[str, Any]:
    fields = stability.get("fields", {})
    return {
        "span_stability": _value(fields.get("span")),
        "severity_stability": _value(fields.get("severity")),
        "presence_stability": _value(stability.get("presence")),
        "comparisons": stability.get("comparisons", {}),
    }


def _value(estimate: Mapping[str, Any] | None) -> float | None:
    """None, and not 1.0, where there was nothing to compare."""
    return None if estimate is None else estimate["value"]


def _latency(spread: Mapping[str, Any] | None, beside: Mapping[str, Any]) -> dict[str, Any]:
    """Milliseconds of the answered calls; None where there were none."""
    points = {f"{name}_ms": _milliseconds((spread or {}).get(name)) for name in _POINTS}
    counted = {"n": (spread or {}).get("n", 0)}
    return points | counted | {name: beside.get(name, 0) for name in ("timeouts", "failures")}


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 1)
