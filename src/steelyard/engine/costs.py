"""What was paid for a sample."""

from __future__ import annotations

from steelyard.engine.caller import Called
from steelyard.records import Sample


def own_cost(called: Called | None, since: float = 0.0) -> float | None:
    """What the target's answer cost in a call since that moment; None when it was not asked, or nobody knows."""
    asked = called is not None and not called.attempt.cached and called.attempt.started_at >= since
    return called.attempt.cost if called is not None and asked else None


def spent(sample: Sample, since: float = 0.0) -> float | None:
    """What the answer and its judges cost in calls since that moment; None when none was paid for, or nobody knows."""
    calls = () if sample.judgement is None else sample.judgement.calls
    paid = [
        one for one in (sample.attempt, *(call.attempt for call in calls)) if not one.cached and one.started_at >= since
    ]
    costs = [one.cost for one in paid if one.cost is not None]
    return sum(costs) if costs else None
