"""Calibration and thresholds computed again from the claims behind them, one by one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from steelyard.analysis.explain_model import Behind
from steelyard.analysis.explain_parts import Parts
from steelyard.analysis.explain_sums import Inputs
from steelyard.analysis.explain_things import Read, Thing, ThingFigure, Together, Words
from steelyard.analysis.resampling import LEAST_CLAIMS, MOST_BLOCKS, draws
from steelyard.suite.confidence import ConfidenceRules

Rows = Sequence[tuple[Behind, Thing]]
_MOST_CANDIDATES = 200
_STEPS = 100


def bin_of(confidence: float, bins: int) -> int:
    """The bin of a confidence; a boundary belongs to the upper bin, 1.0 to the last."""
    return sum(confidence >= edge / bins for edge in range(1, bins))


def calibration(bins: int) -> Together:
    """The expected calibration error; the value of each claim is its confidence less 1 if it is right."""

    def together(rows: Rows) -> tuple[float | None, Inputs]:
        gaps = [math.fsum(each) for each in _by_bin(rows, bins)]
        n = len(rows)
        error = math.fsum(abs(gap) for gap in gaps)
        return error / n if n else None, (("sum of gaps", error), ("n", float(n)), ("bins", float(bins)))

    return together


def _by_bin(rows: Rows, bins: int) -> list[list[float]]:
    found: list[list[float]] = [[] for _ in range(bins)]
    for behind, thing in rows:
        found[bin_of(thing.data.confidence, bins)].append(behind.value)
    return found


def by_chance(bins: int) -> Together:
    """What the error would be on average if every confidence were perfect: how far each resample moves the gaps."""

    def together(rows: Rows) -> tuple[float | None, Inputs]:
        cases = {case: number for number, case in enumerate(sorted({behind.case_id for behind, _ in rows}))}
        n_blocks = min(len(cases), MOST_BLOCKS)
        if n_blocks < 2:
            return None, ()
        gaps, sizes = [[0.0] * bins for _ in range(n_blocks)], [0.0] * n_blocks
        for behind, thing in rows:
            number = cases[behind.case_id]
            block = number if len(cases) <= MOST_BLOCKS else number * MOST_BLOCKS // len(cases)
            gaps[block][bin_of(thing.data.confidence, bins)] += behind.value
            sizes[block] += 1
        drawn = draws(n_blocks)
        errors = abs((drawn - 1.0) @ gaps).sum(axis=1) / (drawn @ sizes)
        return float(errors.mean()), (("resamples", float(len(drawn))), ("cases", float(len(cases))))

    return together


def raised(settings: ConfidenceRules, wanted: str) -> Together:
    """The threshold that the rule of one half asks for, the bound below it, or the claims of the bucket it is about."""
    starts = [bucket.at_least for bucket in settings.buckets]
    ranges = list(zip(starts, [math.inf, *starts[:-1]], strict=True))

    def together(rows: Rows) -> tuple[float | None, Inputs]:
        for low, high in ranges:
            mine = [thing.data.right for _, thing in rows if low <= thing.data.confidence < high]
            wrong = len(mine) - sum(mine)
            if len(mine) >= LEAST_CLAIMS and 2 * wrong > len(mine):
                found = {"threshold": min(high, 1.0), "above": low, "n": float(len(mine))}
                return found[wanted], (("wrong", float(wrong)), ("of", float(len(mine))))
        return (float(len(rows)) if wanted == "n" else None), ()

    return together


def best_threshold(utility: tuple[float, float]) -> Together:
    """From where on the kept claims are worth the most."""
    return lambda rows: (_best(rows, utility)[0], (("claims", float(len(rows))),))


def best_gain(utility: tuple[float, float]) -> Together:
    """What they are worth more than all claims together, a claim."""

    def together(rows: Rows) -> tuple[float | None, Inputs]:
        gain = _best(rows, utility)[1]
        return gain / len(rows), (("gained", gain), ("claims", float(len(rows))))

    return together


def _best(rows: Rows, utility: tuple[float, float]) -> tuple[float | None, float]:
    """The threshold, None where nothing is worth keeping, and what dropping the claims below it gains."""
    steps = [*_candidates([thing.data.confidence for _, thing in rows]), math.inf]
    worth = dict.fromkeys(range(len(steps)), 0.0)
    ranked = sorted((thing.data.confidence, utility[0] if thing.data.right else utility[1]) for _, thing in rows)
    at = 0
    for number, (low, high) in enumerate(pairwise(steps)):
        del low
        while at < len(ranked) and ranked[at][0] < high:
            worth[number] += ranked[at][1]
            at += 1
    gains = [0.0]
    for number in range(len(steps) - 1):
        gains.append(gains[-1] - worth[number])
    chosen = max(range(len(gains)), key=lambda number: (round(gains[number], 9), -number))
    return (None if math.isinf(steps[chosen]) else steps[chosen]), gains[chosen]


def _candidates(said: Sequence[float]) -> list[float]:
    """The confidences there are or, of many, hundredths; the first keeps everything."""
    there = sorted(set(said))
    if len(there) > _MOST_CANDIDATES:
        there = [step / _STEPS for step in range(_STEPS + 1)]
    if there[0] <= 0:
        return there
    return [0.0, *(there[1:] if len(there) > 1 else there)]


class Widest(ThingFigure):
    """The widest gap of the bins with enough claims; the claims of the others are missing."""

    def __init__(self, read: Read, words: Words, bins: int) -> None:
        super().__init__(read, _widest(bins), words)
        self._bins = bins

    def ended(self, absent: int) -> Parts:
        sizes = Counter(bin_of(thing.data.confidence, self._bins) for _, thing in self._rows)
        thin = {place for place, n in sizes.items() if n < LEAST_CLAIMS}
        for behind, thing in self._rows:
            if bin_of(thing.data.confidence, self._bins) in thin:
                self._excluded.add(f"in a bin with fewer than {LEAST_CLAIMS} claims", behind.case_id)
                self._missing += 1
        self._rows = [row for row in self._rows if bin_of(row[1].data.confidence, self._bins) not in thin]
        return super().ended(absent)


def _widest(bins: int) -> Together:
    def together(rows: Rows) -> tuple[float | None, Inputs]:
        gaps: dict[int, list[float]] = {}
        for behind, thing in rows:
            gaps.setdefault(bin_of(thing.data.confidence, bins), []).append(behind.value)
        widest = {place: abs(math.fsum(found)) / len(found) for place, found in gaps.items()}
        if not widest:
            return None, ()
        place = min(widest, key=lambda place: (-widest[place], place))
        return widest[place], (("bin", float(place + 1)), ("claims in it", float(len(gaps[place]))))

    return together
