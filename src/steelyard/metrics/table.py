"""A run's columns under the rules on what counts as what, which are applied here, once.

A malformed answer has score 0 and has not passed. An inconclusive sample has no score, no band and no findings.
A sample that another kind of judge has read than the run's own is excluded, as if it were inconclusive: the readings
of two modes are never put into one figure.
"""

from __future__ import annotations

from copy import copy
from functools import cached_property

import numpy as np

from steelyard.metrics.registry import Reasons
from steelyard.records import TIMEOUTS, Outcome
from steelyard.stats.arrays import Array, distinct, tally, translated
from steelyard.stats.groups import Groups
from steelyard.store.base import Columns
from steelyard.suite.case import NONE
from steelyard.suite.models import SuiteModel
from steelyard.suite.values import slice_tag

TARGET_FAILED = "the target failed: inconclusive"
JUDGE_FAILED = "the judge failed: inconclusive"
EXCLUDED = "excluded: judged by another kind of judge than the run's"
MISSING = "planned and missing"
FORMAT = "FORMAT"
"""The code of an answer in the wrong shape, which every suite knows."""
_EVERYTHING = slice(None)
_EASY_TO_HARD = ("trivial", "easy", "simple", "medium", "moderate", "normal", "hard", "difficult", "expert")


class Table:
    """The samples of a run. Wide columns are made when asked for, so that a run never holds two copies of itself.

    NaN is "not known", and so is a code below 0.
    """

    def __init__(self, columns: Columns, suite: SuiteModel) -> None:
        self._columns = columns
        self._declared = {component.name: component for component in suite.components}
        self._bands, self._has_threshold = suite.bands, suite.passing is not None
        self.measures = {name: item.measures for name, item in self._declared.items() if item.measures}
        """By component, what its scorer measures besides the value."""
        self.means = {name: item.means for name, item in self._declared.items() if item.means}
        """By component, the means of some of these measures."""
        self.n = columns.n
        self.case, self.case_ids = columns.case, columns.case_ids
        self.unit, self.unit_names = columns.units()
        """The unit of evidence of each sample: its case, or the cluster that the case is in."""
        self.variant, self.variants = columns.variant, columns.variants
        self.outcome, self.outcomes = columns.outcome, columns.outcomes
        self.malformed = self._is(Outcome.MALFORMED)
        scored = self._is(Outcome.SCORED)
        self.excluded = scored & self._in_another_mode(suite)
        """Scored in another mode than the run's main one."""
        self.scored = scored & ~self.excluded
        self.conclusive = self.malformed | self.scored
        self.components = [name for name in self._declared if name in columns.components]
        self.components += sorted(set(columns.components) - set(self.components))
        self.scales = dict.fromkeys(columns.components, (0.0, 1.0))
        self.scales |= {name: item.scale for name, item in self._declared.items()}
        declared = [band.name for band in self._bands]
        self.bands = declared + sorted(set(columns.bands) - set(declared))
        available = {FORMAT} | {kind.code for kind in suite.taxonomy}
        # A flag that fails nothing makes no findings: whether it has a code, the taxonomy says. What a judge says
        # beyond its scores makes none.
        available |= {item.finding_code for item in self._declared.values() if item.kind not in ("flag", "stated")}
        self.codes = sorted(available | set(columns.finding_codes))
        """All codes the suite knows or the run has."""
        self.finding_sample, self.finding_code = self._findings()
        weights = {name: self._declared[name].weight for name in self.components if name in self._declared}
        self.weights = {name: weight for name, weight in weights.items() if weight > 0}
        """The components that count in a score."""

    @cached_property
    def left_out(self) -> Reasons:
        """Why samples say nothing about the system."""
        return (
            (TARGET_FAILED, self._is(Outcome.TARGET_FAILED)),
            (JUDGE_FAILED, self._is(Outcome.JUDGE_FAILED)),
            (EXCLUDED, self.excluded),
        )

    def unit_of_case(self) -> Array:
        """By case, the unit of evidence that it is in."""
        unit = np.zeros(len(self.case_ids), dtype=np.int64)
        unit[self.case] = self.unit
        return unit

    def _is(self, outcome: Outcome) -> Array:
        codes = [i for i, name in enumerate(self.outcomes) if name == outcome]
        return self.outcome == codes[0] if codes else np.zeros(self.n, dtype=bool)

    def _in_another_mode(self, suite: SuiteModel) -> Array:
        columns, main = self._columns, suite.judge and suite.judge.mode
        if main is None or len(columns.mode) != self.n:
            return np.zeros(self.n, dtype=bool)
        if main not in columns.modes:
            return np.ones(self.n, dtype=bool)
        return np.asarray(columns.mode != columns.modes.index(main))

    @property
    def modes(self) -> list[str]:
        """The kinds of judges behind the scores, main or not; none for a run without a judge."""
        return list(self._columns.modes) if len(self._columns.mode) == self.n else []

    def read_in(self, mode: str, component: str | None = None) -> Array:
        """Scores, or the values of a component, of the samples that were scored in one mode and of no others."""
        here = (self.scored | self.excluded) & (self._columns.mode == self._columns.modes.index(mode))
        values = self._columns.score if component is None else self._columns.components[component]
        return np.where(here, values, np.nan)

    def score(self) -> Array:
        """Scores; 0 for what could not be read."""
        score = self._believed(self._columns.score, _EVERYTHING)
        score[self.malformed] = 0.0
        return score

    def passed(self) -> Array:
        """1 passed, 0 not, -1 unknown."""
        passed = np.where(self.conclusive, self._columns.passed, -1).astype(np.int8)
        if self._has_threshold:
            passed[self.malformed] = 0
        return passed

    def band(self) -> Array:
        """Codes into `bands`."""
        place = {name: i for i, name in enumerate(self.bands)}
        band = translated(self._columns.band, [place[name] for name in self._columns.bands])
        band[~self.conclusive] = -1
        lowest = [i for i, item in enumerate(self._bands) if item.at_least <= 0]
        if lowest:
            band[self.malformed & (band < 0)] = lowest[-1]
        return band

    def component(self, name: str, piece: slice = _EVERYTHING) -> Array:
        """Values of a component; what could not be read earned nothing, where there was truth to meet.

        A component that cases may skip has no value there: nothing says whether this case would have skipped it.
        """
        values = self._believed(self._columns.components[name], piece)
        if name in self._declared and self._declared[name].when_unknown != "skip":
            values[self.malformed[piece] & np.isnan(values)] = self.scales[name][0]
        return values

    def total_weight(self, piece: slice = _EVERYTHING) -> Array:
        """The sum of the weights that each scored sample was scored with, which skipped components have no part in."""
        total = np.zeros(len(self.scored[piece]))
        for name, weight in self.weights.items():
            total += weight * ~np.isnan(self._columns.components[name][piece])
        return total * self.scored[piece]

    def count(self, component: str, name: str) -> Array | None:
        """One of the counts of a component; None when the run has none of that name.

        A flag that is set counts in a sample that is excluded, too: a text must not talk itself out of it.
        """
        counts = self._columns.counts.get(component, {})
        result = counts.get(name)
        if result is None:
            return None
        believed = self._believed(result, _EVERYTHING)
        declared = self._declared.get(component)
        if declared is not None and declared.kind == "flag" and "flagged" in counts:
            raised = self.excluded & (counts["flagged"] > 0)
            believed[raised] = result[raised]
        return believed

    def latency(self) -> Array:
        """Seconds of the calls that were answered and timed; answers from a cache were no calls."""
        latency = self.reported("latency")
        latency[self._is(Outcome.TARGET_FAILED)] = np.nan
        # Nobody was called, and the time it took once was another load's.
        latency[self.cached()] = np.nan
        return latency

    def cached(self) -> Array:
        """The answers that came from the cache."""
        return self._flag(self._columns.cached)

    def times(self, name: str = "latency") -> tuple[Array, Array]:
        """One of the times of every call in seconds, and which are lower bounds: a call that timed out took at least
        the time waited.

        `first_byte` and `first_token` are known of calls that timed out after it; of a run whose target does not tell
        them there are none.
        """
        latency, timed_out = self.latency(), self.unanswered()[0] & ~self.cached()
        waited = np.nan_to_num(self.reported("latency"))
        if name == "latency":
            return np.where(timed_out, waited, latency), timed_out
        told = self.reported(name)
        values = np.where(np.isnan(latency) & ~timed_out, np.nan, told)
        if name == "queued" or not np.isfinite(values).any():
            return values, np.zeros(self.n, dtype=bool)
        censored = timed_out & np.isnan(told)
        # Under an open load, the time waited counts from the moment that the call was due.
        return np.where(censored, waited - np.nan_to_num(self.reported("queued")), values), censored

    def tokens_per_second(self) -> Array:
        """Of answers that were streamed, the tokens per second after the first."""
        latency, first = self.latency(), self.reported("first_token")
        # Under an open load, the latency counts from the moment that the call was due.
        seconds = latency - np.nan_to_num(self.reported("queued")) - first
        tokens = self.reported("tokens_out") - 1
        timed = (seconds > 0) & (tokens > 0)
        result: Array = np.divide(tokens, seconds, out=np.full(self.n, np.nan), where=timed)
        return result

    def unanswered(self) -> tuple[Array, Array]:
        """The calls that ran out of time, and those that failed in any other way."""
        columns, failed = self._columns, self._is(Outcome.TARGET_FAILED)
        if len(columns.failure) != self.n:
            return np.zeros(self.n, dtype=bool), failed
        timed_out = failed & np.isin(
            columns.failure, [i for i, kind in enumerate(columns.failures) if kind in TIMEOUTS]
        )
        return timed_out, failed & ~timed_out

    def reused(self) -> Array:
        """The answers that are no new evidence of the system: from the cache, or from that of the provider."""
        return self.cached() | self._flag(self._columns.provider_cached)

    def copied(self) -> Array:
        """The answers that are that of an earlier repeat of their case and variant."""
        return self._flag(self._columns.copied)

    def of_repeats(self) -> Table:
        """The samples as figures over repeats count them: copies of an earlier repeat are no repeats, and undecided."""
        copied = self.copied()
        if not copied.any():
            return self
        table = copy(self)
        for name in ("malformed", "excluded", "scored", "conclusive"):
            setattr(table, name, getattr(self, name) & ~copied)
        return table

    def _flag(self, column: Array) -> Array:
        return column.astype(bool) if len(column) == self.n else np.zeros(self.n, dtype=bool)

    def attempts(self) -> Array:
        """Attempts of the calls; NaN where no call was made: of answers from the cache, replayed and imported ones."""
        tries = self.reported("tries")
        tries[np.isnan(tries)] = 1.0
        return np.where(tries > 0, tries, np.nan)

    def first_failed(self) -> Array:
        """The calls whose first attempt failed, whatever came of later ones."""
        attempts, failed = self.attempts(), np.logical_or(*self.unanswered())
        return np.asarray((attempts > 1) | (failed & (attempts > 0)))

    def first_failures(self) -> tuple[Array, list[str]]:
        """How the first attempts that failed did so, as codes into the kinds; -1 where none failed."""
        columns = self._columns
        kinds = list(dict.fromkeys(["unknown", *columns.failures, *columns.first_failures]))
        codes = np.zeros(self.n, dtype=np.int64)
        for column, names in ((columns.failure, columns.failures), (columns.first_failure, columns.first_failures)):
            if len(column) == self.n and names:
                codes = np.where(column >= 0, translated(column, [kinds.index(name) for name in names]), codes)
        return np.where(self.first_failed(), codes, -1), kinds

    def error_answers(self) -> Array:
        """The calls that were answered with an error, as their case asked for."""
        return self._flag(self._columns.error_answer)

    def reported(self, name: str) -> Array:
        """A column that calls may leave out."""
        values: Array = getattr(self._columns, name)
        return values.astype(float) if len(values) == self.n else np.full(self.n, np.nan)

    def _believed(self, values: Array, piece: slice) -> Array:
        believed = values[piece].astype(float)
        believed[~self.conclusive[piece]] = np.nan
        return believed

    def _findings(self) -> tuple[Array, Array]:
        place = {name: i for i, name in enumerate(self.codes)}
        result = self._columns
        if not len(result.finding_sample):
            return np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.uint32)
        code = translated(result.finding_code, [place[name] for name in result.finding_codes])
        believed = self.conclusive[result.finding_sample]
        return result.finding_sample[believed], code[believed]

    def finding_origin(self) -> tuple[Array, list[str], Array] | None:
        """The component behind each finding (codes into the names beside it) and its gain; None when nobody noted it.

        An empty name, or a code below 0, is of a finding that belongs to no component.
        """
        result = self._columns
        n = len(result.finding_sample)
        if not n or len(result.finding_component) != n or len(result.finding_gain) != n:
            return None
        if len(self.finding_sample) == n:
            return result.finding_component, result.finding_components, result.finding_gain
        believed = self.conclusive[result.finding_sample]
        return result.finding_component[believed], result.finding_components, result.finding_gain[believed]

    def findings_once(self) -> tuple[Array, Array]:
        """Samples and codes of the findings, a code that a sample has several times only once."""
        n_codes = len(self.codes)
        pair, _ = distinct(self.finding_sample.astype(int) * n_codes + self.finding_code)
        return pair // n_codes, pair % n_codes


