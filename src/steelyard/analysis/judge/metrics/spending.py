"""What calling a judge took: calls, tokens, money."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from steelyard.analysis.judge.define import judge_metric
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import Contributions, Names
from steelyard.metrics.run_data import RunData, Thing
from steelyard.records import Sample
from steelyard.store.base import Spending

_SPENT = [part.name for part in fields(Spending)]


def _spent(data: RunData, names: Names) -> Contributions:
    def things(sample: Sample, _: str) -> Iterator[Thing]:
        for call in sample.judgement.calls if sample.judgement is not None else ():
            spending = Spending()
            spending.add(call.call_result)
            yield float(getattr(spending, names[0])), f"{call.member}, turn {call.turn + 1}"

    return data.things(things)


judge_metric(
    "spending.<what>",
    "number",
    "what calling the judge took",
    "sum over the calls of the judge",
    _spent,
    gate=False,
    of="calls",
    counts="calls that did not report it add nothing",
    listed=True,
    aggregate=Aggregate.SUM,
    names=lambda _: [(name,) for name in _SPENT],
)
