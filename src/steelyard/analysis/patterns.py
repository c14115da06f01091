"""What goes wrong more than once: components below their mark, codes and samples that do not pass, group by group."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steelyard.analysis.fixes import SMALL_N, with_finding
from steelyard.analysis.model import Pattern
from steelyard.frozen import frozen
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import Contributions, Key, Metric, Names, register, same_but
from steelyard.metrics.run_data import RunData
from steelyard.metrics.table import Table
from steelyard.stats.arrays import Array, distinct, pieces
from steelyard.stats.groups import Groups
from steelyard.stats.intervals import Estimate
from steelyard.suite.models import SuiteModel

MOST_PATTERNS = 20
MOST_CASES = 50


@frozen
class _Trouble:
    """One group in which something went wrong in `count` of `n` samples; the numbers stand between the words."""

    count: int
    n: int
    n_cases: int
    before: str
    after: str
    groups: Groups
    group: int
    wrong: Array
    """A bit for each sample."""
    available: Array
    """The same of the samples in which it could be seen."""

    @property
    def rank(self) -> tuple[int, float, str]:
        return (-self.count, -self.count / self.n, self.before)


@frozen
class _Cut:
    """Where troubles are looked for: the words around a group's name and the numbers."""

    groups: Groups
    before: str
    between: str
    after: str
    parts_only: bool = False
    """Leave out a group that is the whole run, which another cut already speaks of."""


def find_patterns(data: RunData) -> list[Pattern]:
    """The most frequent patterns that at least two cases share."""
    return [_pattern(trouble, data.table) for trouble in data.once(_all_troubles)[:MOST_PATTERNS]]


def _all_troubles(data: RunData) -> list[_Trouble]:
    """The most frequent first."""
    table, groups, suite = data.table, data.groups, data.suite
    troubles = [*_components(table, groups, suite), *_codes(table, groups, suite), *_not_passing(table, groups)]
    return sorted(troubles, key=lambda trouble: trouble.rank)


def _components(table: Table, groups: dict[str, Groups], suite: SuiteModel) -> Iterator[_Trouble]:
    """Components below the mark at which their value counts as wrong, in answers that could be read."""
    marks = {component.name: component.wrong_below for component in suite.components}
    for name in table.components:
        if name not in marks:
            continue
        available, wrong = np.zeros(table.n, dtype=bool), np.zeros(table.n, dtype=bool)
        low, high = table.scales[name]
        for piece in pieces(table.n):
            values = table.component(name, piece)
            available[piece] = table.scored[piece] & ~np.isnan(values)
            # Rounded as when it was scored, so that every low value here is a finding there.
            wrong[piece] = available[piece] & (np.round((values - low) / (high - low), 12) < marks[name])
        for cut in _cuts(groups, f"{name} below {100 * marks[name]:.4g} %"):
            yield from _troubles(table, cut, wrong, available)


def _codes(table: Table, groups: dict[str, Groups], suite: SuiteModel) -> Iterator[_Trouble]:
    """Findings other than those that a low component already stands for."""
    own = {component.finding_code for component in suite.components if component.kind != "flag"}
    for code in table.codes:
        if code in own:
            continue
        wrong = with_finding(table, code)
        for cut in _cuts(groups, code):
            yield from _troubles(table, cut, wrong, table.conclusive)


def _cuts(groups: dict[str, Groups], what: str) -> Iterator[_Cut]:
    if "category" in groups:
        yield _Cut(groups["category"], f"{what} in ", " (", ")")
    else:
        yield _Cut(groups[""], what, " (", ")")
    for factor in [name for name in groups if name not in ("", "category", "difficulty", "variant")]:
        yield _Cut(groups[factor], f"{what} with {factor} ", " (", ")", parts_only=True)


def _not_passing(table: Table, groups: dict[str, Groups]) -> Iterator[_Trouble]:
    passed = table.passed()
    available, wrong = passed >= 0, passed == 0
    for factor in [name for name in groups if name not in ("", "category")]:
        cut = _Cut(groups[factor], f"{factor} ", ": ", " do not pass", parts_only=True)
        yield from _troubles(table, cut, wrong, available)


def _troubles(table: Table, cut: _Cut, wrong: Array, available: Array) -> Iterator[_Trouble]:
    groups = cut.groups
    n, count, cases = groups.count(available), groups.count(wrong), groups.count_cases(wrong)
    bits, seen = np.packbits(wrong), np.packbits(available)
    for g in np.flatnonzero(cases >= 2):
        if not (cut.parts_only and groups.planned[g] == table.n):
            words = cut.before + groups.names[g] + cut.between
            yield _Trouble(int(count[g]), int(n[g]), int(cases[g]), words, cut.after, groups, int(g), bits, seen)


