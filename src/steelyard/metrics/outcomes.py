"""How samples ended, how their calls failed, how answers were read and which are reused, as numbers of samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import Contributions, Labels, Level, Metric, Names, Reasons, register, same_but
from steelyard.metrics.run_data import RunData
from steelyard.stats.arrays import Array, tally, translated


def _labels(data: RunData) -> Labels:
    """The outcomes that occur."""
    table = data.table
    present = np.flatnonzero(tally(table.outcome, len(table.outcomes)))
    return Labels(
        [table.outcomes[code] for code in present.tolist()],
        None,
        np.searchsorted(present, table.outcome),
        np.ones(table.n, dtype=bool),
    )


def _of_one(data: RunData, names: Names) -> Contributions:
    return _labels(data).of(names[0], once=True)


def _excluded(data: RunData, _: Names) -> Contributions:
    return Contributions(data.table.excluded.astype(float))


def _planned(data: RunData, _: Names) -> Contributions:
    return Contributions(np.ones(data.table.n), absent=1.0)


_OUTCOME = register(
    Metric(
        "outcomes.<outcome>",
        "count",
        "samples that ended so",
        "samples that ended so",
        "a sample judged by another kind of judge counts as scored here",
        Aggregate.SUM,
        _of_one,
        "",
        gate=False,
        stands_on="samples that ended so",
        labels=_labels,
        all_names=lambda data: [(name,) for name in _labels(data).names],
    )
)
register(
    same_but(
        _OUTCOME,
        name="outcomes.excluded",
        about="scored samples judged by another kind of judge than the run's",
        formula="scored samples judged by another kind of judge than the run's",
        counts="they are in no other figure",
        contributions=_excluded,
        labels=None,
        all_names=None,
    )
)
register(
    same_but(
        _OUTCOME,
        name="outcomes.planned",
        about="planned samples",
        formula="stored samples + planned samples that are missing",
        counts="what is missing is in no slice",
        contributions=_planned,
        labels=None,
        all_names=None,
        derived=True,
    )
)
register(
    same_but(
        _OUTCOME,
        name="samples",
        about="stored samples",
        formula="stored samples",
        counts="those that were planned and are missing are left out",
        contributions=lambda data, _: Contributions(np.ones(data.table.n)),
        labels=None,
        all_names=None,
        sliced=False,
        stands_on="stored samples",
    )
)


def _family(
    like: Metric, labels: Callable[[RunData], Labels], *, name: str, formula: str, counts: str, **more: Any
) -> Metric:
    """Register what samples are counted by, in the whole run."""

    def of_one(data: RunData, names: Names) -> Contributions:
        return labels(data).of(names[0], once=True)

    def all_names(data: RunData) -> list[Names]:
        return [(item,) for item in labels(data).names]

    more |= {"about": formula, "formula": formula, "counts": counts, "sliced": False}
    return register(
        same_but(like, name=name, contributions=of_one, labels=labels, all_names=all_names, better="lower", **more)
    )


def _by_frequency(codes: Array, names: Sequence[str], available: Array, excluded: Reasons = ()) -> Labels:
    """One label a sample, those that occur, most frequent first."""
    counts = tally(codes, len(names)) if len(codes) == len(available) else np.zeros(len(names), dtype=int)
    ranked = sorted(np.flatnonzero(counts).tolist(), key=lambda code: (-counts[code], names[code]))
    place = {code: rank for rank, code in enumerate(ranked)}
    label = translated(codes, [place.get(code, -1) for code in range(len(names))]) if ranked else codes
    return Labels([names[code] for code in ranked], None, label, available, excluded)


def _failures(data: RunData) -> Labels:
    return _by_frequency(data.columns.failure, data.columns.failures, np.ones(data.table.n, dtype=bool))


def _first_failures(data: RunData) -> Labels:
    called = ~np.isnan(data.table.attempts())
    return _by_frequency(*data.table.first_failures(), called, (("no call was made", None),))


def _steps(data: RunData) -> Labels:
    return _by_frequency(data.columns.step, data.columns.steps, np.ones(data.table.n, dtype=bool))


_FAILURE = _family(
    _OUTCOME,
    _failures,
    name="failures.<kind>",
    formula="samples whose call failed in that way",
    counts="every sample is looked at",
    stands_on="stored samples",
)
_family(
    _FAILURE,
    _first_failures,
    name="first_failures.<kind>",
    formula="calls whose first attempt failed in that way, whatever came of later ones",
    counts="answers for which no call was made are left out",
    of="calls",
    stands_on="calls",
)
_family(
    _FAILURE,
    _steps,
    name="steps.<step>",
    formula="answers that were extracted in this way",
    counts="samples without an answer are on no step",
)


# Which answers are no new ones: only of a run that has some.


def _if_reused(data: RunData) -> list[Names]:
    return [()] if (data.table.reused() | data.table.copied()).any() else []


def _answers(mask: Callable[[RunData], Array]) -> Callable[[RunData, Names], Contributions]:
    """The answers, those that a mask marks counting 1."""

    def contributions(data: RunData, _: Names) -> Contributions:
        marked, unanswered = mask(data), np.logical_or(*data.table.unanswered())
        values = np.where(unanswered & ~marked, np.nan, marked)
        return Contributions(values, excluded=(("no answer", None),))

    return contributions


def _copied_cells(data: RunData, _: Names) -> Contributions:
    return Contributions((data.cells.count_of(data.table.copied()) > 0).astype(float))


def _reused(name: str, formula: str, mask: Callable[[RunData], Array]) -> Metric:
    return register(
        same_but(
            _OUTCOME,
            name=f"reused.{name}",
            about=formula,
            formula=formula,
            counts="every answer is looked at",
            contributions=_answers(mask),
            labels=None,
            all_names=_if_reused,
            better="lower",
            sliced=False,
            of="answers",
            stands_on="answers",
        )
    )


_CACHED = _reused("cached", "answers from the cache", lambda data: data.table.cached())
_reused("answers", "answers, cached or not", lambda data: ~np.logical_or(*data.table.unanswered()))
_reused(
    "provider_cached",
    "answers that the provider marked as from its cache",
    lambda data: data.table.reused() & ~data.table.cached(),
)
_reused("copied", "repeats that are the same answer as an earlier one", lambda data: data.table.copied())
_COPIED_CELLS = "cells with a repeat that is the same answer as an earlier one"
register(
    same_but(
        _CACHED,
        name="reused.copied_cells",
        level=Level.CELL,
        about=_COPIED_CELLS,
        formula=_COPIED_CELLS,
        counts="every cell is looked at",
        contributions=_copied_cells,
        of="",
        stands_on="cells",
    )
)
