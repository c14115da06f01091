"""What goes wrong more than once, and what to mend first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.mending import codes_by_component
from steelyard.analysis.model import CodeFigure, Pattern, Priority, Slice
from steelyard.analysis.number_text import percent, points
from steelyard.metrics.table import FORMAT, Table
from steelyard.stats.arrays import Array, distinct, pieces
from steelyard.stats.groups import Groups
from steelyard.stats.intervals import Estimate
from steelyard.suite.models import SuiteDescription

MOST_PATTERNS = 20
MOST_CASES = 50
SMALL_N = 5
"""Below this a share says little, and the sentence says so."""
_CODE_IN_GATE = re.compile(r"findings\.([^.\s=<>!]+)")
_WORTH_SAYING = 0.0005


@dataclass(frozen=True, slots=True)
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
    known: Array
    """The same of the samples in which it could be seen."""

    @property
    def rank(self) -> tuple[int, float, str]:
        return (-self.count, -self.count / self.n, self.before)


@dataclass(frozen=True, slots=True)
class _Cut:
    """Where troubles are looked for: the words around a group's name and the numbers."""

    groups: Groups
    before: str
    between: str
    after: str
    parts_only: bool = False
    """Leave out a group that is the whole run, which another cut already speaks of."""


def find_patterns(table: Table, groups: dict[str, Groups], suite: SuiteDescription) -> tuple[list[Pattern], int]:
    """The most frequent patterns that at least two cases share, and how many patterns there are in all."""
    troubles = _all_troubles(table, groups, suite)
    return [_pattern(trouble, table) for trouble in troubles[:MOST_PATTERNS]], len(troubles)


def _all_troubles(table: Table, groups: dict[str, Groups], suite: SuiteDescription) -> list[_Trouble]:
    """The most frequent first."""
    troubles = [*_components(table, groups, suite), *_codes(table, groups, suite), *_not_passing(table, groups)]
    return sorted(troubles, key=lambda trouble: trouble.rank)


def pattern_samples(table: Table, groups: dict[str, Groups], suite: SuiteDescription) -> list[tuple[Array, Array]]:
    """Of every pattern, in the order of `find_patterns`, the samples in which it could be seen and those in which it
    was."""
    found = []
    for trouble in _all_troubles(table, groups, suite):
        wrong, known = (np.unpackbits(bits, count=table.n).view(bool) for bits in (trouble.wrong, trouble.known))
        found.append((trouble.groups.samples_where(trouble.group, known), wrong))
    return found


def _components(table: Table, groups: dict[str, Groups], suite: SuiteDescription) -> Iterator[_Trouble]:
    """Components below the mark at which their value counts as wrong, in answers that could be read."""
    marks = {component.name: component.wrong_below for component in suite.components}
    for name in table.components:
        if name not in marks:
            continue
        known, wrong = np.zeros(table.n, dtype=bool), np.zeros(table.n, dtype=bool)
        low, high = table.scales[name]
        for piece in pieces(table.n):
            values = table.component(name, piece)
            known[piece] = table.scored[piece] & ~np.isnan(values)
            # Rounded as when it was weighed, so that every low value here is a finding there.
            wrong[piece] = known[piece] & (np.round((values - low) / (high - low), 12) < marks[name])
        for cut in _cuts(groups, f"{name} below {100 * marks[name]:.4g} %"):
            yield from _troubles(table, cut, wrong, known)


def _codes(table: Table, groups: dict[str, Groups], suite: SuiteDescription) -> Iterator[_Trouble]:
    """Findings other than those that a low component already stands for."""
    own = {component.finding_code for component in suite.components if component.kind != "flag"}
    for i, code in enumerate(table.codes):
        if code in own:
            continue
        wrong = np.zeros(table.n, dtype=bool)
        wrong[table.finding_sample[table.finding_code == i]] = True
        for cut in _cuts(groups, code):
            yield from _troubles(table, cut, wrong, table.conclusive)


def _cuts(groups: dict[str, Groups], what: str) -> Iterator[_Cut]:
    if "category" in groups:
        yield _Cut(groups["category"], f"{what} in ", " (", ")")
    else:
        yield _Cut(groups[""], what, " (", ")")
    if "tag" in groups:
        yield _Cut(groups["tag"], f"{what} with tag ", " (", ")", parts_only=True)


def _not_passing(table: Table, groups: dict[str, Groups]) -> Iterator[_Trouble]:
    passed = table.passed()
    known, wrong = passed >= 0, passed == 0
    for factor in ("difficulty", "variant", "tag"):
        if factor in groups:
            cut = _Cut(groups[factor], f"{factor} ", ": ", " do not pass", parts_only=True)
            yield from _troubles(table, cut, wrong, known)


