"""How far the repeats of a case pass alike, and bring the same items: of the run, and case by case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from steelyard.analysis.repeats import ranked_first
from steelyard.frozen import frozen
from steelyard.metrics.cells import CellGroups, PassedRepeats
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import (
    At,
    Contributions,
    Level,
    Reported,
)
from steelyard.metrics.run_data import RunData, one_value
from steelyard.metrics.stability import PRESENCE, Seen
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Estimate
from steelyard.wording import percent

# How often repeats pass.


@frozen
class FlakyCell:
    """A case under a variant that passed in some repeats and not in others."""

    case_id: str
    variant: str
    clean: int
    """Repeats that passed."""
    decided: int
    """Repeats that passed or did not; those that are inconclusive or missing say nothing."""


@frozen
class PassFigures:
    """How the repeats of a case pass, over all cases."""

    all_of: dict[int, Estimate]
    """pass^k by k: the chance that k repeats of a case all pass, mean over all planned cells."""
    flaky: Estimate
    """Share of the planned cells in which some repeats pass and others do not."""
    cells: tuple[FlakyCell, ...] = ()
    """Those that are flaky, the one that passes least often first, at most `MOST_CELLS`."""
    n_flaky: int = 0
    """How many are flaky."""
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By k, and of `flaky`: what it would be if all repeats that are missing failed, or all passed, the lower value
    first; none of what they cannot change."""


def pass_figures(data: RunData, run: Mapping[str, Estimate], repeats: PassedRepeats) -> PassFigures:
    """The figures of a run whose metrics over cells are `run`; `repeats` are those of each cell that passed."""
    passed, decided = repeats.passed, repeats.decided
    flaky = np.flatnonzero((passed > 0) & (passed < decided))
    share = passed[flaky] / decided[flaky]
    chosen = ranked_first(share)
    ranked = flaky[chosen[np.argsort(share[chosen], kind="stable")]].tolist()
    all_of = {k: run[f"pass_all.{k}"] for k in data.pass_all}
    named = {**{str(k): item for k, item in all_of.items()}, "flaky": run["flaky_rate"]}
    return PassFigures(
        all_of=all_of,
        flaky=run["flaky_rate"],
        cells=tuple(FlakyCell(*data.cells.name(cell), int(passed[cell]), int(decided[cell])) for cell in ranked),
        n_flaky=len(flaky),
        bounds={name: item.possible.ends for name, item in named.items() if item.possible is not None},
    )


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
class StabilityFigures:
    """How alike repeats are, over all cases; n/a where nothing can be compared."""

    key: str
    how: dict[str, str]
    """By declared field, how two values are compared with each other: `equal` or `overlap`."""
    presence: Estimate
    """Mean over the cells that have something to compare; `n` is these cells, with an interval over them."""
    fields: dict[str, Estimate] = field(default_factory=dict)
    comparisons: dict[str, int] = field(default_factory=dict)
    """By field, and for `presence`, how many comparisons stand behind all cells together."""
    cells: tuple[CellStability, ...] = ()
    """At most `MOST_CELLS` in the order of the cases, those whose repeats differ most; those whose answers are to have
    no items are in no figure."""
    n_cells: int = 0
    keyless: int = 0
    """Items that came without the key; they are compared with each other as if they had one in common."""

    @property
    def unstable(self) -> list[str]:
        """Every figure below 60 %, first of the run, then of its cases, the least first: `span 22.2 % of case_04`."""
        run = [("", self.presence, self.fields)]
        cells = [(f" of {cell.case_id} {cell.variant}".rstrip(), cell.presence, cell.fields) for cell in self.cells]
        messages = [
            [
                (item.value or 0.0, name, where)
                for where, presence, fields in part
                for name, item in {"presence": presence, **fields}.items()
                if band_of(item.value) == "unstable"
            ]
            for part in (run, cells)
        ]
        return [f"{name} {percent(value)}{where}" for part in messages for value, name, where in sorted(part)]


