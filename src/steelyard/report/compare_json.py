"""A comparison as plain data. Documented in docs/reference/reports.md."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from steelyard.analysis.compare_model import Comparison, Pairs
from steelyard.records import RunHeader
from steelyard.report import compare_sentences
from steelyard.report.json import plain

FORMAT = "steelyard.compare/1"


def comparison_to_json(comparison: Comparison) -> dict[str, Any]:
    """The whole comparison as data that `json.dumps(..., allow_nan=False)` can write."""
    instruments = comparison.instruments
    data = {
        "format": FORMAT,
        "a": _run(comparison.a),
        "b": _run(comparison.b),
        "verdict": comparison.headline.verdict.value,
        "headline": asdict(comparison.headline),
        "moved": compare_sentences.what_moved(comparison),
        "instruments": {
            "changes": [asdict(change) for change in instruments.changes],
            "several": instruments.several,
        },
        "attribution": None if comparison.attribution is None else asdict(comparison.attribution),
        "pairs": _pairs(comparison.pairs),
        "metrics": [asdict(change) for change in comparison.metrics],
        "slices": {factor: [asdict(each) for each in found] for factor, found in comparison.slices.items()},
        "codes": [asdict(each) for each in comparison.codes],
        "confusions": asdict(comparison.confusions),
        "checks": None if comparison.checks is None else asdict(comparison.checks),
        "sections": [asdict(each) for each in comparison.sections],
        "not_compared": [asdict(each) for each in comparison.not_compared],
        "unpaired": None if comparison.unpaired is None else asdict(comparison.unpaired),
        "method": comparison.method,
    }
    return {key: plain(value) for key, value in data.items()}


def _run(header: RunHeader) -> dict[str, Any]:
    return {
        "id": header.id,
        "suite": header.suite_name,
        "created_at": header.created_at,
        "state": header.state.value,
        "verdict": header.verdict.value if header.verdict else None,
        "target": header.target,
        "version": header.version,
        "signature": header.signature,
    }


def _pairs(pairs: Pairs) -> dict[str, Any]:
    data = asdict(pairs)
    aside = [{"why": why.value} | asdict(found) for why, found in pairs.not_comparable.items()]
    return data | {"not_comparable": aside, "n_not_comparable": pairs.n_not_comparable}
