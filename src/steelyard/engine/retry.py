"""A new run that asks for the failed samples of an earlier one alone, and takes over the others as they are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from steelyard.engine.journal import TARGET
from steelyard.engine.plan import Plan
from steelyard.errors import UserMistake
from steelyard.records import Outcome, RunHeader, RunState, Sample
from steelyard.store.base import Store
from steelyard.store.codec import encode
from steelyard.suite.case import Case

_CHUNK = 500


def find_failed(store: Store, name: str, suite_name: str) -> RunHeader:
    """The run whose failed samples are to be asked for again; UserMistake when that cannot be done."""
    earlier = store.run(name)
    if earlier.suite_name != suite_name:
        raise UserMistake(f"run {earlier.id} is of suite {earlier.suite_name}, not of {suite_name}")
    if earlier.state is not RunState.ENDED:
        raise UserMistake(f"run {earlier.id} has not ended: go on with it first, with --resume {earlier.id}")
    if "repeats" not in earlier.options:
        raise UserMistake(f"run {earlier.id} was made by another tool: only a run of this suite can be retried")
    if "ab" in earlier.options:
        raise UserMistake(f"run {earlier.id} is an arm of an A/B: its samples belong together with the other arm's")
    return earlier


def retried(store: Store, earlier: RunHeader, plan: Plan) -> dict[str, Any]:
    """What a run takes over, as its header has it: from which run, how many samples, and how many are asked for again.

    UserMistake when nothing failed, or the samples are not those of the plan.
    """
    kept, asks = 0, plan.asks()
    for sample, _ in store.samples(earlier.id):
        planned = next((each for each in asks if each.position == sample.position), None)
        if planned is None or (planned.case.id, planned.ask.variant.name, planned.ask.repeat) != sample.key:
            raise UserMistake(f"the cases are in another order than in run {earlier.id}: start a new run")
        kept += not is_failed(sample)
    if kept == plan.n:
        raise UserMistake(f"run {earlier.id} has no failed samples: there is nothing to ask again")
    return {"run": earlier.id, "kept": kept, "asked": plan.n - kept}


def is_failed(sample: Sample) -> bool:
    """True when a call failed, of the target or of a judge that is missed; not for a scorer that broke."""
    if sample.outcome is Outcome.JUDGE_FAILED:
        calls = () if sample.judgement is None else sample.judgement.calls
        return any(call.attempt.failure is not None for call in calls)
    return sample.outcome is Outcome.TARGET_FAILED


def taken_from(header: RunHeader) -> str | None:
    """The run that this one takes over samples from; None for one that asks for all of them."""
    told = header.options.get("retried")
    return None if told is None else told["run"]


def take_over(store: Store, earlier: str, run_id: str) -> None:
    """Put into the run what it takes over and does not hold yet: whole samples and, of those whose judge failed, the
    answer and what the judges said, so that only the calls that failed are made again."""
    pairs = store.samples(earlier)
    while chunk := list(islice(pairs, _CHUNK)):
        done = store.done(run_id, [sample.case_id for sample, _ in chunk])
        missing = [(sample, case) for sample, case in chunk if sample.key not in done]
        kept = [(sample, case) for sample, case in missing if not is_failed(sample)]
        cases: dict[str, Case] = {case.id: case for _, case in kept}
        store.add_rescored(run_id, earlier, [sample for sample, _ in kept], list(cases.values()))
        store.journal(run_id, [entry for sample, _ in missing if is_failed(sample) for entry in _answered(sample)])


def _answered(sample: Sample) -> Iterator[tuple[str, dict[str, Any]]]:
    calls = () if sample.judgement is None else sample.judgement.calls
    parts = [(TARGET, sample.attempt)]
    parts += [(f"judge/{call.member}/{call.repeat}/{call.turn}", call.attempt) for call in calls]
    for part, attempt in parts:
        if attempt.failure is None:
            yield f"{sample.position}/{part}", encode(attempt)
