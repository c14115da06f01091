"""Findings: codes, places, confusions, and what fixing each code would gain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from steelyard.analysis.model import CodeFigure, FailingCodes, Pattern, Priority
from steelyard.frozen import frozen
from steelyard.metrics.figures import Slice
from steelyard.metrics.table import FORMAT, Table
from steelyard.stats.arrays import Array, add_at, distinct, pieces
from steelyard.stats.groups import Groups
from steelyard.stats.intervals import Estimate
from steelyard.store.base import Columns
from steelyard.store.contents import Contents
from steelyard.suite.models import SuiteModel
from steelyard.wording import percent, points

# What was taken for what, and where in the texts the errors are: over all findings of a run.

MOST_CONFUSIONS: Final = 10
_LOOKED_AT: Final = 50
_MOST_LOOKED_AT: Final = 1_000


@frozen
class ConfusionFigure:
    """One thing that was taken for another."""

    code: str
    expected: str
    got: str
    count: int
    samples: int
    """In how many samples."""


@frozen
class SectionFigure:
    """The errors that begin in one named region of the texts."""

    section: str
    count: int
    samples: int
    """In how many samples."""
    codes: dict[str, int]
    """How many of each code, most frequent first."""


def top_confusions(table: Table, suite: SuiteModel, contents: Contents) -> list[ConfusionFigure]:
    """What was taken for something else, most frequent first, the first ten.

    A score that a judge put too low and an answer in the wrong shape are no confusions, nor is what differs in more
    than what it is called.
    """
    sample, confusion = contents.confusion_sample, contents.confusion
    believed = table.conclusive[sample] if len(sample) else np.empty(0, dtype=bool)
    if not believed.any():
        return []
    digest, n = _most_frequent(confusion[believed])
    none = {FORMAT} | {component.finding_code for component in suite.components if component.kind in _JUDGED}
    results = []
    for rank, (code, expected, got) in _texts(contents, places_of(digest, confusion)):
        if code not in none and expected != got:
            samples, _ = distinct(sample[believed & (confusion == digest[rank])].astype(int))
            results.append(ConfusionFigure(code, expected, got, int(n[rank]), len(samples)))
        if len(results) == MOST_CONFUSIONS:
            break
    return sorted(results, key=lambda item: (-item.count, item.code, item.expected, item.got))


def _most_frequent(digests: Array) -> tuple[Array, Array]:
    """The most frequent of the digests, which are sorted in place, and how often they occur; equally frequent ones in
    their order."""
    digests.sort()
    # Of a million texts nearly all are different: only those that occur again are counted.
    again = digests[1:] == digests[:-1]
    repeated, n = distinct(digests[1:][again])
    ranked = np.argsort(-n, kind="stable")[:_MOST_LOOKED_AT]
    once = digests[~(np.pad(again, (1, 0)) | np.pad(again, (0, 1)))][: _MOST_LOOKED_AT - len(ranked)]
    return np.concatenate([repeated[ranked], once]), np.concatenate([n[ranked] + 1, np.ones(len(once), dtype=int)])


def places_of(digests: Array, among: Array) -> Array:
    """For each digest, all of which are there, one of the places that has it."""
    order = np.argsort(digests)
    ranked, result = digests[order], np.zeros(len(digests), dtype=np.int64)
    for piece in pieces(len(among) if len(digests) else 0):
        at = np.minimum(np.searchsorted(ranked, among[piece]), len(ranked) - 1)
        same = np.flatnonzero(ranked[at] == among[piece])
        result[order[at[same]]] = piece.start + same
    return result


_JUDGED: Final = ("dimension", "flag")


def _texts(contents: Contents, places: Array) -> Iterator[tuple[int, tuple[str, str, str]]]:
    """The ranks with their texts, fetched a few at a time."""
    for at in range(0, len(places), _LOOKED_AT):
        yield from enumerate(contents.confused(places[at : at + _LOOKED_AT].tolist()), at)


def section_figures(table: Table, columns: Columns) -> list[SectionFigure]:
    """The errors by the region they begin in, those with most first; none when no finding names a region."""
    if len(columns.finding_section) != len(columns.finding_sample) or not any(columns.finding_sections):
        return []
    believed = table.conclusive[columns.finding_sample.astype(int)]
    sample, section = columns.finding_sample[believed].astype(int), columns.finding_section[believed]
    code = columns.finding_code[believed]
    results = []
    for number, name in enumerate(columns.finding_sections):
        here = section == number
        if not name or not here.any():
            continue
        counts = np.bincount(code[here].astype(int), minlength=len(columns.finding_codes))
        codes = {item: int(counts[i]) for i, item in enumerate(columns.finding_codes) if counts[i]}
        frequent = dict(sorted(codes.items(), key=lambda pair: (-pair[1], pair[0])))
        results.append(SectionFigure(name, int(here.sum()), len(distinct(sample[here])[0]), frequent))
    return sorted(results, key=lambda item: (-item.count, item.section))


# How grave findings are, in order.

_GRAVEST_FIRST = ("critical", "major", "error", "minor", "warning", "info")
GRAVE = ("critical", "major")


def rank(severity: str) -> int:
    """0 for the gravest; one that says nothing is an error."""
    return _GRAVEST_FIRST.index(severity) if severity in _GRAVEST_FIRST else _GRAVEST_FIRST.index("error")


def severities(suite: SuiteModel) -> dict[str, str]:
    """By code, what the suite declares."""
    return {kind.code: kind.severity for kind in suite.taxonomy}


# Which grave errors are in the samples that fail, where no gain tells: their components have no weight.


def failing_codes(table: Table, codes: Sequence[CodeFigure], suite: SuiteModel) -> FailingCodes | None:
    """The critical and major codes of what has no weight, by the failing samples they are in; None without any."""
    available, failing = severities(suite), failing_samples(table)
    grave = [figure.code for figure in codes if not figure.has_weight and available.get(figure.code) in GRAVE]
    if not grave or not failing.any():
        return None
    counts = {code: int(failing_samples(table, code).sum()) for code in grave}
    # What a judge gave follows from what scorers found: the cause stands before it.
    judged = {component.finding_code for component in suite.components if component.kind in ("dimension", "flag")}
    order = sorted(
        (code for code in grave if counts[code]),
        key=lambda code: (code in judged, rank(available[code]), -counts[code]),
    )
    if not order:
        return None
    n_with = int(failing_samples(table, *grave).sum())
    return FailingCodes(int(failing.sum()), n_with, {code: counts[code] for code in order})


def with_finding(table: Table, *codes: str) -> Array:
    """The conclusive samples with a finding of one of the codes; FORMAT is what could not be read."""
    result = np.zeros(table.n, dtype=bool)
    for code in codes:
        if code == FORMAT:
            result |= table.malformed
        elif code in table.codes:
            result[table.finding_sample[table.finding_code == table.codes.index(code)]] = True
    return result


def failing_samples(table: Table, *codes: str) -> Array:
    """The samples that did not pass, all or those with a finding of one of the codes."""
    failing: Array = table.passed() == 0
    return failing & with_finding(table, *codes) if codes else failing


# What the average would be if the errors of one code were fixed, code by code: what to fix first.


def code_figures(
    table: Table, run: Groups, overall: Slice, severities: Mapping[str, str] | None = None
) -> list[CodeFigure]:
    """Every code that was found, what is worth most first; `run` is the whole run as one group.

    Codes of what has no weight come last, the gravest and most frequent of them first. A code
    with findings that no component stands behind (runs of before gains were noted) has no fixed average.
    """
    found = overall.counts("findings.<code>")
    if not found:
        return []
    fixing = _Fixing(table)
    results = [_figure(code, fixing, table, run, overall) for code in found]
    available = severities or {}

    def place(figure: CodeFigure) -> tuple[bool, float, int, str]:
        if figure.has_weight:
            return (False, -figure.gain, -figure.count, figure.code)
        return (
            True,
            rank(available.get(figure.code, "")),
            -overall.count(f"findings.{figure.code}.samples"),
            figure.code,
        )

    return sorted(results, key=place)


def _figure(code: str, fixing: _Fixing, table: Table, run: Groups, overall: Slice) -> CodeFigure:
    average = overall["average"]
    scores, at_most = fixing.if_fixed(table.codes.index(code))
    if scores is None or average.value is None:
        fixed, gain = Estimate(None, 0, overall.n_planned), 0.0
    else:
        fixed = run.means(scores)[0]
        # Rounded, so that equal gains do not change places with the order in which samples were added up.
        gain = max(0.0, round((fixed.value or 0.0) - average.value, 12))
        fixed = fixed if gain else average
    has_weight = fixing.has_weight(table.codes.index(code))
    count, rate = overall.count(f"findings.{code}"), overall[f"findings.{code}.rate"]
    return CodeFigure(code, count, rate, fixed, gain, at_most, has_weight)


def fixed_scores(table: Table, code: str) -> Array:
    """The scores as they would be without the findings of a code, whose worth is known."""
    scores, _ = _Fixing(table).if_fixed(table.codes.index(code))
    return table.score() if scores is None else scores


class _Fixing:
    """The scores of a run as they are, and what each finding would add to them."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._score = table.score()
        self._origin = table.finding_origin()
        self._part = np.empty(0)
        if self._origin is not None:
            # The last is what a code below 0 points at.
            self._part = np.array([*(table.weights.get(name, 0.0) for name in self._origin[1]), 0.0])
            self._available = np.array([*(name in table.scales for name in self._origin[1]), False])
            self._total = table.total_weight()

    def if_fixed(self, code: int) -> tuple[Array | None, bool]:
        """The scores with all findings of the code fixed, and whether some could not be read; None when not known."""
        table = self._table
        scores, at_most = self._score.copy(), False
        for piece in pieces(len(table.finding_sample)):
            here = np.flatnonzero(table.finding_code[piece] == code)
            sample = table.finding_sample[piece][here].astype(int)
            unread = table.malformed[sample]
            at_most = at_most or bool(unread.any())
            scores[sample[unread]] = 1.0
            rises = self._rises(piece, here[~unread], sample[~unread])
            if rises is None:
                return None, at_most
            add_at(scores, sample[~unread], rises)
        return np.minimum(scores, 1.0, out=scores), at_most

    def has_weight(self, code: int) -> bool:
        """False when all findings of the code are of components that count nothing in the score."""
        if self._origin is None:
            return True
        table = self._table
        for piece in pieces(len(table.finding_sample)):
            here = np.flatnonzero(table.finding_code[piece] == code)
            component = self._origin[0][piece][here].astype(int)
            unread = table.malformed[table.finding_sample[piece][here].astype(int)]
            if bool((unread | ~self._available[component] | (self._part[component] > 0)).any()):
                return True
        return False

    def _rises(self, piece: slice, here: Array, sample: Array) -> Array | None:
        if not len(here):
            return np.empty(0)
        if self._origin is None:
            return None
        component = self._origin[0][piece][here].astype(int)
        if not self._available[component].all():
            return None
        gain = self._origin[2][piece][here].astype(float)
        part, total = self._part[component], self._total[sample]
        rises: Array = gain * np.divide(part, total, out=np.zeros(len(here)), where=total > 0)
        return rises


