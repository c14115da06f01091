"""Baselines of a store: finding them, how far they drift, and the gates of a run relative to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from steelyard.analysis.criteria import changed_criteria
from steelyard.analysis.stored import figures_of
from steelyard.decide.gates import GateResult
from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.loading.own_metrics import load_metrics
from steelyard.metrics.expressions import Gate, is_relative, parse_gate
from steelyard.records import BASELINE_SIGN, BaselineGates, RunHeader
from steelyard.store.base import Store
from steelyard.store.baseline_log import BaselineEntry, standing
from steelyard.suite.yaml import listed, meant
from steelyard.wording import day, difference, percent

if TYPE_CHECKING:
    from steelyard.pairing.against import Against
    from steelyard.pairing.runs import Rescore


def baselines(store: Store, suite: str | None = None) -> list[BaselineEntry]:
    """The locks that hold, by suite and name."""
    return list(standing(store.baseline_log(suite)).values())


@frozen
class BaselineDrift:
    """How far the run of a lock is from that of an earlier lock."""

    label: str
    """`the previous lock`, or `the first of 6 locks`."""
    run: str
    locked_at: float
    moved: Mapping[str, tuple[float | None, float | None]]
    """By figure, its value then and now."""
    changes: tuple[str, ...]
    """What decides and differs."""

    @property
    def is_another(self) -> bool:
        """Whether a figure moved, or something that decides changed."""
        return bool(self.changes) or any(then != now for then, now in self.moved.values())

    @property
    def sentence(self) -> str:
        """`since the previous lock (run words-1, 2026-01-18): pass rate 97.0 % -> 94.0 % (-3.0 points)`."""
        figures = [
            f"{name} {percent(then)} -> {percent(now)} ({difference(now - then, 'share')})"
            for name, (then, now) in self.moved.items()
            if then is not None and now is not None
        ]
        message = "; ".join([*([", ".join(figures)] if figures else []), *self.changes])
        return f"since {self.label} (run {self.run}, {day(self.locked_at)}): {message or 'no figure in common'}"


def drift(store: Store, entry: BaselineEntry, log: Sequence[BaselineEntry] | None = None) -> list[BaselineDrift]:
    """How far a lock is from the one before it and from the first; nothing for the first lock of a suite.

    Locks of a name that was removed count; a new name is compared with the suite's other locks.
    """
    log = store.baseline_log(entry.suite_name) if log is None else log
    locks = [item for item in log if not item.removed and item.suite_name == entry.suite_name]
    locks = locks[: next((at for at, item in enumerate(locks) if item == entry), len(locks))]
    locks = [item for item in locks if item.name == entry.name] or locks
    if not locks:
        return []
    now, n = store.run(entry.run_id), len(locks) + 1
    labels = {"the previous lock": locks[-1]} | ({f"the first of {n} locks": locks[0]} if n > 2 else {})
    return [_drift(store, store.run(then.run_id), now, then, label, entry.name) for label, then in labels.items()]


_MOVED = {"pass_rate": "pass rate", "average": "average"}


def _drift(store: Store, then: RunHeader, now: RunHeader, lock: BaselineEntry, label: str, name: str) -> BaselineDrift:
    figures = figures_of(store, (then, now), tuple(_MOVED))
    slices = [figures[header.id].slice() if header.id in figures else None for header in (then, now)]
    moved = {
        text: tuple(None if item is None else item[figure].value for item in slices) for figure, text in _MOVED.items()
    }
    rescored = (f"rescored from run {now.rescored_from}",) if now.rescored_from else ()
    label = label if lock.name == name else f"{label}, {lock.name}"
    return BaselineDrift(label, then.id, lock.made_at, moved, (*changed_criteria(then, now), *rescored))  # type: ignore[arg-type]


def find_baseline(store: Store, name: str, suite: str | None = None) -> BaselineEntry:
    """The lock of that name, written `release`, `@release` or `@suite/release`; UsageError when there is none, or when
    several suites have one and `suite` does not say which."""
    asked = name.removeprefix(BASELINE_SIGN)
    locks = baselines(store, suite)
    of_suite, _, alone = asked.rpartition("/")
    results = [lock for lock in locks if lock.name == asked or (lock.suite_name, lock.name) == (of_suite, alone)]
    if len(results) == 1:
        return results[0]
    if results:
        suites = listed([lock.suite_name for lock in results])
        raise UsageError(f"several suites have a baseline {asked!r}: {suites}. Say which with --suite NAME")
    raise UsageError(no_baseline(asked, suite, [lock.name for lock in locks]))


def no_baseline(name: str, suite: str | None, names: list[str]) -> str:
    """That there is no such baseline, what there is, and how to make it."""
    of = f"suite {suite} has no baseline {name!r}" if suite else f"there is no baseline {name!r}"
    close = meant(name, names)
    hint = close.removesuffix("?") or (f"; there are: {listed(names)}" if names else "")
    return f"{of}{hint}{'?' if close else '.'} Lock a run under this name: steelyard baseline set RUN --name {name}"


@frozen
class Reference:
    """The run that another is to be compared with, found before that other one begins."""

    label: str
    """As it was asked for: `release`, or a run's name."""
    run_id: str
    store: Store | None = None
    """Where that run is, if not in the store of the other one."""


