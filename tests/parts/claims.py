"""Claims with confidences, as a store would give them, and the table of samples they belong to."""

from __future__ import annotations

from typing import Any

import numpy as np

from parts.columns import Made, columns, suite
from parts.described import Table, confidence_figures, summarise
from steelyard.analysis.confidence_model import ConfidenceFigures, ConfidenceTexts
from steelyard.store.base import ClaimColumns
from steelyard.store.figures import Figure

Claim = tuple[float | None, bool] | tuple[float | None, bool, str]


def claims(by_sample: list[list[Claim]]) -> ClaimColumns:
    """The claims of each sample, in order."""
    flat = [(i, (*claim, "")[:3]) for i, claims in enumerate(by_sample) for claim in claims]
    labels = list(dict.fromkeys(label for _, (_, _, label) in flat))
    return ClaimColumns(
        sample=np.array([i for i, _ in flat], dtype=np.uint32),
        confidence=np.array([np.nan if said is None else said for _, (said, _, _) in flat], dtype=float),
        right=np.array([right for _, (_, right, _) in flat], dtype=bool),
        stated=np.array([said is not None for _, (said, _, _) in flat], dtype=bool),
        label=np.array([labels.index(label) for _, (_, _, label) in flat], dtype=np.uint32),
        labels=labels,
    )


def analysed(by_sample: list[list[Claim]], made: list[Made] | None = None, **rules: Any) -> ConfidenceFigures:
    """The figures of claims, each list being those of a sample of a case of its own unless `made` says otherwise."""
    made = made or [Made(f"case-{i:04d}", 1.0) for i in range(len(by_sample))]
    described = suite(confidence=rules or None)
    found = confidence_figures(claims(by_sample), Table(columns(made), described), described)
    assert found is not None
    return found


def summarised(by_sample: list[list[Claim]]) -> tuple[ConfidenceTexts, list[Figure]]:
    """What a summary has of claims, each list being those of a sample of a case of its own: texts, and figures."""
    made = [Made(f"case-{i:04d}", 1.0) for i in range(len(by_sample))]
    found = summarise(columns(made), suite(), claims=claims(by_sample))
    assert found.confidence is not None
    return found.confidence, [row for row in found.figures.rows() if row.name.startswith("confidence.")]


def alone(*groups: tuple[float, int, int]) -> list[list[Claim]]:
    """Samples of one claim each: of every (confidence, n right, n wrong) so many."""
    return [[(said, True)] for said, right, _ in groups for _ in range(right)] + [
        [(said, False)] for said, _, wrong in groups for _ in range(wrong)
    ]