def codes_by_component(table: Table) -> dict[str, set[str]]:
    """The codes of the findings that each component has made."""
    origin = table.finding_origin()
    if origin is None:
        return {}
    component, names, _ = origin
    n_codes = len(table.codes)
    seen = np.zeros((len(names) + 1) * n_codes, dtype=bool)
    for piece in pieces(len(component)):
        # A code below 0 takes the place after the last name.
        place = component[piece].astype(int) % (len(names) + 1)
        seen[place * n_codes + table.finding_code[piece]] = True
    table_of = seen.reshape(-1, n_codes)
    return {name: {table.codes[i] for i in np.flatnonzero(table_of[place])} for place, name in enumerate(names) if name}


# What goes wrong more than once, and what to fix first.

MOST_PATTERNS = 20
MOST_CASES = 50
SMALL_N = 5
"""Below this a share says little, and the sentence says so."""
_CODE_IN_GATE = re.compile(r"findings\.([^.\s=<>!]+)")
_WORTH_SAYING = 0.0005


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


def find_patterns(table: Table, groups: dict[str, Groups], suite: SuiteModel) -> tuple[list[Pattern], int]:
    """The most frequent patterns that at least two cases share, and how many patterns there are in all."""
    troubles = _all_troubles(table, groups, suite)
    return [_pattern(trouble, table) for trouble in troubles[:MOST_PATTERNS]], len(troubles)


