"""What a judge was asked and what it said, as plain data and back: the same in the database and in a snapshot.

What there is nothing to say of is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from steelyard.records import Attempt, Ballot, Failure, Finding, JudgeCall, Judgement, Mode, Remark
from steelyard.store.finding_form import finding_data, finding_from
from steelyard.store.text import to_json
from steelyard.store.weighed import finite_or_none


def attempt_data(attempt: Attempt) -> dict[str, Any]:
    """A call and what came of it as plain data."""
    failure = attempt.failure
    cut_off = {"cut_off": True} if attempt.cut_off else {}
    return {
        "text": attempt.text,
        "status": attempt.status,
        "latency": attempt.latency,
        "started_at": attempt.started_at,
        "tries": attempt.tries,
        "tokens_in": attempt.tokens_in,
        "tokens_out": attempt.tokens_out,
        "cost": attempt.cost,
        "model": attempt.model,
        "cached": attempt.cached,
        "failure": None if failure is None else {"kind": failure.kind, "message": failure.message},
        **_waits(attempt),
        **cut_off,
    }


def attempt_from(data: dict[str, Any]) -> Attempt:
    """The attempt back from `attempt_data`."""
    failure = data["failure"]
    return Attempt(**(data | {"failure": None if failure is None else Failure(**failure)}))


def _waits(attempt: Attempt) -> dict[str, float]:
    waits = {"first_byte": finite_or_none(attempt.first_byte), "queued": finite_or_none(attempt.queued)}
    return {name: seconds for name, seconds in waits.items() if seconds is not None}


def call_data(call: JudgeCall) -> dict[str, Any]:
    """One call of a judge as plain data."""
    shortened = {"shortened": True} if call.shortened else {}
    attempt = attempt_data(call.attempt)
    return {"member": call.member, "repeat": call.repeat, "turn": call.turn, **shortened, "attempt": attempt}


def call_from(data: dict[str, Any]) -> JudgeCall:
    """The call back from `call_data`."""
    return JudgeCall(**(data | {"attempt": attempt_from(data["attempt"])}))


def judgement_data(judgement: Judgement) -> dict[str, Any]:
    """A judgement as plain data, without the calls behind it."""
    more = {
        "raw": _numbers(judgement.raw),
        "bound": _numbers(judgement.bound),
        "bound_by": dict(judgement.bound_by),
        "remarks": _remarks_data(judgement.remarks),
        "findings": [finding_data(finding) for finding in judgement.findings],
        "metrics": dict(judgement.metrics),
        "told": judgement.told,
    }
    ballots = [_ballot_data(ballot) for ballot in judgement.ballots]
    return {"mode": judgement.mode, "ballots": ballots, **_said(more)}


def judgement_from(data: dict[str, Any], calls: Sequence[JudgeCall] = ()) -> Judgement:
    """The judgement back from `judgement_data`, with the calls behind it."""
    changed = {
        "mode": _mode(data["mode"]),
        "ballots": tuple(_ballot_from(ballot) for ballot in data["ballots"]),
        "remarks": _remarks_from(data),
        "findings": _findings_from(data),
        "calls": tuple(calls),
    }
    return Judgement(**(data | changed))


def judgement_text(judgement: Judgement) -> str:
    """The judgement as it is stored."""
    return to_json(judgement_data(judgement))


def calls_text(calls: Sequence[JudgeCall]) -> str:
    """The calls behind one judgement as they are stored."""
    return to_json([call_data(call) for call in calls])


def judgement_stored(text: str, calls: str | None = None) -> Judgement:
    """The judgement back from `judgement_text` and, where there are any, its `calls_text`."""
    found = () if calls is None else [call_from(call) for call in json.loads(calls)]
    return judgement_from(json.loads(text), found)


def _ballot_data(ballot: Ballot) -> dict[str, Any]:
    more = {
        "raw": _numbers(ballot.raw),
        "bound": _numbers(ballot.bound),
        "bound_by": dict(ballot.bound_by),
        "remarks": _remarks_data(ballot.remarks),
        "findings": [finding_data(finding) for finding in ballot.findings],
        "reply": dict(ballot.reply),
        "told": ballot.told,
    }
    return {
        "member": ballot.member,
        "repeat": ballot.repeat,
        "mode": ballot.mode,
        "rung": ballot.rung,
        **_said(more),
    }


def _ballot_from(data: dict[str, Any]) -> Ballot:
    changed = {"mode": _mode(data["mode"]), "remarks": _remarks_from(data), "findings": _findings_from(data)}
    return Ballot(**(data | changed))


def _remarks_data(remarks: Sequence[Remark]) -> list[dict[str, str]]:
    return [{"code": remark.code, **_said({"dimension": remark.dimension, "told": remark.told})} for remark in remarks]


def _remarks_from(data: dict[str, Any]) -> tuple[Remark, ...]:
    return tuple(Remark(**remark) for remark in data.get("remarks", ()))


def _findings_from(data: dict[str, Any]) -> tuple[Finding, ...]:
    return tuple(finding_from(finding) for finding in data.get("findings", ()))


def _mode(name: str | None) -> Mode | None:
    return None if name is None else Mode(name)


def _numbers(scores: Mapping[str, float | bool]) -> dict[str, float | bool]:
    """The scores and flags; one that is not finite is none, and is left out like one that was never given."""
    return {name: value for name, value in scores.items() if isfinite(value)}


def _said(more: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in more.items() if value}
