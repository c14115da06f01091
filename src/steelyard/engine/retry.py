"""A new run that asks for the failed samples of an earlier one alone, and takes over the others as they are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from steelyard.engine.costs import model_calls, scorer_calls
from steelyard.engine.journal import SCORER, TARGET
from steelyard.engine.plan import Plan
from steelyard.errors import UsageError
from steelyard.records import Outcome, Retried, RunHeader, RunState, Sample
from steelyard.store.base import Store
from steelyard.store.codec import encode
from steelyard.suite.case import Case

_FAILED_AT_ONCE = 500


def find_failed(store: Store, name: str, suite_name: str) -> RunHeader:
    """The run whose failed samples are to be asked for again; UsageError when that cannot be done."""
    earlier = store.run(name)
    if earlier.suite_name != suite_name:
        raise UsageError(f"run {earlier.id} is of suite {earlier.suite_name}, not of {suite_name}")
    if earlier.state is not RunState.ENDED:
        raise UsageError(f"run {earlier.id} has not ended: resume it first, with --resume {earlier.id}")
    if earlier.options.imported is not None:
        raise UsageError(f"run {earlier.id} was made by another tool: only a run of this suite can be retried")
    if earlier.options.ab is not None:
        raise UsageError(f"run {earlier.id} is an arm of an A/B: its samples belong together with the other arm's")
    return earlier


def retried(store: Store, earlier: RunHeader, plan: Plan) -> Retried:
    """What a run takes over, as its header has it: from which run, how many samples, and how many are asked for again.

    UsageError when nothing failed, or the samples are not those of the plan.
    """
    retained = sum(not is_failed(sample) for sample in planned_samples(store, earlier, plan))
    if retained == plan.n:
        raise UsageError(f"run {earlier.id} has no failed samples: there is nothing to retry")
    asked, before = plan.n - retained, earlier.options.retried
    total, retries = (0, 0) if before is None else (before.total or before.asked, before.retries)
    return Retried(earlier.id, retained, asked, total=asked + total, retries=retries + 1)


def planned_samples(store: Store, earlier: RunHeader, plan: Plan) -> Iterator[Sample]:
    """The samples of a run, each at its place in the plan; UsageError when one has another place there."""
    asks = plan.asks()
    for sample, _ in store.samples(earlier.id):
        planned = next((ask for ask in asks if ask.position == sample.position), None)
        if planned is None or (planned.case.id, planned.ask.variant.name, planned.ask.repeat) != sample.key:
            raise UsageError(f"the cases are in another order than in run {earlier.id}: start a new run")
        yield sample


def is_failed(sample: Sample) -> bool:
    """True when a call failed, of the target or of a judge that is missed; not for a scorer that broke."""
    if sample.outcome is Outcome.JUDGE_FAILED:
        return any(call.failure is not None for call in model_calls(sample))
    return sample.outcome is Outcome.TARGET_FAILED


def take_over(store: Store, earlier: str, run_id: str) -> None:
    """Put into the run what it takes over and does not hold yet: whole samples and, of those whose judge failed, the
    answer and what the judges said, so that only the calls that failed are made again."""
    pairs = store.samples(earlier)
    while chunk := list(islice(pairs, _FAILED_AT_ONCE)):
        done = store.done(run_id, [sample.case_id for sample, _ in chunk])
        missing = [(sample, case) for sample, case in chunk if sample.key not in done]
        retained = [(sample, case) for sample, case in missing if not is_failed(sample)]
        cases: dict[str, Case] = {case.id: case for _, case in retained}
        store.add_rescored(run_id, earlier, [sample for sample, _ in retained], list(cases.values()))
        store.journal(run_id, [entry for sample, _ in missing if is_failed(sample) for entry in _answered(sample)])


def _answered(sample: Sample) -> Iterator[tuple[str, dict[str, Any]]]:
    calls = () if sample.judgement is None else sample.judgement.calls
    parts = [(TARGET, sample.call_result)]
    parts += [(SCORER + call.key, call.call_result) for call in scorer_calls(sample)]
    parts += [(f"judge/{call.member}/{call.repeat}/{call.turn}", call.call_result) for call in calls]
    for part, call_result in parts:
        if call_result.failure is None:
            yield f"{sample.position}/{part}", encode(call_result)
