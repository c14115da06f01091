"""A run of a store held against its baselines: those that its gates name, and one that was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from steelyard.analysis.against import Against
from steelyard.analysis.compared_run import Rescore, read_run
from steelyard.errors import UserMistake
from steelyard.records import RunHeader
from steelyard.release.baselines import baselines, find_baseline, no_baseline
from steelyard.release.model import GateResult
from steelyard.release.relative_gates import relative_results, results_data, results_from, undecided
from steelyard.store.base import Store
from steelyard.suite.baseline_names import BASELINE_SIGN
from steelyard.suite.gates import Gate, is_relative, parse_gate

KEPT = "against"
"""Under what a run's options keep what came of it: later reports say the same, whatever becomes of the baseline."""


@dataclass(frozen=True, slots=True)
class Reference:
    """The run that another is to be held against, found before that other one begins."""

    label: str
    """As it was asked for: `release`, or a run's name."""
    run_id: str
    store: Store | None = None
    """Where that run is, if not in the store of the other one."""


def find_reference(store: Store, name: str, suite: str) -> Reference:
    """What `--against` names: a baseline of the suite, else a run of it; UserMistake when there is neither."""
    asked = name.removeprefix(BASELINE_SIGN)
    locks = {lock.name: lock.run_id for lock in baselines(store, suite)}
    if asked in locks:
        return Reference(asked, locks[asked])
    nowhere = no_baseline(asked, suite, list(locks))
    if name.startswith(BASELINE_SIGN):
        raise UserMistake(nowhere)
    try:
        found = store.run(name)
    except UserMistake as error:
        raise UserMistake(f"{nowhere}; and as the name of a run: {error}") from None
    if found.suite_name != suite:
        raise UserMistake(f"{name!r} is a run of suite {found.suite_name}, not of {suite}: {nowhere}")
    return Reference(asked, found.id)


def held_against(
    store: Store,
    header: RunHeader,
    *,
    rescore: Rescore = lambda a, _: a,
    reference: Reference | None = None,
    anyway: bool = False,
    strict: bool = False,
) -> list[GateResult]:
    """The results of every gate on a baseline, of the run's own and for what was asked for.

    Unless a gate says how far it may fall from what was asked for, the pass rate (else the average) may not be worse
    beyond noise. `rescore` says what changed in the baseline's instrument and is the same all the same. A baseline that
    does not exist leaves its gates undecided; with `strict` it is a UserMistake.
    """
    gates = [parse_gate(text) for text in header.suite.get("gates") or () if is_relative(text)]
    runs = _runs_behind(store, header, gates, reference, strict=strict)
    if not gates and reference is None:
        return []
    me = replace(read_run(store, header.id), header=header)
    compared = {
        run_id: Against(rescore(read_run(home_of(reference, run_id, store), run_id), me), me, anyway=anyway)
        for run_id in {*runs.values()}
        if run_id
    }
    if reference is not None:
        implied = _implied(reference, compared[reference.run_id])
        # A suite that says itself how far the deciding figure may fall has the word.
        if implied.stands_on not in {gate.stands_on for gate in gates if gate.baseline == reference.label}:
            gates.append(implied)
    found: list[GateResult] = []
    for gate in gates:
        run_id = runs[gate.baseline]
        if run_id is None:
            found.append(undecided(gate, no_baseline(gate.baseline, header.suite_name, [])))
        else:
            found += relative_results(gate, compared[run_id])
    return found


def home_of(reference: Reference | None, run_id: str, store: Store) -> Store:
    """The store that holds a run which another one in `store` is held against."""
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


def kept(results: Sequence[GateResult], reference: Reference | None) -> dict[str, Any]:
    """What a run's options keep of how it was held against its baselines; nothing when it was not."""
    if not results:
        return {}
    return {KEPT: {"asked": None if reference is None else reference.label, "gates": results_data(results)}}


def kept_results(header: RunHeader) -> tuple[GateResult, ...]:
    """What came of a run's gates on baselines when it ended."""
    return results_from((header.options.get(KEPT) or {}).get("gates") or ())
