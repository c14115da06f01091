"""What stands behind a figure, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from steelyard.analysis.explain import Behind, BehindPair, Computed, Counted, Explanation, PairExplanation
from steelyard.analysis.model import Estimate


def explanations_to_json(
    runs: Sequence[str], found: Sequence[Explanation | PairExplanation], limit: int | None
) -> dict[str, Any]:
    """All figures that were asked for; of the samples behind each as many as `limit` says, all without it."""
    return {"runs": list(runs), "explained": [_one(each, limit) for each in found]}


def _one(found: Explanation | PairExplanation, limit: int | None) -> dict[str, Any]:
    told: dict[str, Any] = {
        "metric": found.metric,
        "formula": found.formula,
        "how": found.how,
        "interval": found.interval,
        "agrees": found.agrees,
        "excluded": _counted(found.excluded),
        "order": found.order,
        "n_behind": len(found.behind),
    }
    rows = {"behind": [_row(each) for each in found.behind[:limit]]}
    if isinstance(found, PairExplanation):
        change = found.change
        sides = {
            side: {"reported": asdict(reported), "computed": _computed(again)}
            for side, reported, again in (("a", change.a, found.a), ("b", change.b, found.b))
        }
        difference = asdict(change.difference) | {
            "p": change.p,
            "p_adjusted": change.p_adjusted,
            "test": change.test,
            "verdict": change.verdict.value,
        }
        return told | {"unit": change.unit, "n_counts": found.of, **sides, "difference": difference, **rows}
    figures = {"reported": _estimate(found.reported), "computed": _computed(found.computed)}
    return (
        told
        | {"unit": found.unit, "about": found.about, "n_counts": found.of, **figures}
        | {
            "noted": _counted(found.noted),
            **rows,
        }
    )


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return asdict(estimate)


def _computed(computed: Computed) -> dict[str, Any]:
    return {
        "value": computed.value,
        "n": computed.n,
        "n_missing": computed.n_missing,
        "inputs": dict(computed.inputs),
    }


def _counted(rows: Sequence[Counted]) -> list[dict[str, Any]]:
    return [asdict(each) for each in rows]


def _row(row: Behind | BehindPair) -> dict[str, Any]:
    return asdict(row) | ({"moved": row.moved} if isinstance(row, BehindPair) else {})
