"""Figures of claims and of single cases, checks, stability, times and variants, each by its name, place and rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from steelyard.analysis.confidence import UNUSABLE, unusable
from steelyard.analysis.confidence_model import Claims, Split
from steelyard.analysis.explain import NO_INTERVAL, Key, Words
from steelyard.analysis.latency_model import Spread
from steelyard.analysis.model import Estimate
from steelyard.metrics.cells import BROKEN, HELD, Cells
from steelyard.metrics.registry import NONE, Aggregate, Contributions, metrics
from steelyard.report.figure_rows import Figure, Rows, RunRows, case_names
from steelyard.report.model import Report
from steelyard.stats.arrays import LEAST_CLAIMS, RESAMPLES, SEED, Array
from steelyard.store.base import Certainties
from steelyard.suite.models import ConfidenceRules

_RATE = "Wilson's score interval; rows of one case count as one cluster"
_MEAN = "Wilson's score interval by the standard error of the mean; rows of one case count as one cluster"
_LUCK = f"from {RESAMPLES:,} resamples of cases (seed {SEED})"
_BARE = "none: the report gives it without one"
_ANSWERED = "calls that failed, answers from the cache and calls that told no time are left out"
_ASKED = "a text is a sample that a judge was asked about; a vote is one member's reading of it in one judging repeat"
_CLAIMED = (
    "a claim is one thing that an answer says with a confidence; claims without a confidence from 0 to 1 are missing,"
    " those of samples that are inconclusive or set aside are left out"
)
_CELLS = (
    "a cell is a case under a variant, and a check of it holds over the repeats as `hold` says; a repeat that failed,"
    " could not be read or never came did not run the check; of a check that a sample has twice the worse counts"
)


def claim_figures(report: Report, rows: RunRows) -> Iterator[Figure]:
    """All figures of confidences: of the run, and of each kind of claim."""
    found = report.summary.confidence
    if found is None:
        return
    claims = _ClaimRows(rows)
    yield from claims.figures(("confidence",), "confidence.overall", found.overall, claims.believed)
    for label, each in found.labels.items():
        names, place = ("confidence", "label", label), f"confidence.labels.{label}"
        yield from claims.figures(names, place, each, claims.believed & claims.of_label(label))
    for why, n in found.unusable.items():
        words = Words(f"claims whose confidence is wrong in that way: {why}", _CLAIMED, of="claims")
        mask = claims.believed & (claims.wrong == UNUSABLE.index(why))
        yield Figure(("confidence", "unusable", why), f"confidence.unusable.{why}", n, words, claims.marked(mask))
    words = Words("claims of samples that are inconclusive or set aside", "all their readings are left out", "claims")
    yield Figure(
        ("confidence", "left_out"), "confidence.n_left_out", found.n_left_out, words, claims.marked(~claims.believed)
    )
    if found.n_labels:
        words = Words("different kinds of claims", _CLAIMED, of="claims")
        first = np.zeros(len(claims.believed), dtype=bool)
        kept = np.flatnonzero(claims.believed)
        first[kept[np.unique(claims.all.label[kept], return_index=True)[1]]] = True
        yield Figure(("confidence", "kinds"), "confidence.n_labels", found.n_labels, words, claims.marked(first))


class _ClaimRows:
    """The claims of a run."""

    def __init__(self, rows: RunRows) -> None:
        self._rows = rows
        self.all: Certainties = rows.store.certainties(rows.header.id)
        self.believed: Array = rows.table.conclusive[self.all.sample]
        self.wrong = unusable(self.all.confidence, self.all.stated)
        self._rules = rows.suite.confidence or ConfidenceRules()

    def of_label(self, label: str) -> Array:
        names = [name or NONE for name in self.all.labels]
        return np.asarray(self.all.label == names.index(label))

    def rows(self, values: Array, mask: Array) -> Rows:
        """Some claims with their values; NaN of those without a confidence."""
        at = np.flatnonzero(mask)

        def detail(row: int) -> str:
            claim = int(at[row])
            label = self.all.labels[int(self.all.label[claim])]
            said = f"{self.all.confidence[claim]:g}" if self.all.stated[claim] else "none"
            return f"{label + ': ' if label else ''}{said}, {'right' if self.all.right[claim] else 'wrong'}"

        excluded = tuple((why, self.wrong[at] == code) for code, why in enumerate(UNUSABLE))
        found = Contributions(values[at].astype(float), excluded=excluded, detail=detail)
        return found, lambda row: self._rows.key(int(self.all.sample[at[row]]))

    def marked(self, mask: Array) -> Callable[[], Rows]:
        return lambda: self.rows(np.ones(len(mask)), mask)

    def figures(self, names: tuple[str, ...], place: str, found: Claims, mine: Array) -> Iterator[Figure]:
        """The figures of all claims, or of one kind."""
        usable, right, said = mine & (self.wrong < 0), self.all.right, self.all.confidence

        def figure(
            own: tuple[str, ...],
            where: str,
            reported: Estimate | float,
            formula: str,
            rows: Callable[[], Rows],
            how: Aggregate | None = Aggregate.SUM,
            unit: str = "count",
            interval: str = NO_INTERVAL,
        ) -> Figure:
            words = Words(formula, _CLAIMED, "claims", unit, interval)
            return Figure((*names, *own), f"{place}.{where}", reported, words, rows, how)

        def of(values: Array, mask: Array = mine) -> Callable[[], Rows]:
            known = np.where(self.wrong < 0, values, np.nan)
            return lambda: self.rows(known, mask)

        yield figure(("claims",), "n", found.n, "claims with a confidence from 0 to 1", self.marked(usable))
        yield figure(("missing",), "n_missing", found.n_missing, "claims without one", self.marked(mine & ~usable))
        first = np.zeros(len(usable), dtype=bool)
        kept = np.flatnonzero(usable)
        first[kept[np.unique(self._rows.table.unit[self.all.sample[kept]], return_index=True)[1]]] = True
        yield figure(("cases",), "n_cases", found.n_cases, "cases with a claim", self.marked(first))
        yield figure(("errors",), "errors", found.errors, "claims that are wrong", of(~right, usable))
        if not found.n:
            return
        mean = Aggregate.MEAN
        yield figure(("error_rate",), "error_rate", found.error_rate, "wrong / n", of(~right), mean, "share", _RATE)
        formula = "mean of (confidence - 1 if right, else 0) squared"
        yield figure(("brier",), "brier", found.brier, formula, of((said - right) ** 2), mean, "number", _RATE)
        for number, bucket in enumerate(found.buckets):
            inside = usable & (said >= bucket.low) & ((said < bucket.high) | (number == 0))
            own, where = ("bucket", bucket.name), f"buckets[{number}]"
            formula = f"wrong claims with a confidence from {bucket.low:g}, below {bucket.high:g} unless surest"
            yield figure((*own, "errors"), f"{where}.errors", bucket.errors, formula, of(~right, inside))
            if bucket.error_rate.n:
                rate, formula = bucket.error_rate, "wrong / claims in the bucket"
                mine_rows = of(~right, inside)
                yield figure(
                    (*own, "error_rate"), f"{where}.error_rate", rate, formula, mine_rows, mean, "share", _RATE
                )
        yield from self._calibration(found, figure, of, usable)
        yield from self._thresholds(found, figure, of, usable)

    def _calibration(self, found: Claims, figure: Any, of: Any, usable: Array) -> Iterator[Figure]:
        calibration, said, right = found.calibration, self.all.confidence, self.all.right
        gap = of(said - right)
        formula = "sum over bins of |sum of confidences - number right| / n"
        yield figure(("ece",), "calibration.ece", calibration.ece, formula, gap, None, "number", _LUCK)
        if calibration.by_chance is not None:
            formula = f"the mean error of {RESAMPLES:,} resamples of cases if confidences were perfect"
            where = "calibration.by_chance"
            yield figure(("by_chance",), where, calibration.by_chance, formula, gap, None, "number", _LUCK)
        bins = len(calibration.bins)
        place = np.searchsorted(np.array([i / bins for i in range(1, bins)]), np.nan_to_num(said), side="right")
        if calibration.mce.value is not None:
            formula = f"the widest gap of mean confidence and share right of bins with {LEAST_CLAIMS} claims and more"
            wide = np.bincount(place[usable], minlength=bins) >= LEAST_CLAIMS
            values = np.where(wide[place], said - right, np.nan)
            yield figure(("mce",), "calibration.mce", calibration.mce, formula, of(values), None, "number", _LUCK)
        for number, each in enumerate(calibration.bins):
            if each.right.n and each.confidence is not None:
                own, where, inside = ("bin", str(number + 1)), f"calibration.bins[{number}]", usable & (place == number)
                share, average = "right / claims in the bin", "sum of confidences / claims in the bin"
                mean = Aggregate.MEAN
                rows = of(right, inside)
                yield figure((*own, "right"), f"{where}.right", each.right, share, rows, mean, "share", _RATE)
                rows, reported = of(said, inside), each.confidence
                yield figure((*own, "confidence"), f"{where}.confidence", reported, average, rows, mean, "number")

    def _thresholds(self, found: Claims, figure: Any, of: Any, usable: Array) -> Iterator[Figure]:
        raised, best, rows = found.raised, found.best, of(self.all.confidence)
        rule = (
            f"where more than half of a bucket's claims are wrong, of {LEAST_CLAIMS} and more; the surest such bucket"
        )
        bound = {"threshold": "the bucket's upper bound", "above": "its lower bound", "n": "its claims, or all of them"}
        for name, what in bound.items():
            if (reported := getattr(raised, name)) is not None:
                yield figure(("raised", name), f"raised.{name}", reported, f"{what}: {rule}", rows, None, "number")
        yield from self._split("raised", raised.split, raised.threshold, figure, of, usable)
        if best.gain.value is not None:
            formula = "what the kept claims are worth more, a claim, than all of them"
            yield figure(("best", "gain"), "best.gain", best.gain, formula, rows, None, "number", _LUCK)
        if best.threshold.value is not None:
            formula = "from where on the kept claims are worth the most; of several the lowest"
            yield figure(("best", "threshold"), "best.threshold", best.threshold, formula, rows, None, "number", _LUCK)
        yield from self._split("best", best.split, best.threshold.value, figure, of, usable)

    def _split(
        self, name: str, split: Split | None, threshold: float | None, figure: Any, of: Any, usable: Array
    ) -> Iterator[Figure]:
        """What a threshold keeps and loses; without one nothing is kept."""
        limit = math.inf if threshold is None else threshold
        for side, n in asdict(split).items() if split is not None else ():
            right, kept = side.startswith("right"), side.endswith("kept")
            hit = (self.all.right == right) & ((np.nan_to_num(self.all.confidence) >= limit) == kept)
            where = f"of {limit:g} and more" if kept else f"below {limit:g}"
            formula = f"{'right' if right else 'wrong'} claims {where}"
            yield figure((name, side), f"{name}.split.{side}", n, formula, of(hit, usable))


def cell_figures(report: Report, rows: RunRows) -> Iterator[Figure]:
    """Checks, stability and latency by case, and the best variant."""
    yield from _checks(report, rows)
    yield from _stability(report, rows)
    yield from _latency(report, rows)
    yield from _best(report, rows)


def _of_cells(
    rows: RunRows, values: Array, cells: Array | None = None, detail: Any = None, absent: float = 0.0
) -> Callable[[], Rows]:
    """Cells with a value above 0, all of them or some."""
    where = np.arange(len(values)) if cells is None else cells
    at = np.flatnonzero(values) if cells is None else np.arange(len(values))
    found = Contributions(values[at].astype(float), absent=absent, detail=detail)
    return lambda: (found, lambda row: rows.cell_key(int(where[at[row]])))


def _one(value: float, key: Key, detail: str = "") -> Callable[[], Rows]:
    return lambda: (Contributions(np.array([float(value)]), detail=lambda _: detail), lambda _: key)


def _checks(report: Report, rows: RunRows) -> Iterator[Figure]:
    found, count, data = report.summary.checks, rows.data.counted, rows.data
    if found is None or count is None:
        return
    never, figure = data.cells.absent, _check_figure

    blind = count.n_checks == 0
    for state, code in _STATES.items():
        absent = never if code < 0 else 0
        formula = f"cells that are {state}: held when every check is, broken when one is or most repeats are"
        own = _of_cells(rows, data.cell_states == code, absent=1.0)
        n = getattr(found, f"cells_{state}")
        yield figure(("cases", "count", state), f"cells_{state}", n, formula, own, absent)
        formula = f"checks of cells that are {state}; a cell of which no check is known is one undecided check"
        own = _of_cells(rows, count.of_cell(count.holds == code) + (blind if code < 0 else 0), absent=1.0)
        n = getattr(found, f"checks_{state}")
        yield figure(("checks", "count", state), f"checks_{state}", n, formula, own, absent)
    everything = _of_cells(rows, np.ones(data.cells.n), absent=1.0)
    formula = "cells that came + cells that never came"
    yield figure(("cases", "count", "all"), "n_cells", found.n_cells, formula, everything, never)
    unknown = _of_cells(rows, blind, absent=1.0)
    formula = "cells of which no check is known"
    yield figure(("cases", "count", "unknown"), "cells_unknown", found.cells_unknown, formula, unknown, never)
    yield from _rows_of_checks(report, rows)
    yield from _checks_of_cells(report)


def _check_figure(
    names: tuple[str, ...], place: str, n: float, formula: str, rows: Callable[[], Rows], absent: int = 0
) -> Figure:
    return Figure(names, f"checks.{place}", n, Words(formula, _CELLS, of="cells"), rows, absent=absent)


_RAN = {"passed": "passed", "failed": "failed", "not_run": "did not run"}
_STATES = {"held": HELD, "broken": BROKEN, "undecided": -1}


def _rows_of_checks(report: Report, rows: RunRows) -> Iterator[Figure]:
    """Every line of the table of checks."""
    found, count = report.summary.checks, rows.data.counted
    for number, check in enumerate(found.by_check if found is not None else ()):
        if count is None:
            return
        place, mine = f"by_check[{number}]", count.name == count.names.index(check.name)
        cells = count.cell[mine]
        for state, code in _STATES.items():
            names, formula = ("check", check.name, "cells", state), f"cells in which the check is {state}"
            here = cells[count.holds[mine] == code]
            own = _of_cells(rows, np.ones(len(here)), here)
            yield _check_figure(names, f"{place}.{state}", getattr(check, state), formula, own)
        for state, word in _RAN.items():
            names, formula = ("check", check.name, "answers", state), f"planned answers of its cells in which it {word}"
            own = _of_cells(rows, getattr(count, state)[mine], cells)
            yield _check_figure(names, f"{place}.{state}", getattr(check, state), formula, own)


def _checks_of_cells(report: Report) -> Iterator[Figure]:
    """The first cells one by one."""
    for number, cell in enumerate(report.summary.checks.cells if report.summary.checks is not None else ()):
        head, place = case_names(cell.case_id, cell.variant), f"cells[{number}]"
        key: Key = (cell.case_id, cell.variant, None)
        detail = f"{cell.clean} of {cell.decided} repeats clean"
        formula = "repeats in which every check passed"
        yield _check_figure((*head, "clean"), f"{place}.clean", cell.clean, formula, _one(cell.clean, key, detail))
        formula, decided = "repeats that are clean, or in which a check failed", _one(cell.decided, key, detail)
        yield _check_figure((*head, "decided"), f"{place}.decided", cell.decided, formula, decided)
        for at, each in enumerate(cell.checks):
            own, where = (*head, "check", each.name), f"{place}.checks[{at}]"
            detail = f"{each.passed} passed, {each.failed} failed, {each.not_run} did not run"
            for state, word in {**_RAN, "n": "was planned"}.items():
                n = getattr(each, state)
                rows = _one(n, key, detail)
                yield _check_figure((*own, state), f"{where}.{state}", n, f"repeats in which it {word}", rows)
            for i, value in enumerate(each.values):
                formula, name = "the figure that the check found, as recorded", (*own, "value", str(i + 1))
                yield _check_figure(name, f"{where}.values[{i}]", value, formula, _one(value, key))


def _stability(report: Report, rows: RunRows) -> Iterator[Figure]:
    found, seen, cells = report.summary.stability, rows.data.stability, rows.data.cells
    if found is None or seen is None:
        return
    how = "every repeat of a cell is compared with every other; items are paired by key"

    def detail(cell: int) -> str:
        planned = cells.planned_repeats[cell]
        both = f"{seen.shared[cell]} items in both, {seen.either[cell]} in either"
        return f"{seen.runs[cell]} of {planned} repeats read; {both}"

    def figure(
        names: tuple[str, ...], place: str, reported: Any, formula: str, own: Any, absent: int = 0, of: str = "cells"
    ) -> Figure:
        unit = "share" if isinstance(reported, Estimate) else "count"
        aggregate = Aggregate.RATIO if isinstance(reported, Estimate) else Aggregate.SUM
        words = Words(formula, how, of, unit, "none: one case is no sample of cases")
        return Figure(names, f"stability.{place}", reported, words, own, aggregate, absent=absent)

    for name, n in found.comparisons.items():
        column = seen.either if name == "presence" else seen.shared
        formula = "items in either of two repeats" if name == "presence" else "items in both of two repeats"
        yield figure(("stability", "comparisons", name), f"comparisons.{name}", n, formula, _of_cells(rows, column))
    formula = "items without the key"
    key: Key = ("(all)", "", None)
    yield figure(("stability", "items", "keyless"), "keyless", found.keyless, formula, _one(found.keyless, key))
    formula = "cells of which items may be asked for: all but those whose answers were read and have none"
    own = _of_cells(rows, ~seen.apart, absent=1.0)
    yield figure(("stability", "cells", "all"), "n_cells", found.n_cells, formula, own, cells.absent)
    listed = np.flatnonzero(~seen.apart)[: len(found.cells)].tolist()
    for number, (cell, at) in enumerate(zip(found.cells, listed, strict=True)):
        names, place = (*case_names(cell.case_id, cell.variant), "stability"), f"cells[{number}]"
        one: Key = (cell.case_id, cell.variant, None)
        formula = "repeats whose answer could be read"
        yield figure((*names, "runs"), f"{place}.runs", cell.runs, formula, _one(cell.runs, one, detail(at)))
        formula = "planned repeats without such an answer"
        yield figure(
            (*names, "missing"), f"{place}.missing", cell.missing, formula, _one(cell.missing, one, detail(at))
        )

        def share(estimate: Estimate, one: Key = one, at: int = at) -> Callable[[], Rows]:
            # The items behind it are its n.
            values = np.full(max(estimate.n, 1), estimate.value)
            found = Contributions(values, np.ones(len(values)), detail=lambda _: detail(at))
            return lambda: (found, lambda _: one)

        if cell.presence.value is not None:
            formula, rate = "items in both of two repeats / items in either", cell.presence
            yield figure((*names, "presence"), f"{place}.presence", rate, formula, share(rate), of="items")
        for name, estimate in cell.fields.items():
            if estimate.value is not None:
                formula, where = "how alike the field is / items in both repeats", f"{place}.fields.{name}"
                yield figure((*names, "field", name), where, estimate, formula, share(estimate), of="items")


def _latency(report: Report, rows: RunRows) -> Iterator[Figure]:
    found, table = report.summary.latency, rows.table
    if found is None:
        return
    times = _Times(rows)
    everything = np.ones(table.n, dtype=bool)
    yield from times.unanswered((), "latency", found, everything)
    for name in ("first_byte", "queued"):
        if (each := getattr(found, name)) is not None:
            values = np.where(np.isnan(times.latency), np.nan, table.reported(name))
            yield from times.spread(("latency", name), f"latency.{name}", each, values, everything)
    for number, bar in enumerate(found.bars):
        formula = f"answered calls that took {bar.low:g} s and more, and less than {bar.high:g} s"
        words = Words(formula, _ANSWERED, "calls", interval=_BARE)
        own = rows.marked((times.latency >= bar.low) & (times.latency < bar.high))
        yield Figure(("latency", "bar", str(number + 1)), f"latency.bars[{number}].count", bar.count, words, own)
    cells = Cells(table, rows.suite)
    called = np.flatnonzero(cells.count(~np.isnan(times.latency) | times.timed_out | times.failed))
    words = Words("cells with a call that was answered or failed", "answers from the cache are no calls", of="cells")
    seen = Contributions(np.ones(len(called)))

    def key(row: int) -> Key:
        return (*cells.key(int(called[row])), None)

    yield Figure(("latency", "cells"), "latency.n_cells", found.n_cells, words, lambda: (seen, key))
    for number, (cell, at) in enumerate(zip(found.cells, called.tolist(), strict=False)):
        names, place, mask = case_names(cell.case_id, cell.variant), f"latency.cells[{number}]", cells.of_sample == at
        yield from times.spread((*names, "latency"), f"{place}.spread", cell.spread, times.latency, mask)
        yield from times.unanswered(names, place, cell, mask)


class _Times:
    """How long the calls of a run took."""

    def __init__(self, rows: RunRows) -> None:
        self._rows = rows
        self.latency = rows.table.latency()
        self.timed_out, self.failed = rows.table.unanswered()

    def spread(
        self, names: tuple[str, ...], place: str, spread: Spread, values: Array, mask: Array
    ) -> Iterator[Figure]:
        """Mean, extremes, percentiles and n of some times."""
        at = np.flatnonzero(mask & ~np.isnan(values))
        for metric in metrics().values():
            point = metric.name.removeprefix("latency.")
            if metric.group == "latency" and (reported := getattr(spread, point, None)) is not None:
                words = Words(metric.formula, _ANSWERED, "calls", "s", _BARE)
                own = lambda: self._rows.samples(values, at)  # noqa: E731
                yield Figure((*names, point), f"{place}.{point}", reported, words, own, metric.aggregate, metric.point)
        words, ones = Words("calls with a time", _ANSWERED, "calls"), np.ones(len(values))
        yield Figure((*names, "n"), f"{place}.n", spread.n, words, lambda: self._rows.samples(ones, at))

    def unanswered(self, head: tuple[str, ...], place: str, of: Any, mask: Array) -> Iterator[Figure]:
        """Calls that ran out of time, and calls that failed in any other way."""
        for name, which, formula in (
            ("timeouts", self.timed_out, "calls that ran out of time"),
            ("failures", self.failed, "calls that failed in any other way"),
        ):
            words, own = Words(formula, _ANSWERED, "calls"), self._rows.marked(which & mask)
            yield Figure((*head, "latency", name), f"{place}.{name}", getattr(of, name), words, own)


def _best(report: Report, rows: RunRows) -> Iterator[Figure]:
    found = report.summary.best_variant
    if found is None:
        return
    cells = Cells(rows.table, rows.suite)
    means = cells.means(rows.table.score())
    asked = max(len(rows.suite.variants), len(cells.variants))
    planned = (rows.suite.n_planned or 0) // (asked * max(1, rows.suite.repeats))
    how = "repeats of a case are averaged first; cases for which one of the two has no score are missing"
    pairs = "made for all pairs of variants (Bonferroni)"
    for number, each in enumerate(found.differences):
        first, other = (means[:, cells.variants.index(name)] for name in (each.first, each.other))

        def case(row: int) -> Key:
            return rows.table.case_ids[row], "", None

        def own(first: Array = first, other: Array = other) -> Rows:
            def detail(row: int) -> str:
                return f"{first[row]:.4g} against {other[row]:.4g}"

            return Contributions(first - other, excluded=(("one of the two has no score", None),), detail=detail), case

        place, name = f"best_variant.differences[{number}]", ("best", each.other or NONE)
        formula = f"mean over cases of the score of {each.first or NONE} - that of {each.other or NONE}"
        interval = f"Student's t over the differences of cases, {pairs}"
        words, absent = Words(formula, how, "cases", "difference", interval, "lower"), max(0, planned - len(means))
        yield Figure(name, f"{place}.difference", each.estimate, words, own, Aggregate.MEAN, absent=absent)
        if each.p is not None:
            formula = f"two-sided p of the paired t-test, at least that of the sign test, {pairs}"
            words = replace(words, formula=formula, unit="number")
            yield Figure((*name, "p"), f"{place}.p", each.p, words, own, None, absent=absent)