def _all_troubles(table: Table, groups: dict[str, Groups], suite: SuiteModel) -> list[_Trouble]:
    """The most frequent first."""
    troubles = [*_components(table, groups, suite), *_codes(table, groups, suite), *_not_passing(table, groups)]
    return sorted(troubles, key=lambda trouble: trouble.rank)


def pattern_samples(table: Table, groups: dict[str, Groups], suite: SuiteModel) -> list[tuple[Array, Array]]:
    """Of every pattern, in the order of `find_patterns`, the samples in which it could be seen and those in which it
    was."""
    results = []
    for trouble in _all_troubles(table, groups, suite):
        wrong, available = (
            np.unpackbits(bits, count=table.n).view(bool) for bits in (trouble.wrong, trouble.available)
        )
        results.append((trouble.groups.samples_where(trouble.group, available), wrong))
    return results


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


def find_priorities(
    table: Table, overall: Slice, suite: SuiteModel, codes: Sequence[CodeFigure] = ()
) -> list[Priority]:
    """What to fix, by how much the average score would rise if each alone were fixed, the largest rise first.

    A component whose scorer tells several errors apart is spoken of code by code; any other is made perfect, which is
    exact for a weighted mean: each sample's weights are those of the components it was scored by, made to add up
    to 1. An answer that could not be read rises only when its format is fixed, which is a line of its own.
    """
    n = overall["average"].n
    if n == 0:
        return []
    named = _distinguished(table, suite, codes)
    spoken = {figure.code for item in named.values() for figure in item}
    results = [_code_priority(figure, overall) for figure in codes if figure.code in spoken]
    results += [
        # Rounded, so that equal gains do not change places with the order in which samples were added up.
        _priority(f"Improve {name}", name, overall[f"score.{name}.points"], table.scales[name], round(gain / n, 12))
        for name, gain in _gains(table).items()
        if name not in named
    ]
    malformed = overall["malformed_rate"]
    if malformed.value:
        gain = malformed.value * malformed.n / n
        results.append(_priority("Fix the format of answers", FORMAT, _complement(malformed), (0.0, 1.0), gain))
    asked = _asked_for(suite)
    worth = [item for item in results if item.gain >= _WORTH_SAYING or item.component in asked]
    return sorted(worth, key=lambda priority: (-priority.gain, priority.component))