def _pattern(trouble: _Trouble, table: Table) -> Pattern:
    wrong = np.unpackbits(trouble.wrong, count=table.n).view(bool)
    cases, _ = distinct(table.case[trouble.groups.samples_where(trouble.group, wrong)])
    numbers = f"{trouble.count} of {trouble.n}"
    if len(cases) < trouble.count:
        numbers += f" samples, {len(cases)} cases"
    doubt = ", small n" if trouble.n < SMALL_N else ""
    after = trouble.after.removesuffix(")") + doubt + ")" if trouble.after.endswith(")") else trouble.after + doubt
    return Pattern(
        sentence=trouble.before + numbers + after,
        count=trouble.count,
        cases=tuple(table.case_ids[i] for i in cases[:MOST_CASES].tolist()),
        n=trouble.n,
        n_cases=len(cases),
    )


def _pattern_at(data: RunData, names: Names) -> tuple[str, Array, Array]:
    """The sentence of a pattern, the samples in which it could be seen, and which of all samples it was seen in."""
    trouble = data.once(_all_troubles)[int(names[0]) - 1]
    wrong, available = (
        np.unpackbits(bits, count=data.table.n).view(bool) for bits in (trouble.wrong, trouble.available)
    )
    seen = np.zeros(data.table.n, dtype=bool)
    seen[trouble.groups.samples_where(trouble.group, available)] = True
    return _pattern(trouble, data.table).sentence, seen, wrong


def _wrong(data: RunData, names: Names) -> Contributions:
    sentence, seen, wrong = _pattern_at(data, names)
    return Contributions(np.where(seen, wrong, np.nan), words=sentence, not_missing=~seen)


def _seen(data: RunData, names: Names) -> Contributions:
    sentence, seen, _ = _pattern_at(data, names)
    return Contributions(np.where(seen, 1.0, np.nan), words=sentence, not_missing=~seen)


def _cases_once(data: RunData, names: Names) -> Contributions:
    """The first sample of every case that it is true of."""
    sentence, seen, wrong = _pattern_at(data, names)
    rows = np.flatnonzero(seen & wrong)
    first = rows[np.unique(data.table.case[rows], return_index=True)[1]]
    values = np.full(data.table.n, np.nan)
    values[first] = 1.0
    return Contributions(values, words=sentence, not_missing=np.isnan(values))


def _listed(data: RunData) -> list[Names]:
    return [(str(at + 1),) for at in range(min(MOST_PATTERNS, len(data.once(_all_troubles))))]


def _n_patterns(data: RunData, _: Names) -> Estimate:
    n = int(data.table.conclusive.sum())
    missing = data.table.n + data.absent - n
    return Estimate(float(len(data.once(_all_troubles))) if n else None, n, missing)


def _every_pattern(data: RunData, _: Names) -> Contributions:
    every = data.once(_all_troubles)

    def key(row: int) -> Key:
        return f"pattern {row + 1}", "", None

    return Contributions(np.ones(len(every)), detail=lambda row: f"{every[row].count} samples", key=key)


_ONE = register(
    Metric(
        "pattern.<n>",
        "count",
        "samples of which the sentence of a pattern is true",
        "samples of which the sentence is true",
        "samples in which it could be seen",
        Aggregate.SUM,
        _wrong,
        "lower",
        gate=False,
        sliced=False,
        listed=True,
        all_names=_listed,
        stands_on="samples in which it could be seen",
    )
)
register(
    same_but(
        _ONE,
        name="pattern.<n>.cases",
        about="cases with at least one such sample",
        formula="cases with at least one such sample",
        contributions=_cases_once,
        of="cases",
        stands_on="cases with such a sample",
    )
)
register(
    same_but(
        _ONE,
        name="pattern.<n>.n",
        about="samples in which it could be seen",
        formula="samples in which it could be seen",
        contributions=_seen,
    )
)
register(
    same_but(
        _ONE,
        name="patterns",
        about="how many things go wrong in samples of at least two different cases",
        formula="what is wrong in samples of at least two different cases",
        counts="every component below its mark and every other code is looked for in each category, tag and slice by a"
        " field, and not passing in each difficulty, variant, tag and slice by a field; a slice of all samples is no"
        " part",
        contributions=_every_pattern,
        figure=_n_patterns,
        listed=False,
        all_names=None,
        stands_on="conclusive samples",
    )
)
