"""Weighs the recorded answers of a run again, with the suite as it is now. No call is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from steelyard.engine.health import Health
from steelyard.engine.progress import Counts, Progress
from steelyard.engine.sample import Weighing
from steelyard.records import Sample
from steelyard.scoring.weigh import Weigher
from steelyard.store.base import Store
from steelyard.suite.case import Case

if TYPE_CHECKING:
    from steelyard.engine.judges import Judges

_CHUNK = 500


@dataclass(slots=True)
class Rescored:
    """What was weighed again, and what could not be: answers to questions that have changed or are gone."""

    counts: Counts
    health: Health
    changed_questions: int = 0
    gone_cases: int = 0


def rescore(
    store: Store,
    *,
    from_run: str,
    run_id: str,
    cases: Iterator[Case],
    weigher: Weigher,
    judges: Judges | None,
    progress: Progress,
    planned: int,
) -> Rescored:
    """Weigh every attempt of `from_run` whose question still stands, and keep the samples under `run_id`."""
    result = Rescored(Counts(planned=planned), Health())
    seen = 0
    while chunk := list(islice(cases, _CHUNK)):
        now = {case.id: case for case in chunk}
        samples: list[Sample] = []
        used: dict[str, Case] = {}
        for sample, then in store.samples(from_run, case_ids=list(now)):
            seen += 1
            case = now[sample.case_id]
            if not same_question(case, then):
                result.changed_questions += 1
                continue
            samples.append(_weighed_again(weigher, judges, case, sample))
            used[case.id] = case
        _keep(store, run_id, from_run, samples, list(used.values()), result)
        progress.update(result.counts)
    result.gone_cases = planned - seen
    return result


def _weighed_again(weigher: Weigher, judges: Judges | None, case: Case, earlier: Sample) -> Sample:
    weighing = Weighing(weigher, case, earlier.variant, earlier.repeat, earlier.attempt)
    if judges is not None and weighing.to_judge is not None:
        judges.read_again(weighing, () if earlier.judgement is None else earlier.judgement.calls)
    return weighing.sample


def same_question(one: Case, other: Case) -> bool:
    """True when an answer to one is an answer to the other, whatever has become of their truth."""
    return one.question == other.question


def _keep(
    store: Store, run_id: str, from_run: str, samples: Sequence[Sample], cases: Sequence[Case], result: Rescored
) -> None:
    if not samples:
        return
    store.add_rescored(run_id, from_run, samples, cases)
    for sample in samples:
        result.health.watch(sample)
        result.counts.add(sample.outcome)
