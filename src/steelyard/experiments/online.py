"""The report on an A/B on users: their outcomes, checked against the plan that was written beforehand."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.decide.provenance import times, verdicts_in_words
from steelyard.experiments.assignment import arm_of, is_exposed
from steelyard.experiments.decision import AbReport, ArmFacts, ValidityCheck, conclude, missing_alike
from steelyard.experiments.effects import (
    BETTING,
    EXTRA,
    FEW_CARRY,
    FIXED,
    MIXTURE,
    Effect,
    better_when,
    is_same,
    readable_test,
)
from steelyard.experiments.outcomes import OnlineExperiment, Outcomes, UnitOutcome, in_order
from steelyard.frozen import frozen
from steelyard.stats.arrays import Array
from steelyard.stats.bounded_mean import METHOD as BOUNDS
from steelyard.stats.bounded_mean import bounded_difference
from steelyard.stats.ratio_mismatch import MISMATCH, ratio_p
from steelyard.stats.sequential import ALPHA, asymptotic_mean, carried_by_few, sequential_mean
from steelyard.stats.two_arms import block_sizes, blocks, welch
from steelyard.store.experiment_log import OnlineReading
from steelyard.wording import day, threshold

_MOST_STRAYED = 0.01
"""Above this share of units in both arms, or in an arm that the hash does not give them, the assignment is broken."""
_DEFAULT_PLANNED = 1_000
"""Where nothing is planned, the interval of an outcome without ends is made to be tightest here."""


@frozen
class _Arms:
    """The units of each arm in the order they came, without those that saw both."""

    ordered: list[tuple[int, UnitOutcome]]
    """Each with its arm, 0 or 1."""
    n_both: int
    n_other_arm: int
    n_other_traffic: int

    def of(self, side: int) -> list[UnitOutcome]:
        """The units of one arm."""
        return [unit for arm, unit in self.ordered if arm == side]

    @property
    def n(self) -> tuple[int, int]:
        second = sum(arm for arm, _ in self.ordered)
        return len(self.ordered) - second, second

    @property
    def missing(self) -> tuple[int, int]:
        silent = [arm for arm, unit in self.ordered if unit.outcome is None]
        return len(silent) - sum(silent), sum(silent)


def reading_of(experiment: OnlineExperiment, report: AbReport) -> OnlineReading:
    """The line of the log that says that a report was read."""
    plan, name = _plan_of(experiment), experiment.part.experiment
    return OnlineReading(name, time.time(), report.quality.n, report.decided.value, plan)


def _plan_of(experiment: OnlineExperiment) -> dict[str, Any]:
    return experiment.part.model_dump(mode="json", exclude={"experiment", "about", "columns"})


def _changed_plan(experiment: OnlineExperiment, earlier: Sequence[OnlineReading]) -> Iterator[ValidityCheck]:
    """Says what differs from the plan by which results were read first; a fixed test is then of a size that was chosen
    after a look."""
    now = _plan_of(experiment)
    for reading in earlier:
        then = reading.plan
        changes = [f"{name}: {then.get(name)} -> {now[name]}" for name in now if then.get(name) != now[name]]
        if changes and reading.n:
            message = f"changed after {reading.n:,} units were read on {day(reading.read_at)}: {'; '.join(changes)}"
            fixed = FIXED in (experiment.part.test, then.get("test"))
            yield ValidityCheck("plan as at the first look", message, fine=False, confounds=fixed)
            return


def online_report(
    experiment: OnlineExperiment, outcomes: Outcomes, earlier: Sequence[OnlineReading] = (), *, unknown: str = ""
) -> AbReport:
    """The report on outcomes as far as they came; `earlier` are the readings before this one, `unknown` says why
    nobody knows them."""
    arms = _arms(experiment, outcomes)
    part = experiment.part
    n_known = sum(arms.n) - sum(arms.missing)
    test = readable_test(part.test, complete=part.planned is not None and n_known >= part.planned)
    quality, notes = _quality(experiment, outcomes, arms, test)
    checks = (*_online_checks(experiment, outcomes, arms), *_changed_plan(experiment, earlier))
    broken = "the assignment is broken, and no decision can be made"
    decided, why = conclude(checks, quality, part.same_within, due=part.test != FIXED or test == FIXED, broken=broken)
    return AbReport(
        title=part.experiment,
        kind="online",
        arms=_facts(experiment, arms),
        decided=decided,
        why=why,
        quality=quality,
        extra=tuple(_extra(experiment, arms, test)),
        checks=checks,
        test=test,
        method=_online_method(experiment, quality),
        signatures=(f"plan {experiment.plan[:16]}",),
        notes=tuple(_early(experiment, test, n_known)) + notes + _read_before(earlier, unknown),
        plan=part.model_dump(mode="json"),
    )


def _read_before(earlier: Sequence[OnlineReading], unknown: str) -> tuple[str, ...]:
    if unknown:
        return (f"how often results were read before is not known, and this reading is not logged: {unknown}",)
    decided = Counter(reading.decided for reading in earlier)
    return (f"read {times(len(earlier))} before: {verdicts_in_words(decided)}",) if earlier else ()


def _arms(experiment: OnlineExperiment, outcomes: Outcomes) -> _Arms:
    first, _ = experiment.arms
    by_hash = experiment.part.assigned == "by_hash"
    ordered: list[tuple[int, UnitOutcome]] = []
    both = other_arm = other_traffic = 0
    for name, unit in in_order(outcomes):
        if by_hash:
            other_arm += any(arm != arm_of(name, experiment.experiment) for arm in unit.arms)
            other_traffic += not is_exposed(name, experiment.experiment)
        if len(unit.arms) > 1:
            both += 1
        else:
            ordered.append((int(unit.arms[0] != first), unit))
    return _Arms(ordered, both, other_arm, other_traffic)


def _outcomes(units: Sequence[UnitOutcome]) -> Array:
    """The outcomes that are known, in their order."""
    return np.array([unit.outcome for unit in units if unit.outcome is not None], dtype=float)


def _means_of(units: Sequence[UnitOutcome], what: str) -> Array:
    """The means of the units that have one, in their order."""
    means = (getattr(unit, what) for unit in units)
    return np.array([mean.total / mean.n for mean in means if mean is not None], dtype=float)


def _quality(
    experiment: OnlineExperiment, outcomes: Outcomes, arms: _Arms, test: str
) -> tuple[Effect, tuple[str, ...]]:
    part = experiment.part
    ends = part.outcome.range or ((0.0, 1.0) if outcomes.binary else None)
    a, b = _outcomes(arms.of(0)), _outcomes(arms.of(1))
    unit = "share" if ends == (0.0, 1.0) else "number"
    empty = Effect(
        part.outcome.name, unit, None, None, None, None, None, 0, sum(arms.missing), "", None, part.outcome.better
    )
    if test == FIXED and part.planned is not None:
        retained = _first(arms, part.planned)
        after = len(a) + len(b) - sum(len(item) for item in retained)
        messages = (f"{after:,} units came after the planned {part.planned:,}: the fixed test leaves them out",)
        return _by_welch(empty, *retained, ends, part.same_within), messages if after else ()
    sizes = block_sizes(*experiment.shares)
    first, second = blocks(a, b, sizes)
    waiting = len(a) + len(b) - len(first) * sum(sizes)
    messages = (f"{waiting:,} units wait for partners in the other arm, and are in no figure",)
    effect = _by_blocks(empty, first, second, len(first) * sum(sizes), ends, part.planned, part.same_within)
    return effect, messages if waiting else ()


def _first(arms: _Arms, planned: int) -> tuple[Array, Array]:
    """The outcomes of the first units that came, as many as were planned, by arm."""
    taken = [item for item in arms.ordered if item[1].outcome is not None][:planned]
    a, b = ([unit for arm, unit in taken if arm == side] for side in (0, 1))
    return _outcomes(a), _outcomes(b)


def _by_welch(
    empty: Effect, a: Array, b: Array, ends: tuple[float, float] | None = None, same_within: float | None = None
) -> Effect:
    if not len(a) or not len(b):
        return empty
    effect = _means(empty, a, b, len(a) + len(b))
    few = any(carried_by_few(item, looks=False) for item in (a, b))
    result = None if few else welch(a, b, ALPHA)
    if result is not None:
        low, high, p = result
        effect = replace(effect, low=low, high=high, p=p, method="fixed: Welch's test on units")
    if ends is not None and (result is None or is_same(effect, same_within)):
        low, high = bounded_difference(a, b, ends)
        return replace(effect, low=low, high=high, method=f"fixed: {BOUNDS}")
    return effect if result is not None else replace(effect, method=FEW_CARRY)


def _by_blocks(
    empty: Effect,
    a: Array,
    b: Array,
    n: int,
    ends: tuple[float, float] | None,
    planned: int | None,
    same_within: float | None,
) -> Effect:
    if not len(a):
        return empty
    effect = _means(empty, a, b, n)
    if ends is None:
        n_blocks = max(1, round((planned or _DEFAULT_PLANNED) * len(a) / n))
        always = asymptotic_mean(b - a, n_blocks)
        # An arm that has shown hardly any of what is rare in it would leave the other to say how far both may lie.
        if always.low is None or carried_by_few(a) or carried_by_few(b):
            return replace(effect, method=FEW_CARRY)
        return replace(effect, low=always.low, high=always.high, method=MIXTURE)
    width = ends[1] - ends[0]
    result = sequential_mean((b - a) / width, None if same_within is None else same_within / width)
    low, high = (None if end is None else end * width for end in (result.low, result.high))
    return replace(effect, low=low, high=high, p=result.p, method=BETTING)


def _means(empty: Effect, a: Array, b: Array, n: int) -> Effect:
    first, second = float(a.mean()), float(b.mean())
    return replace(empty, a=first, b=second, difference=second - first, n=n)


def _extra(experiment: OnlineExperiment, arms: _Arms, test: str) -> Iterator[Effect]:
    for name, unit in (("latency", "s"), ("cost", "cost")):
        a, b = _means_of(arms.of(0), name), _means_of(arms.of(1), name)
        if not len(a) or not len(b):
            continue
        missing = sum(arms.n) - len(a) - len(b)
        empty = Effect(name, unit, None, None, None, None, None, 0, missing, "", None, better_when(EXTRA[unit]))
        if test == FIXED:
            yield _by_welch(empty, a, b)
        else:
            sizes = block_sizes(*experiment.shares)
            first, second = blocks(a, b, sizes)
            yield _by_blocks(empty, first, second, len(first) * sum(sizes), None, experiment.part.planned, None)


def _online_checks(experiment: OnlineExperiment, outcomes: Outcomes, arms: _Arms) -> Iterator[ValidityCheck]:
    yield _ratio(experiment, arms)
    n = len(outcomes.units)
    strayed = [("units in one arm only", arms.n_both, "are in both arms, and left out")]
    if experiment.part.assigned == "by_hash":
        strayed.append(
            ("arms as the hash gives them", arms.n_other_arm, "are in an arm that the hash does not give them")
        )
        strayed.append(
            ("traffic as the hash gives it", arms.n_other_traffic, "are not in the experiment by their hash")
        )
    for name, count, words in strayed:
        bad = count > _MOST_STRAYED * n
        yield ValidityCheck(name, f"{count:,} of {n:,} units {words}", fine=count == 0, invalidates=bad)
    yield _missing(experiment, arms)
    repeated = sum(1 for unit in outcomes.units.values() if unit.rows > 1)
    rows = outcomes.n_rows - outcomes.n_not_exposed
    message = f"{rows:,} records of {n:,} units; of {repeated:,} with several the first outcome counts"
    yield ValidityCheck("one unit counts once", message)
    if 0 < outcomes.n_untimed < outcomes.n_timed + outcomes.n_untimed:
        message = f"{outcomes.n_untimed:,} outcomes have no time: the order of the file is used"
        yield ValidityCheck("order", message, fine=False)
    if outcomes.n_not_exposed:
        yield ValidityCheck(
            "exposure", f"{outcomes.n_not_exposed:,} records of units that did not see their arm are left out"
        )


def _ratio(experiment: OnlineExperiment, arms: _Arms) -> ValidityCheck:
    p = ratio_p(arms.n, experiment.shares)
    meant = " : ".join(f"{100 * share:g}" for share in experiment.shares)
    message = f"{arms.n[0]:,} and {arms.n[1]:,} units, meant as {meant}"
    if p is None:
        return ValidityCheck("sample ratio", f"{message}: nothing to test", fine=False, invalidates=True)
    bad = p < MISMATCH
    message = f"{message} (exact binomial, p = {p:.2g})"
    if bad:
        message = f"{message}: below {MISMATCH:g}, so units are assigned unevenly, or lost in one arm"
    return ValidityCheck("sample ratio", message, fine=not bad, invalidates=bad)


def _missing(experiment: OnlineExperiment, arms: _Arms) -> ValidityCheck:
    counts = [(n - missing, missing) for n, missing in zip(arms.n, arms.missing, strict=True)]
    names = experiment.arms
    message = "without an outcome: " + ", ".join(
        f"{missing:,} of {n:,} in {name}" for name, n, missing in zip(names, arms.n, arms.missing, strict=True)
    )
    return missing_alike("outcomes are missing alike", message, counts)


def _early(experiment: OnlineExperiment, test: str, n: int) -> Iterator[str]:
    part = experiment.part
    if part.test == FIXED and test != FIXED:
        yield f"{n:,} of {part.planned:,} planned units have an outcome"


def _facts(experiment: OnlineExperiment, arms: _Arms) -> tuple[ArmFacts, ArmFacts]:
    a, b = (
        ArmFacts(letter, name, (("units", f"{n:,}"), ("share", threshold(share))))
        for letter, name, n, share in zip("AB", experiment.arms, arms.n, experiment.shares, strict=True)
    )
    return a, b


def _online_method(experiment: OnlineExperiment, quality: Effect) -> str:
    sizes = block_sizes(*experiment.shares)
    in_blocks = quality.method in (BETTING, MIXTURE)
    paired = f"blocks of {sizes[0]} and {sizes[1]} units as they came; " if in_blocks else ""
    return f"{paired}{quality.method or 'too few units'}; {100 * (1 - ALPHA):.0f} % intervals"
