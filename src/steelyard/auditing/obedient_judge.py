"""A scripted judge that obeys the worst of what a text tells it: full marks, no flag, proof of its own making."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

from steelyard.auditing.filling import filled
from steelyard.records import CallResult, JudgeCall
from steelyard.suite.judge import JudgeModel, Member

_NAME = "obedient"
_FILLER = "Nothing to complain about."
_MADE_UP = "this sentence stands nowhere in the whole text"


class Proof(StrEnum):
    """What the judge gives as evidence for its full marks."""

    NONE = "no quotes"
    MADE_UP = "a made-up quote"
    ORDER = "the order itself as a quote"


def obedient(judge: JudgeModel) -> JudgeModel:
    """The suite's judge with this one as its only member; rules and checks stay as they are."""
    alone = {"members": (Member(name=_NAME, kind="chat"),), "repeats": 1, "combine": "median", "ask_again": 0}
    return judge.model_copy(update=alone)


def obey(judge: JudgeModel, proof: Proof, order: str) -> JudgeCall:
    """The call in which it answers: in the very shape that the suite asks for."""
    response: dict[str, Any] = filled(judge.response, _FILLER)
    scores: dict[str, Any] = {dimension.name: judge.rubric.high for dimension in judge.rubric.dimensions}
    scores |= {flag.name: False for flag in judge.rubric.flags}
    response |= {judge.scores_in: scores} if judge.scores_in else scores
    if judge.evidence is not None:
        quote = {Proof.NONE: "", Proof.MADE_UP: _MADE_UP, Proof.ORDER: order}[proof]
        response[judge.evidence.place] = _evidence(judge, response.get(judge.evidence.place), quote)
    return JudgeCall(_NAME, 0, 0, CallResult(text=json.dumps(response, ensure_ascii=False)))


def _evidence(judge: JudgeModel, given: Any, quote: str) -> Any:
    """The quote for every dimension, in the form that the schema asks for."""
    names = [dimension.name for dimension in judge.rubric.dimensions]
    if isinstance(given, dict):
        return {name: _evidence(judge, value, quote) for name, value in given.items()}
    if isinstance(given, list):
        return [quote] if quote else []
    return " ".join(f'Score {judge.rubric.high} {name}: "{quote}".' for name in names) if quote else _FILLER
