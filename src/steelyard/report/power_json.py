"""What a suite can detect, as plain data."""

from __future__ import annotations

from typing import Any

from steelyard.analysis.paired_tests import SIGNIFICANT
from steelyard.analysis.power import POWER, PowerFigures
from steelyard.report import power_tables


def power_to_json(found: PowerFigures) -> dict[str, Any]:
    """Shares from 0 to 1: a change of 0.03 is 3 points; null for what nobody knows."""
    spread = found.spread
    return {
        "suite": found.suite,
        "metric": found.metric,
        "sentence": power_tables.headline(found),
        "alpha": SIGNIFICANT,
        "power": POWER,
        "method": power_tables.METHOD,
        "runs": list(found.runs),
        "runs_left_out": found.left_out,
        "cases": spread.n_cases,
        "repeats": spread.repeats,
        "variants": spread.variants,
        "variance": {
            "between_cases": spread.between,
            "between_repeats": spread.within,
            "between_runs": spread.response,
            "of_change": spread.change,
            "run_pairs": spread.n_pairs,
        },
        "smallest": found.now,
        "at_worst": found.at_worst,
        "smallest_by_design": [
            {"cases": design.cases, "repeats": design.repeats, "smallest": value} for design, value in found.table
        ],
        "detect": found.detect,
        "needed": [{"repeats": each.repeats, "cases": each.cases} for each in found.needed],
        "repeats_needed": found.repeats_needed,
    }
