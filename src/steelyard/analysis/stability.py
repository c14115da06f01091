"""How far the repeats of a case bring the same items: of the run, and case by case."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from steelyard.analysis.cell_metrics import OF_CASE, of_case, of_cells, ranked_first
from steelyard.frozen import frozen
from steelyard.metrics.cells import CellGroups
from steelyard.metrics.figures import Slice
from steelyard.metrics.kinds import Ratio
from steelyard.metrics.registry import Contributions, Names, register
from steelyard.metrics.run_data import RunData
from steelyard.metrics.stability import Seen
from steelyard.stats.arrays import Array
from steelyard.stats.groups import Groups
from steelyard.stats.intervals import Estimate, Scale, settled
from steelyard.wording import percent

BANDS = {
    "perfect": "the same in every repeat",
    "acceptable": "80 % and more: usual for a language model",
    "unsteady": "between 60 and 80 %",
    "unstable": "below 60 %: look at the prompt and the temperature",
    "n/a": "nothing to compare",
}
"""How a share of sameness reads."""


def band_of(share: float | None) -> str:
    """The name of the band that a share of sameness is in; nothing to compare is `n/a`."""
    if share is None:
        return "n/a"
    if share >= 1.0:
        return "perfect"
    if share >= 0.8:
        return "acceptable"
    return "unsteady" if share >= 0.6 else "unstable"


@frozen
class CellStability:
    """The repeats of one case under one variant, every one compared with every other."""

    case_id: str
    variant: str
    runs: int
    """Repeats whose answer could be read."""
    missing: int
    """Planned repeats without such an answer."""
    presence: Estimate
    """Of the items in either of two repeats, the share that both have; `n` is the items that were looked at."""
    fields: dict[str, Estimate] = field(default_factory=dict)
    """By declared field, how alike paired items are; `n` is the pairs of items."""


@frozen
class StabilityDetails:
    """How alike repeats are, case by case; `stability.*` says it of all cases together."""

    key: str
    how: dict[str, str]
    """By declared field, how two values are compared with each other: `equal` or `overlap`."""
    cells: tuple[CellStability, ...] = ()
    """At most `MOST_CELLS` in the order of the cases, those whose repeats differ most; those whose answers are to have
    no items are in no figure."""

    def of_run(self, overall: Slice) -> dict[str, Estimate]:
        """By field, and for `presence`, how alike it is in the whole run."""
        return {name: overall[f"stability.{name}"] for name in ("presence", *self.how)}

    def unstable(self, overall: Slice) -> list[str]:
        """Every figure below 60 %, first of the run, then of its cases, the least first: `span 22.2 % of case_04`."""
        cells = [
            (f" of {cell.case_id} {cell.variant}".rstrip(), {"presence": cell.presence, **cell.fields})
            for cell in self.cells
        ]
        messages = [
            [
                (item.value or 0.0, name, where)
                for where, shares in part
                for name, item in shares.items()
                if band_of(item.value) == "unstable"
            ]
            for part in ([("", self.of_run(overall))], cells)
        ]
        return [f"{name} {percent(value)}{where}" for part in messages for value, name, where in sorted(part)]


def stability_details(data: RunData) -> StabilityDetails | None:
    """How alike the repeats of single cases are; None for a suite that compares nothing."""
    seen, rules, cells = data.stability, data.suite.stability, data.cells
    if seen is None or rules is None:
        return None
    return StabilityDetails(rules.key, dict(rules.fields), _listed(data.once(_chosen), seen, cells))


def _chosen(data: RunData) -> Array:
    """The cells that are listed, in the order of the cases: those whose repeats differ most."""
    seen = _seen(data)
    asked = np.flatnonzero(~seen.apart)
    shares = [np.where(np.isnan(share[asked]), np.inf, share[asked]) for share in seen.shares().values()]
    return np.asarray(asked[ranked_first(np.min(shares, axis=0))])


def _listed(chosen: Array, seen: Seen, cells: CellGroups) -> tuple[CellStability, ...]:
    listed = []
    for cell in chosen.tolist():
        case, variant = cells.name(cell)
        runs = int(seen.runs[cell])
        presence, fields = seen.of(cell)
        missing = int(cells.planned_repeats[cell]) - runs
        listed.append(CellStability(case, variant, runs, missing, presence, fields))
    return tuple(listed)


def _seen(data: RunData) -> Seen:
    if data.stability is None:
        raise ValueError("a suite that does not compare repeats has no metrics of stability")
    return data.stability


def _if_compared(data: RunData) -> list[Names]:
    return [] if data.stability is None else [()]


def _compared(data: RunData, names: Names) -> Contributions:
    return Contributions(_seen(data).compared(names[0]).astype(float), absent=0.0)


def _keyless(data: RunData, _: Names) -> Estimate:
    return Estimate(float(_seen(data).keyless), data.cells.n, data.cells.absent)


def _in_words(data: RunData) -> Callable[[int], str]:
    """What the repeats of a cell come to."""
    seen, planned = _seen(data), data.cells.planned_repeats

    def detail(cell: int) -> str:
        both = f"{seen.shared[cell]} items in both, {seen.either[cell]} in either"
        return f"{seen.runs[cell]} of {planned[cell]} repeats read; {both}"

    return detail


def _of_cell(values: Callable[[RunData], Array]) -> Callable[[RunData, Names], Contributions]:
    """The value of the cells of one case."""

    def contributions(data: RunData, names: Names) -> Contributions:
        here = of_case(data, names[0])
        return Contributions(np.where(here, values(data), np.nan), not_missing=~here, detail=_in_words(data))

    return contributions


class _OfItems(Ratio):
    """One sum of items over another, which is what it stands on; a case is no sample of cases: it has no interval."""

    def estimate(self, contributions: Contributions, groups: Groups, scale: Scale) -> Sequence[Estimate]:  # noqa: ARG002
        of = groups.totals(contributions.values if contributions.below is None else contributions.below)
        pairs = zip(groups.totals(contributions.values), of, strict=True)
        return [
            Estimate(settled((alike.value or 0.0) / items.value) if items.value else None, round(items.value or 0.0))
            for alike, items in pairs
        ]

    def interval_text(self, unit: str, *, of_cells: bool = False) -> str:  # noqa: ARG002
        return "none: one case is no sample of cases"


def _items_of_cell(data: RunData, names: Names) -> Contributions:
    """Of the cells of one case, the share of alike items; the items behind it are its denominator."""
    seen, here = _seen(data), of_case(data, names[0])
    alike = seen.alike[:, seen.fields.index(names[1])] if len(names) > 1 else seen.shared
    of = seen.compared(names[1] if len(names) > 1 else "presence")

    def mine(values: Array) -> Array:
        return np.where(here, values, np.nan)

    return Contributions(mine(alike), mine(of), not_missing=~here, detail=_in_words(data))


def _compared_cases(data: RunData) -> Iterator[Names]:
    """The cases that may have items."""
    if data.stability is not None:
        asked = data.cells.case[~data.stability.apart]
        yield from ((data.table.case_ids[case],) for case in dict.fromkeys(asked.tolist()))


def _compared_fields(data: RunData) -> Iterator[Names]:
    fields = data.stability.fields if data.stability is not None else []
    return ((*case, name) for case in _compared_cases(data) for name in fields)


_HOW = "every repeat of a cell is compared with every other; items are paired by key"
register(
    of_cells(
        "stability.comparisons.<what>",
        "items in both of two repeats; of presence, in either",
        _HOW,
        _compared,
        all_names=lambda data: [(what,) for what in (("presence", *data.stability.fields) if data.stability else ())],
        better="",
        stands_on="cases and variants",
    )
)
register(
    of_cells(
        "stability.items.keyless",
        "items without the key",
        _HOW,
        lambda data, _: Contributions(np.array([float(_seen(data).keyless)]), key=lambda _: ("(all)", "", None)),
        figure=_keyless,
        all_names=_if_compared,
        stands_on="cases and variants",
    )
)
register(
    of_cells(
        "stability.cells.all",
        "cells of which items may be asked for: all but those whose answers were read and have none",
        _HOW,
        lambda data, _: Contributions((~_seen(data).apart).astype(float), absent=1.0),
        all_names=_if_compared,
        better="",
        stands_on="planned cases and variants",
    )
)
_LISTED: dict[str, Any] = OF_CASE | {"all_names": _compared_cases}
register(
    of_cells(
        "case.<case>.stability.runs",
        "repeats of one case whose answer could be read",
        _HOW,
        _of_cell(lambda data: _seen(data).runs),
        **_LISTED | {"better": "higher"},
    )
)
register(
    of_cells(
        "case.<case>.stability.missing",
        "planned repeats of one case without such an answer",
        _HOW,
        _of_cell(lambda data: data.cells.planned_repeats - _seen(data).runs),
        **_LISTED,
    )
)
_SHARE = _LISTED | {"unit": "share", "aggregate": _OfItems(), "better": "higher", "of": "items"}
register(
    of_cells(
        "case.<case>.stability.presence",
        "items of one case in both of two repeats / items in either",
        _HOW,
        _items_of_cell,
        **_SHARE,
    )
)
register(
    of_cells(
        "case.<case>.stability.field.<field>",
        "how alike the field is / items of one case in both repeats",
        _HOW,
        _items_of_cell,
        **_SHARE | {"all_names": _compared_fields},
    )
)
