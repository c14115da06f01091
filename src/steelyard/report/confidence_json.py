"""What the confidences in a run's answers are worth, as plain data with stable names."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from steelyard.analysis.confidence_model import Claims, ConfidenceFigures
from steelyard.report.reliability import specification


def confidence_data(found: ConfidenceFigures) -> dict[str, Any]:
    """The figures, with the reliability diagram of all claims as a Vega-Lite specification in `chart`."""
    return {
        "overall": _claims(found.overall),
        "labels": {name: _claims(claims) for name, claims in found.labels.items()},
        "n_labels": found.n_labels,
        "unusable": dict(found.unusable),
        "n_left_out": found.n_left_out,
        "utility": dict(found.utility),
        "method": found.method,
        "chart": specification(found.overall.calibration),
    }


def _claims(claims: Claims) -> dict[str, Any]:
    return asdict(claims) | {"n_bins": len(claims.calibration.bins)}