def _troubles(table: Table, cut: _Cut, wrong: Array, known: Array) -> Iterator[_Trouble]:
    groups = cut.groups
    n, count, cases = groups.count(known), groups.count(wrong), groups.count_cases(wrong)
    bits, seen = np.packbits(wrong), np.packbits(known)
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


def find_priorities(
    table: Table, overall: Slice, suite: SuiteDescription, codes: Sequence[CodeFigure] = ()
) -> list[Priority]:
    """What to mend, by how much the average score would rise if each alone were mended, the largest rise first.

    A component whose scorer tells several errors apart is spoken of code by code; any other is made perfect, which is
    exact for a weighted mean: each sample's weights are those of the components it was weighed by, made to add up
    to 1. An answer that could not be read rises only when its format is mended, which is a line of its own.
    """
    n = overall.average.n
    if n == 0:
        return []
    named = _told_apart(table, suite, codes)
    spoken = {figure.code for each in named.values() for figure in each}
    found = [_code_priority(figure, overall) for figure in codes if figure.code in spoken]
    found += [
        # Rounded, so that equal gains do not change places with the order in which samples were added up.
        _priority(f"Improve {name}", name, overall.components[name], table.scales[name], round(gain / n, 12))
        for name, gain in _gains(table).items()
        if name not in named
    ]
    malformed = overall.outcome_rates["malformed"]
    if malformed.value:
        gain = malformed.value * malformed.n / n
        found.append(_priority("Mend the format of answers", FORMAT, _complement(malformed), (0.0, 1.0), gain))
    asked = _asked_for(suite)
    worth = [each for each in found if each.gain >= _WORTH_SAYING or each.component in asked]
    return sorted(worth, key=lambda priority: (-priority.gain, priority.component))


def _asked_for(suite: SuiteDescription) -> set[str]:
    """The codes that a gate or criterion speaks of: they may stop a release although mending them gains no points."""
    criteria = [text or "" for criterion in suite.criteria for text in (criterion.passes, criterion.fails)]
    return {code for text in (*suite.gates, *criteria) for code in _CODE_IN_GATE.findall(text)}


def _told_apart(table: Table, suite: SuiteDescription, codes: Sequence[CodeFigure]) -> dict[str, list[CodeFigure]]:
    """The components whose findings bear other codes than the component's own, with the figures of these codes."""
    figures = {figure.code: figure for figure in codes if figure.mended.value is not None}
    own = {component.name: component.finding_code for component in suite.components}
    return {
        name: [figures[code] for code in sorted(found - {FORMAT})]
        for name, found in codes_by_component(table).items()
        if name in own and found - {own[name]} and found <= figures.keys()
    }


def _code_priority(figure: CodeFigure, overall: Slice) -> Priority:
    share, samples = figure.samples, overall.finding_samples[figure.code]
    findings = f"{figure.count} finding" + ("" if figure.count == 1 else "s")
    doubt = ", small n" if share.n < SMALL_N else ""
    worth = f"the average would be {percent(figure.mended.value)}, {points(figure.gain)}"
    if figure.gain < _WORTH_SAYING:
        worth = "it gains no points, but a gate or criterion stands on it"
    sentence = f"Mend {figure.code} ({findings} in {samples} of {share.n} samples{doubt}): {worth}"
    return Priority(sentence, figure.code, _complement(share), figure.gain)


def _gains(table: Table) -> dict[str, float]:
    """For each weighed component, the sum over samples of what perfection in it would add to their scores."""
    return {name: float(np.nansum(component_gain(table, name))) for name in table.weights}


def component_gain(table: Table, name: str) -> Array:
    """By sample, what perfection in one component would add to its score; 0 where it was not weighed or not read."""
    (low, high), weight = table.scales[name], table.weights[name]
    gain = np.full(table.n, np.nan)
    for piece in pieces(table.n):
        scored, total = table.scored[piece], table.total_weight(piece)
        lacking = (high - np.where(scored, table.component(name, piece), np.nan)) / (high - low)
        gain[piece] = np.where(
            table.conclusive[piece], np.nan_to_num(weight * lacking / np.maximum(total, weight)), np.nan
        )
    gain[np.isnan(table.score())] = np.nan
    return gain


def _priority(what: str, component: str, average: Estimate, scale: tuple[float, float], gain: float) -> Priority:
    low, high = scale
    share = 0.0 if average.value is None else (average.value - low) / (high - low)
    base = f"n {average.n}" + (", small n" if average.n < SMALL_N else "")
    sentence = f"{what} (average {percent(share)}, {base}): worth up to {points(gain)}"
    return Priority(sentence, component, average, gain)


def _complement(rate: Estimate) -> Estimate:
    if rate.value is None:
        return rate
    low = None if rate.high is None else 1 - rate.high
    high = None if rate.low is None else 1 - rate.low
    return Estimate(1 - rate.value, rate.n, rate.n_missing, low, high)