def _asked_for(suite: SuiteModel) -> set[str]:
    """The codes that a gate or criterion speaks of: they may stop a release although fixing them gains no points."""
    criteria = [text or "" for criterion in suite.criteria for text in (criterion.passes, criterion.fails)]
    return {code for text in (*suite.gates, *criteria) for code in _CODE_IN_GATE.findall(text)}


def _distinguished(table: Table, suite: SuiteModel, codes: Sequence[CodeFigure]) -> dict[str, list[CodeFigure]]:
    """The components whose findings bear other codes than the component's own, with the figures of these codes."""
    figures = {figure.code: figure for figure in codes if figure.if_fixed.value is not None}
    own = {component.name: component.finding_code for component in suite.components}
    return {
        name: [figures[code] for code in sorted(result - {FORMAT})]
        for name, result in codes_by_component(table).items()
        if name in own and result - {own[name]} and result <= figures.keys()
    }


def _code_priority(figure: CodeFigure, overall: Slice) -> Priority:
    share, samples = figure.samples, overall.count(f"findings.{figure.code}.samples")
    findings = f"{figure.count} finding" + ("" if figure.count == 1 else "s")
    doubt = ", small n" if share.n < SMALL_N else ""
    worth = f"the average would be {percent(figure.if_fixed.value)}, {points(figure.gain)}"
    if figure.gain < _WORTH_SAYING:
        worth = "it gains no points, but a gate or criterion uses it"
    sentence = f"Fix {figure.code} ({findings} in {samples} of {share.n} samples{doubt}): {worth}"
    return Priority(sentence, figure.code, _complement(share), figure.gain)


def _gains(table: Table) -> dict[str, float]:
    """For each scored component, the sum over samples of what perfection in it would add to their scores."""
    return {name: float(np.nansum(component_gain(table, name))) for name in table.weights}


def component_gain(table: Table, name: str) -> Array:
    """By sample, what perfection in one component would add to its score; 0 where it was not scored or not read."""
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