def find_reference(store: Store, name: str, suite: str) -> Reference:
    """What `--against` names: a baseline of the suite, else a run of it; UsageError when there is neither."""
    asked = name.removeprefix(BASELINE_SIGN)
    locks = {lock.name: lock.run_id for lock in baselines(store, suite)}
    if asked in locks:
        return Reference(asked, locks[asked])
    nowhere = no_baseline(asked, suite, list(locks))
    if name.startswith(BASELINE_SIGN):
        raise UsageError(nowhere)
    try:
        result = store.run(name)
    except UsageError as error:
        raise UsageError(f"{nowhere}; and as the name of a run: {error}") from None
    if result.suite_name != suite:
        raise UsageError(f"{name!r} is a run of suite {result.suite_name}, not of {suite}: {nowhere}")
    return Reference(asked, result.id)


def held_against(
    store: Store,
    header: RunHeader,
    *,
    rescore: Rescore = lambda a, _: a,
    reference: Reference | None = None,
    allow_mismatch: bool = False,
    strict: bool = False,
) -> list[GateResult]:
    """The results of every gate on a baseline, of the run's own and for what was asked for.

    Unless a gate says how far it may fall from what was asked for, the pass rate (else the average) may not be worse
    beyond noise. `rescore` says what changed in the baseline's signature and is the same all the same. A baseline that
    does not exist leaves its gates undecided; with `strict` it is a UsageError.
    """
    gates = _relative_gates(header)
    runs = _runs_behind(store, header, gates, reference, strict=strict)
    if not gates and reference is None:
        return []
    # A run that is compared with nothing needs none of this, which takes long to import.
    from steelyard.decide.relative_gates import relative_results, undecided
    from steelyard.pairing.against import Against
    from steelyard.pairing.runs import read_run

    me = replace(read_run(store, header.id), header=header)
    compared = {
        run_id: Against(
            rescore(read_run(home_of(reference, run_id, store), run_id), me), me, allow_mismatch=allow_mismatch
        )
        for run_id in {*runs.values()}
        if run_id
    }
    if reference is not None:
        implied = _implied(reference, compared[reference.run_id])
        # A suite that says itself how far the deciding figure may fall has the word.
        if implied.stands_on not in {gate.stands_on for gate in gates if gate.baseline == reference.label}:
            gates.append(implied)
    gate_results: list[GateResult] = []
    for gate in gates:
        run_id = runs[gate.baseline]
        if run_id is None:
            gate_results.append(undecided(gate, no_baseline(gate.baseline, header.suite_name, [])))
        else:
            gate_results += relative_results(gate, compared[run_id])
    return gate_results


def _relative_gates(header: RunHeader) -> list[Gate]:
    """The run's own gates that look at a baseline."""
    load_metrics(header)
    return [parse_gate(text) for text in header.description.gates if is_relative(text)]


def runs_held_against(store: Store, header: RunHeader, reference: Reference | None) -> dict[str, tuple[Store, str]]:
    """By name, the runs that a run is or will be compared with, and where they are: what was asked for and what its
    gates name, else the suite's newest baseline."""
    gates = _relative_gates(header)
    runs = {name: run for name, run in _runs_behind(store, header, gates, reference, strict=False).items() if run}
    if not runs and (locks := baselines(store, header.suite_name)):
        newest = max(locks, key=lambda lock: lock.made_at)
        runs = {newest.name: newest.run_id}
    return {name: (home_of(reference, run, store), run) for name, run in runs.items()}


def home_of(reference: Reference | None, run_id: str, store: Store) -> Store:
    """The store that holds a run which another one in `store` is compared with."""
    elsewhere = None if reference is None or reference.run_id != run_id else reference.store
    return store if elsewhere is None else elsewhere


def _runs_behind(
    store: Store, header: RunHeader, gates: Sequence[Gate], reference: Reference | None, *, strict: bool
) -> dict[str, str | None]:
    """By the name that a gate gives it, the run behind each baseline; None where there is none."""
    runs: dict[str, str | None] = {} if reference is None else {reference.label: reference.run_id}
    locks = {lock.name: lock.run_id for lock in baselines(store, header.suite_name)} if gates else {}
    for gate in gates:
        if strict and gate.baseline not in runs and gate.baseline not in locks:
            find_baseline(store, gate.baseline, header.suite_name)
        runs.setdefault(gate.baseline, locks.get(gate.baseline))
    return runs


def _implied(reference: Reference, against: Against) -> Gate:
    """What is asked for by `--against` alone: not worse beyond noise."""
    gate = parse_gate(f"{against.primary} >= {BASELINE_SIGN}x")
    return replace(gate, text=f"{against.primary} >= {BASELINE_SIGN}{reference.label}", baseline=reference.label)


def stored(results: Sequence[GateResult], reference: Reference | None) -> BaselineGates | None:
    """What a run's header has of how it was compared with its baselines; None when it was not."""
    if not results:
        return None
    from steelyard.decide.relative_gates import results_data

    return BaselineGates(None if reference is None else reference.label, results_data(results))


def stored_results(header: RunHeader) -> tuple[GateResult, ...]:
    """What came of a run's gates on baselines when it ended."""
    if header.options.against is None:
        return ()
    from steelyard.decide.relative_gates import results_from

    return results_from(header.options.against.gates)
