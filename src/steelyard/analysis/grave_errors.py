"""Which grave errors are in the samples that fail, where no gain tells: their components have no weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from steelyard.analysis.fixes import Fixing, rank, severities, with_finding
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import Contributions, Metric, Names, register, same_but
from steelyard.metrics.run_data import RunData
from steelyard.metrics.table import Table
from steelyard.stats.arrays import Array

GRAVE = ("critical", "major")


def failing_samples(table: Table, *codes: str) -> Array:
    """The samples that did not pass, all or those with a finding of one of the codes."""
    failing: Array = table.passed() == 0
    return failing & with_finding(table, *codes) if codes else failing


def _grave(data: RunData) -> list[str]:
    """The critical and major codes of what has no weight that are in failing samples, the gravest and most frequent
    first."""
    table, available, fixing = data.table, severities(data.suite), data.once(Fixing)
    grave = [code for code in fixing.codes() if available.get(code) in GRAVE and not fixing.of(code).has_weight]
    counts = {code: int(failing_samples(table, code).sum()) for code in grave}
    # What a judge gave follows from what scorers found: the cause stands before it.
    judged = {component.finding_code for component in data.suite.components if component.kind in ("dimension", "flag")}
    return sorted(
        (code for code in grave if counts[code]),
        key=lambda code: (
            code in judged,
            rank(available[code]),
            -counts[code],
            -int(with_finding(table, code).sum()),
            code,
        ),
    )


def _failing(codes: Callable[[RunData, Names], Sequence[str]]) -> Callable[[RunData, Names], Contributions]:
    """The samples of which is known whether they pass, those that did not, with one of the codes, counting 1."""

    def contributions(data: RunData, names: Names) -> Contributions:
        known = data.table.passed() >= 0
        values = np.where(known, failing_samples(data.table, *codes(data, names)), np.nan)
        return Contributions(values, excluded=(*data.table.left_out, ("neither passed nor failed", None)))

    return contributions


_SAMPLES = register(
    Metric(
        "failing.samples",
        "count",
        "samples that did not pass, in a run with grave findings of what has no weight",
        "samples that did not pass",
        "samples that cannot be said to pass or fail are left out",
        Aggregate.SUM,
        _failing(lambda *_: ()),
        "lower",
        gate=False,
        sliced=False,
        all_names=lambda data: [()] if data.once(_grave) else [],
        stands_on="samples that passed or not",
    )
)
_OF_GRAVE = same_but(
    _SAMPLES,
    name="failing.grave",
    about="samples that did not pass and have a critical or major finding of what has no weight",
    formula="samples that did not pass and have such a finding",
    counts="of critical and major codes of components that have no weight",
    contributions=_failing(lambda data, _: data.once(_grave)),
)
register(_OF_GRAVE)
register(
    same_but(
        _OF_GRAVE,
        name="failing.<code>.samples",
        about="samples that did not pass and have a finding of that code, which is grave and has no weight",
        contributions=_failing(lambda _, names: names),
        all_names=lambda data: [(code,) for code in data.once(_grave)],
    )
)
