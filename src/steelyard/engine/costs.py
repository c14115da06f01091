"""The calls of models that scored a sample, and what was paid for it."""

from __future__ import annotations

from steelyard.engine.call import Called
from steelyard.records import CallResult, Sample, ScorerCall


def scorer_calls(sample: Sample) -> list[ScorerCall]:
    """What its scorers asked a model for."""
    return [call for score in sample.scores if score.calls for call in score.calls]


def model_calls(sample: Sample) -> list[CallResult]:
    """The calls of its judges and of models that scorers asked."""
    judged = () if sample.judgement is None else sample.judgement.calls
    return [call.call_result for call in judged] + [call.call_result for call in scorer_calls(sample)]


def own_cost(called: Called | None, since: float = 0.0) -> float | None:
    """What the target's answer cost in a call since that moment; None when it was not asked, or nobody knows."""
    asked = called is not None and not called.call_result.cached and called.call_result.started_at >= since
    return called.call_result.cost if called is not None and asked else None


def spent(sample: Sample, since: float = 0.0) -> float | None:
    """What the answer and the models that scored it cost in calls since then; None when none was paid, or is known."""
    calls = (sample.call_result, *model_calls(sample))
    paid = [item for item in calls if not item.cached and item.started_at >= since]
    costs = [item.cost for item in paid if item.cost is not None]
    return sum(costs) if costs else None