def stability_figures(data: RunData, run: Mapping[str, Estimate]) -> StabilityFigures | None:
    """The figures of a run whose metrics over cells are `run`; None for a suite that compares nothing."""
    seen, rules, cells = data.stability, data.suite.stability, data.cells
    if seen is None or rules is None:
        return None
    apart = seen.apart
    return StabilityFigures(
        key=rules.key,
        how=dict(rules.fields),
        presence=run[PRESENCE],
        fields={name: run[f"stability.{name}"] for name in rules.fields},
        comparisons=seen.comparisons(),
        cells=_listed(data.once(_chosen), seen, cells),
        n_cells=int((~apart).sum()) + cells.absent,
        keyless=seen.keyless,
    )


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


def _compared(data: RunData, at: At) -> Contributions:
    return data.of_cells(_seen(data).compared(at.name("what")), absent=0.0)


def _compared_in_words(at: At) -> str:
    """Items in both of two repeats; of presence, in either."""
    return f"items in {'either' if at.name('what') == 'presence' else 'both'} of two repeats"


def _in_words(data: RunData, at: At) -> str:
    """What the repeats of a cell come to."""
    seen, cell = _seen(data), next(item for item in at.path if "case_id" in item)
    number = data.once(_chosen)[at.path[1]["cells"].index(cell)]
    both = f"{seen.shared[number]} items in both, {seen.either[number]} in either"
    return f"{seen.runs[number]} of {data.cells.planned_repeats[number]} repeats read; {both}"


def _of_cell(data: RunData, at: At) -> Contributions:
    return one_value(data, at, _in_words(data, at))


def _of_items(data: RunData, at: At) -> Contributions:
    """The items behind a share are its n."""
    words = _in_words(data, at)
    cell = next(item for item in at.path if "case_id" in item)
    values = np.full(max(at.value.n, 1), at.value.value)
    key = (cell["case_id"], cell["variant"], None)
    return Contributions(values, np.ones(len(values)), detail=lambda _: words, key=lambda _: key)


def _metric(name: str, place: str, formula: Any, contributions: Any, **more: Any) -> Reported:
    how, interval = "every repeat of a cell is compared with every other; items are paired by key", "one case is no"
    interval = f"none: {interval} sample of cases"
    return Reported(name, f"stability.{place}", formula, how, contributions, Level.CELL, interval=interval, **more)


def _flaky(data: RunData) -> Array:
    return np.empty(0) if data.clean_repeats is None else data.clean_repeats.flaky().values


def _of_repeats(data: RunData, at: At) -> Contributions:
    return one_value(data, at, f"{at.item['clean']} of {at.item['decided']} repeats passed")


def _passed(name: str, formula: str) -> Reported:
    how = "a cell is a case under a variant; its repeats pass when the sample does, under all its rules"
    return Reported(f"<case>.passes.{name}", f"passes.cells[<case>].{name}", formula, how, _of_repeats, Level.CELL)


_SHARE: dict[str, Any] = {"unit": "share", "aggregate": Aggregate.RATIO, "of": "items"}
REPORTED = (
    Reported(
        "cases.count.flaky",
        "passes.n_flaky",
        "cells in which some repeats passed and others failed",
        "a cell is a case under a variant; its repeats pass when the sample does, under all its rules",
        lambda data, _: data.of_cells(_flaky(data), absent=0.0),
        Level.CELL,
    ),
    _passed("clean", "repeats that passed"),
    _passed("decided", "repeats that passed or did not"),
    _metric(
        "stability.comparisons.<what>",
        "comparisons.<what>",
        _compared_in_words,
        _compared,
    ),
    _metric("stability.items.keyless", "keyless", "items without the key", one_value),
    _metric(
        "stability.cells.all",
        "n_cells",
        "cells of which items may be asked for: all but those whose answers were read and have none",
        lambda data, _: data.of_cells(~_seen(data).apart, absent=1.0, n_absent=data.cells.absent),
    ),
    _metric("<case>.stability.runs", "cells[<case>].runs", "repeats whose answer could be read", _of_cell),
    _metric("<case>.stability.missing", "cells[<case>].missing", "planned repeats without such an answer", _of_cell),
    _metric(
        "<case>.stability.presence",
        "cells[<case>].presence",
        "items in both of two repeats / items in either",
        _of_items,
        **_SHARE,
    ),
    _metric(
        "<case>.stability.field.<field>",
        "cells[<case>].fields.<field>",
        "how alike the field is / items in both repeats",
        _of_items,
        **_SHARE,
    ),
)
