"""Calls before the clock starts, for caches and models that load when they are first asked. Nothing is kept of them."""

from __future__ import annotations

from itertools import cycle, islice

from steelyard.engine.call import Caller
from steelyard.engine.limits import Budget, Closed, Pace
from steelyard.engine.plan import Plan
from steelyard.suite.models import Limits
from steelyard.targets.base import Request, Target

_MOST_AT_ONCE = 8


class WarmUp:
    """`limits.warm_up` calls with the first cases, each made once and never from the cache; what they cost is paid.

    A failure is counted in `failed` and ends nothing: the calls that count will tell.
    """

    def __init__(self, target: Target, limits: Limits, plan: Plan, budget: Budget) -> None:
        self.width = min(limits.concurrency, limits.warm_up, _MOST_AT_ONCE)
        """How many workers it takes."""
        self.failed = 0
        self._pace = Pace(self.width)
        self._caller = Caller(target, limits.model_copy(update={"retries": 0}), self._pace, folder=plan.folder)
        self._variant = plan.variants[0]
        self._cases = islice(cycle(list(islice(plan.cases(), limits.warm_up))), limits.warm_up)
        self._budget = budget

    async def work(self) -> None:
        """Make calls until all are made, or the run stops."""
        for case in self._cases:
            ask = Request(case.without_truth(), self._variant, 0, case.expected, case.private)
            try:
                call_result = (await self._caller.call(ask)).call_result
            except Closed:
                return
            self._budget.pay(call_result.cost)
            self.failed += call_result.failure is not None

    def close(self) -> None:
        """Start no further call."""
        self._pace.close()
