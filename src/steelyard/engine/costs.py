"""What was paid for a sample."""

from __future__ import annotations

from steelyard.engine.caller import Called
from steelyard.records import Sample


def own_cost(called: Called | None) -> float | None:
    """What the target's answer cost; None when it was not asked, or nobody knows."""
    return None if called is None or called.attempt.cached else called.attempt.cost


def spent(sample: Sample) -> float | None:
    """What the answer and its judges cost; None when nothing was paid for, or nobody knows."""
    calls = () if sample.judgement is None else sample.judgement.calls
    paid = [one for one in (sample.attempt, *(call.attempt for call in calls)) if not one.cached]
    costs = [one.cost for one in paid if one.cost is not None]
    return sum(costs) if costs else None
