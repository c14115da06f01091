"""What to fix first: what the average would be if the errors of one code were fixed, code by code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np

from steelyard.analysis.model import FoundCode, Priority
from steelyard.frozen import frozen
from steelyard.metrics.figures import Slice
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import POINTS, Contributions, Metric, Names, register, same_but
from steelyard.metrics.run_data import RunData
from steelyard.metrics.table import FORMAT, Table
from steelyard.stats.arrays import Array, add_at, pieces
from steelyard.stats.intervals import Estimate
from steelyard.suite.models import SuiteModel
from steelyard.wording import percent, points

SMALL_N = 5
"""Below this a share says little, and the sentence says so."""
_CODE_IN_GATE = re.compile(r"findings\.([^.\s=<>!]+)")
_WORTH_SAYING = 0.0005

_GRAVEST_FIRST = ("critical", "major", "error", "minor", "warning", "info")


def rank(severity: str) -> int:
    """0 for the gravest; one that says nothing is an error."""
    return _GRAVEST_FIRST.index(severity) if severity in _GRAVEST_FIRST else _GRAVEST_FIRST.index("error")


def severities(suite: SuiteModel) -> dict[str, str]:
    """By code, what the suite declares."""
    return {kind.code: kind.severity for kind in suite.taxonomy}


def with_finding(table: Table, *codes: str) -> Array:
    """The conclusive samples with a finding of one of the codes; FORMAT is what could not be read."""
    result = np.zeros(table.n, dtype=bool)
    for code in codes:
        if code == FORMAT:
            result |= table.malformed
        elif code in table.codes:
            result[table.finding_sample[table.finding_code == table.codes.index(code)]] = True
    return result


@frozen
class _Fix:
    """What is known of fixing all findings of a code."""

    is_known: bool
    """Whether a component stands behind every finding (runs of before gains were noted have none)."""
    at_most: bool
    """Whether some are of answers that could not be read: nothing says what would have come."""
    has_weight: bool
    """False when all of them are of components that count nothing in the score."""


class Fixing:
    """The scores of a run as they are, and what each finding would add to them."""

    def __init__(self, data: RunData) -> None:
        self._table = table = data.table
        self._score = table.score()
        self._origin = table.finding_origin()
        self._fixes: dict[str, _Fix] = {}
        self._part: Array = np.empty(0)
        self._available: Array = np.empty(0, dtype=bool)
        if self._origin is not None:
            # The last is what a code below 0 points at.
            self._part = np.array([*(table.weights.get(name, 0.0) for name in self._origin[1]), 0.0])
            self._available = np.array([*(name in table.scales for name in self._origin[1]), False])
            self._total = table.total_weight()

    def codes(self) -> list[str]:
        """Every code that was found."""
        present = np.zeros(len(self._table.codes), dtype=bool)
        present[self._table.finding_code.astype(int)] = True
        return [self._table.codes[code] for code in np.flatnonzero(present).tolist()]

    def of(self, code: str) -> _Fix:
        """What is known of fixing a code."""
        if code not in self._fixes:
            is_known, at_most, has_weight = True, False, self._origin is None
            for _, sample, component in self._found(code):
                unread = self._table.malformed[sample]
                at_most = at_most or bool(unread.any())
                if component is None:
                    is_known = is_known and bool(unread.all())
                    continue
                known = self._available[component]
                is_known = is_known and bool(known[~unread].all())
                has_weight = has_weight or bool((unread | ~known | (self._part[component] > 0)).any())
            self._fixes[code] = _Fix(is_known, at_most, has_weight)
        return self._fixes[code]

    def scores(self, code: str) -> Array:
        """The scores with all findings of a code fixed, whose worth is known; an answer that could not be read is then
        perfect."""
        scores = self._score.copy()
        for gain, sample, component in self._found(code):
            unread = self._table.malformed[sample]
            scores[sample[unread]] = 1.0
            if component is not None:
                part, total = self._part[component], self._total[sample]
                rises = gain * np.divide(part, total, out=np.zeros(len(sample)), where=total > 0)
                add_at(scores, sample[~unread], rises[~unread])
        return np.minimum(scores, 1.0, out=scores)

    def rises(self, code: str) -> Array:
        """By sample, what its score would rise by."""
        scores = self.scores(code)
        scores -= self._score
        return scores

    def _found(self, code: str) -> Iterator[tuple[Array, Array, Array | None]]:
        """The findings of a code, some at a time: what each gains its component, its sample and its component."""
        number = self._table.codes.index(code)
        for piece in pieces(len(self._table.finding_sample)):
            here = np.flatnonzero(self._table.finding_code[piece] == number)
            sample = self._table.finding_sample[piece][here].astype(int)
            if not len(here):
                continue
            if self._origin is None:
                yield np.empty(0), sample, None
            else:
                component, _, gain = self._origin
                yield gain[piece][here].astype(float), sample, component[piece][here].astype(int)


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


def found_codes(data: RunData, overall: Slice) -> list[FoundCode]:
    """Every code that was found, what is worth most first.

    Codes of what has no weight come last, the gravest and most frequent of them first.
    """
    fixing, available = data.once(Fixing), severities(data.suite)
    codes = overall.counts("findings.<code>")
    fixes = {code: fixing.of(code) for code in codes}

    def place(code: str) -> tuple[bool, float, int, str]:
        if fixes[code].has_weight:
            return (False, -_gain(overall, code), -codes[code], code)
        return (True, rank(available.get(code, "")), -overall.count_of("findings.<code>.samples", code), code)

    return [FoundCode(code, fixes[code].at_most, fixes[code].has_weight) for code in sorted(codes, key=place)]


def _gain(overall: Slice, name: str) -> float:
    """Rounded, so that equal gains do not change places with the order in which samples were added up."""
    return round(overall.of("gain.<code>", name).value or 0.0, 12)


def find_priorities(data: RunData, overall: Slice) -> list[Priority]:
    """What to fix, by how much the average score would rise if each alone were fixed, the largest rise first.

    A component whose scorer tells several errors apart is spoken of code by code; any other is made perfect, which is
    exact for a weighted mean: each sample's weights are those of the components it was scored by, made to add up
    to 1. An answer that could not be read rises only when its format is fixed, which is a line of its own.
    """
    if overall["average"].n == 0:
        return []
    named, table = data.once(_told_apart), data.table
    codes = dict.fromkeys(code for some in named.values() for code in some)
    results = [(_gain(overall, code), code, _code_sentence(code, overall)) for code in codes]
    results += [
        (
            _gain(overall, name),
            name,
            _sentence(f"Improve {name}", overall, name, overall.of(POINTS, name), table.scales[name]),
        )
        for name in table.weights
        if name not in named
    ]
    if overall["malformed_rate"].value:
        without = overall.of("findings.<code>.without", FORMAT)
        sentence = _sentence("Fix the format of answers", overall, FORMAT, without, (0.0, 1.0))
        results.append((_gain(overall, FORMAT), FORMAT, sentence))
    asked = _asked_for(data.suite)
    worth = [item for item in results if item[0] >= _WORTH_SAYING or item[1] in asked]
    return [Priority(sentence, name) for _, name, sentence in sorted(worth, key=lambda item: (-item[0], item[1]))]


def _asked_for(suite: SuiteModel) -> set[str]:
    """The codes that a gate or criterion speaks of: they may stop a release although fixing them gains no points."""
    criteria = [text or "" for criterion in suite.criteria for text in (criterion.passes, criterion.fails)]
    return {code for text in (*suite.gates, *criteria) for code in _CODE_IN_GATE.findall(text)}


def _told_apart(data: RunData) -> dict[str, list[str]]:
    """The components whose findings bear other codes than the component's own, with these codes."""
    fixing = data.once(Fixing)
    figures = {code for code in fixing.codes() if fixing.of(code).is_known}
    own = {component.name: component.finding_code for component in data.suite.components}
    return {
        name: sorted(result - {FORMAT})
        for name, result in codes_by_component(data.table).items()
        if name in own and result - {own[name]} and result <= figures
    }


