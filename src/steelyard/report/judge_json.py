"""A judge's report card as plain data. Documented in docs/reference/reports.md."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from steelyard.report import judge_wording
from steelyard.report.json import plain
from steelyard.report.judge_card import JudgeCard

FORMAT = "steelyard.judge/1"


def card_to_json(card: JudgeCard) -> dict[str, Any]:
    """The whole card as data that `json.dumps(..., allow_nan=False)` can write."""
    header = card.header
    data = {
        "format": FORMAT,
        "run": {
            "id": header.id,
            "suite": header.suite_name,
            "state": header.state.value,
            "signature": header.signature,
        },
        "judge": header.suite.get("judge"),
        "verdict": card.verdict.value if card.verdict else None,
        "headline": judge_wording.headline(card),
        "invalid": list(card.invalid),
        "warnings": judge_wording.warnings(card),
        "outcomes": card.outcomes,
        "n_broken": card.n_broken,
        "why_failed": card.why_failed,
        "labels": card.labels_at or None,
        "thresholds": [
            asdict(result)
            | {"metric": threshold.metric, "operator": threshold.operator}
            | {"threshold": threshold.threshold, "unit": threshold.unit}
            for threshold, result in card.checks
        ],
        "complaints": list(card.health.complaints),
        "health": asdict(card.health),
        "examples": {code: [asdict(each) for each in found] for code, found in card.examples.items()},
    }
    return {key: plain(value) for key, value in data.items()}