def cut(columns: Columns, suite: SuiteModel, absent: int) -> dict[str, Groups]:
    """The groups of every factor that the run uses; `""` is the whole run, of which `absent` samples missing."""
    codes_of_units, units = columns.units()
    unit = codes_of_units if len(units) < columns.n else None
    results = {"": Groups([""], np.zeros(columns.n, dtype=np.int8), unit, absent=absent)}
    for factor, codes, names in (
        ("category", columns.category, columns.categories),
        ("difficulty", columns.difficulty, columns.difficulties),
        ("variant", columns.variant, columns.variants),
    ):
        if any(name for name in names) and (codes >= 0).any():
            results[factor] = _ordered(factor, codes, [*names, NONE], suite, unit)
    for factor, level_of in suite.variant_factors.items():
        # Variants of which the suite knows nothing, if any, are of no level.
        given = [level_of.get(name, "") for name in columns.variants]
        levels = list(dict.fromkeys(level for level in level_of.values() if level in given))
        codes = translated(columns.variant, [levels.index(level) if level else len(levels) for level in given])
        results[f"variant.{factor}"] = Groups([*levels, *([NONE] if "" in given else [])], codes, unit)
    if len(columns.tag):
        n_tags = len(columns.tags)
        pair, _ = distinct(columns.tag_sample.astype(int) * n_tags + columns.tag)
        rows, codes = (pair // n_tags).astype(np.uint32), pair % n_tags
        # A slice by a field of the case is stored as a tag, `input.language=de`.
        marks = {path: slice_tag(path, "") for path in suite.slices}
        field_of = [next((path for path in marks if name.startswith(marks[path])), "tag") for name in columns.tags]
        for factor in (*suite.slices, "tag"):
            here = np.array([name == factor for name in field_of])[codes]
            if here.any():
                names = [name.removeprefix(marks.get(factor, "")) for name in columns.tags]
                results[factor] = _ordered(factor, codes[here], [*names, NONE], suite, unit, rows[here])
    return results


def _ordered(
    factor: str, codes: Array, names: list[str], suite: SuiteModel, unit: Array | None, rows: Array | None = None
) -> Groups:
    """Groups in the order a reader expects; names that no sample has are left out, the last is of those without one."""
    counts = tally(codes, len(names))
    counts[-1] += len(codes) - counts.sum()
    present = [i for i in range(len(names)) if counts[i]]
    present.sort(key=lambda i: _place(factor, names[i], int(counts[i]), suite))
    place = {i: rank for rank, i in enumerate(present)}
    group = translated(codes, [place.get(i, 0) for i in range(len(names) - 1)], place.get(len(names) - 1, 0))
    return Groups([names[i] for i in present], group, unit, rows=rows)


def _place(factor: str, name: str, count: int, suite: SuiteModel) -> tuple[bool, int, str]:
    """Variants as declared, difficulties from easy to hard, everything else largest first; `(none)` last."""
    rank = -count
    if factor == "variant":
        declared = suite.variant_names
        rank = declared.index(name) if name in declared else len(declared)
    if factor == "difficulty":
        word = name.casefold()
        rank = _EASY_TO_HARD.index(word) if word in _EASY_TO_HARD else len(_EASY_TO_HARD)
    return (name == NONE, rank, name)


def clusters_in_words(n_cases: int, n_units: int) -> str:
    """What the unit of evidence is where cases are in clusters."""
    return f"cases of one cluster count as one: {n_cases:,} cases are {n_units:,} units"