def _code_sentence(code: str, overall: Slice) -> str:
    share, samples = overall.of("findings.<code>.rate", code), overall.count_of("findings.<code>.samples", code)
    count, gain = overall.count_of("findings.<code>", code), _gain(overall, code)
    findings = f"{count} finding" + ("" if count == 1 else "s")
    doubt = ", small n" if share.n < SMALL_N else ""
    worth = f"the average would be {percent(overall.of('if_fixed.<code>', code).value)}, {points(gain)}"
    if gain < _WORTH_SAYING:
        worth = "it gains no points, but a gate or criterion uses it"
    return f"Fix {code} ({findings} in {samples} of {share.n} samples{doubt}): {worth}"


def _sentence(what: str, overall: Slice, name: str, average: Estimate, scale: tuple[float, float]) -> str:
    low, high = scale
    share = 0.0 if average.value is None else (average.value - low) / (high - low)
    base = f"n {average.n}" + (", small n" if average.n < SMALL_N else "")
    return f"{what} (average {percent(share)}, {base}): worth up to {points(_gain(overall, name))}"


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


def _scored(values: Callable[[RunData, str], Array]) -> Callable[[RunData, Names], Contributions]:
    """What every sample with a score brings."""

    def contributions(data: RunData, names: Names) -> Contributions:
        excluded = (*data.table.left_out, ("no component was scored: no score", None))
        return Contributions(values(data, names[0]), excluded=excluded)

    return contributions


