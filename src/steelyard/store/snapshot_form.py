"""The shape of a snapshot: records as plain data and back, and the published JSON Schema of it all."""

from __future__ import annotations

import hashlib
import json
from math import isfinite
from typing import Any

from steelyard.records import (
    Certainty,
    Check,
    CheckState,
    Item,
    Judgement,
    Mark,
    Outcome,
    RunHeader,
    RunState,
    Sample,
    Score,
    Verdict,
)
from steelyard.store.finding_form import finding_data, finding_from
from steelyard.store.judged import attempt_data, attempt_from, call_data, call_from, judgement_data, judgement_from

_IN_WORDS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"))

FORMAT = "steelyard-snapshot"
VERSION = 5
"""2 added counts of scores, component, gain and box of findings, and marks; 3 added judgement; 4 added span and section
of findings, findings of judgements and their ballots, and certainties; 5 added checks and items, and first_byte and
queued of attempts. Each may be left out."""


class ContentDigest:
    """A digest over the run, its cases and its samples that does not depend on white space or the order of keys."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, record: Any) -> None:
        """Take one record in."""
        self._hash.update(_canonical.encode(record).encode() + b"\n")

    def text(self) -> str:
        """The digest as it stands in the file."""
        return f"sha256:{self._hash.hexdigest()}"


def run_data(header: RunHeader) -> dict[str, Any]:
    """A run's header as plain data."""
    return {
        "id": header.id,
        "suite_name": header.suite_name,
        "suite_path": header.suite_path,
        "created_at": header.created_at,
        "ended_at": header.ended_at,
        "state": header.state.value,
        "verdict": None if header.verdict is None else header.verdict.value,
        "suspect": list(header.suspect),
        "n_planned": header.n_planned,
        "rescored_from": header.rescored_from,
        "version": header.version,
        "signature": header.signature,
        "target": header.target,
        "suite": header.suite,
        "options": header.options,
        "summary": header.summary,
    }


def run_from(data: dict[str, Any]) -> RunHeader:
    """The header back from `run_data`."""
    changed = {
        "state": RunState(data["state"]),
        "verdict": None if data["verdict"] is None else Verdict(data["verdict"]),
        "suspect": tuple(data["suspect"]),
    }
    return RunHeader(**(data | changed))


def sample_data(sample: Sample) -> dict[str, Any]:
    """A sample with its attempt as plain data."""
    marks = [{"box": list(mark.box), "text": mark.text} for mark in sample.marks]
    claims = [_certainty_data(certainty) for certainty in sample.certainties]
    checks = [_check_data(check) for check in sample.checks]
    return {
        "position": sample.position,
        "case": sample.case_id,
        "case_hash": sample.case_hash,
        "variant": sample.variant,
        "repeat": sample.repeat,
        "outcome": sample.outcome.value,
        "score": sample.score,
        "passed": sample.passed,
        "band": sample.band,
        "category": sample.category,
        "difficulty": sample.difficulty,
        "tags": list(sample.tags),
        "rung": sample.rung,
        "scores": [_score_data(score) for score in sample.scores],
        "findings": [finding_data(finding) for finding in sample.findings],
        **({"marks": marks} if marks else {}),
        **({"certainties": claims} if claims else {}),
        **({"checks": checks} if checks else {}),
        # An answer without items says so; one that could not be read says nothing.
        **({} if sample.items is None else {"items": [_item_data(item) for item in sample.items]}),
        **({} if sample.judgement is None else {"judgement": _judgement_data(sample.judgement)}),
        "attempt": attempt_data(sample.attempt),
    }


def sample_from(data: dict[str, Any]) -> Sample:
    """The sample back from `sample_data`."""
    return Sample(
        case_id=data["case"],
        variant=data["variant"],
        repeat=data["repeat"],
        attempt=attempt_from(data["attempt"]),
        outcome=Outcome(data["outcome"]),
        score=data["score"],
        passed=data["passed"],
        band=data["band"],
        scores=tuple(Score(**score) for score in data["scores"]),
        findings=tuple(finding_from(finding) for finding in data["findings"]),
        marks=tuple(Mark(tuple(mark["box"]), mark["text"]) for mark in data.get("marks", ())),
        certainties=tuple(_certainty_from(claim) for claim in data.get("certainties", ())),
        checks=tuple(_check_from(check) for check in data.get("checks", ())),
        items=tuple(_item_from(item) for item in data["items"]) if "items" in data else None,
        rung=data["rung"],
        judgement=None if "judgement" not in data else _judgement_from(data["judgement"]),
        category=data["category"],
        difficulty=data["difficulty"],
        tags=tuple(data["tags"]),
        case_hash=data["case_hash"],
        position=data["position"],
    )


def _score_data(score: Score) -> dict[str, Any]:
    data: dict[str, Any] = {"name": score.name, "value": score.value, "weight": score.weight}
    if score.raw is not None:
        data["raw"] = score.raw
    if score.bound_by is not None:
        data["bound_by"] = score.bound_by
    if score.note:
        data["note"] = score.note
    if score.counts:
        data["counts"] = dict(score.counts)
    return data


def _certainty_data(claim: Certainty) -> dict[str, Any]:
    told = None if claim.confidence is None else _in_json(claim.confidence)
    return {"confidence": told, "right": claim.right, **({"label": claim.label} if claim.label else {})}


def _certainty_from(data: dict[str, Any]) -> Certainty:
    confidence = data["confidence"]
    return Certainty(None if confidence is None else float(confidence), data["right"], data.get("label", ""))


def _in_json(number: float) -> float | str:
    # JSON has no word for a number that is not finite; in words it can be told from one that never came.
    return number if isfinite(number) else _IN_WORDS[str(number)]


def _check_data(check: Check) -> dict[str, Any]:
    data: dict[str, Any] = {"name": check.name, "state": check.state.value}
    if check.detail:
        data["detail"] = check.detail
    for name, number in (("value", check.value), ("low", check.low), ("high", check.high)):
        if number is not None:
            data[name] = _in_json(number)
    return data


def _check_from(data: dict[str, Any]) -> Check:
    changed: dict[str, Any] = {"state": CheckState(data["state"])}
    changed |= {name: float(data[name]) for name in ("value", "low", "high") if isinstance(data.get(name), str)}
    return Check(**(data | changed))


def _item_data(item: Item) -> dict[str, Any]:
    return {"key": item.key, **({"values": list(item.values)} if item.values else {})}


def _item_from(data: dict[str, Any]) -> Item:
    return Item(data["key"], tuple(data.get("values", ())))


def _judgement_data(judgement: Judgement) -> dict[str, Any]:
    calls = [call_data(call) for call in judgement.calls]
    return {**judgement_data(judgement), **({"calls": calls} if calls else {})}


def _judgement_from(data: dict[str, Any]) -> Judgement:
    return judgement_from(data, [call_from(call) for call in data.get("calls", ())])