def _rises(data: RunData, name: str) -> Array:
    """By sample, what its score would gain with a code fixed, the format of answers, or a component perfect."""
    if name in _codes_with_gain(data):
        return data.once(Fixing).rises(name)
    if name == FORMAT:
        return np.where(np.isnan(data.table.score()), np.nan, data.table.malformed)
    return component_gain(data.table, name)


def _known_codes(data: RunData) -> list[Names]:
    fixing = data.once(Fixing)
    return [(code,) for code in fixing.codes() if fixing.of(code).is_known]


def _codes_with_gain(data: RunData) -> list[str]:
    fixing = data.once(Fixing)
    return [code for (code,) in _known_codes(data) if fixing.of(code).has_weight]


def _with_gain(data: RunData) -> list[Names]:
    """Codes, the components that are not told apart by codes, and the format of answers."""
    malformed = [FORMAT] if data.table.malformed.any() else []
    alone = [name for name in data.table.weights if name not in data.once(_told_apart)]
    return [(name,) for name in dict.fromkeys([*_codes_with_gain(data), *alone, *malformed])]


def _codes_to_fix(data: RunData) -> list[Names]:
    """The codes that are fixed by themselves, and the format of answers."""
    malformed = [FORMAT] if data.table.malformed.any() else []
    codes = [code for some in data.once(_told_apart).values() for code in some]
    return [(code,) for code in dict.fromkeys([*codes, *malformed])]


def _without(data: RunData, names: Names) -> Contributions:
    values = np.where(data.table.conclusive, 1.0 - with_finding(data.table, *names), np.nan)
    return Contributions(values, excluded=data.table.left_out)


_FIXED = (
    "a sample's score rises, for every finding of the code, by what the finding says its component would gain x the"
    " component's part of the weights that the sample was scored with, to 1 at most; a malformed answer would earn 1"
)
_IF_FIXED = register(
    Metric(
        "if_fixed.<code>",
        "score",
        "average score with every finding of that code fixed",
        "sum of scores with every such finding fixed / n",
        _FIXED,
        Aggregate.MEAN,
        _scored(lambda data, code: data.once(Fixing).scores(code)),
        gate=False,
        sliced=False,
        all_names=_known_codes,
        stands_on="samples with a score",
    )
)
register(
    same_but(
        _IF_FIXED,
        name="gain.<code>",
        unit="difference",
        about="what the average score would rise by with every finding of that code fixed, or, of a component, were it"
        " perfect",
        formula="sum of what each score would rise by / n",
        counts=f"{_FIXED}; a component that is perfect adds weight / (weights of what was scored) x (1 - value), and"
        " nothing to a malformed answer, nor to a sample in which it was not scored",
        contributions=_scored(_rises),
        better="lower",
        all_names=_with_gain,
    )
)
register(
    same_but(
        _IF_FIXED,
        name="findings.<code>.without",
        unit="share",
        about="conclusive samples without a finding of that code",
        formula="samples without such a finding / conclusive samples",
        counts="only conclusive samples (scored or malformed) are looked at",
        aggregate=Aggregate.RATE,
        contributions=_without,
        all_names=_codes_to_fix,
        stands_on="conclusive samples",
    )
)
