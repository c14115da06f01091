"""Score recorded answers again without a call."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from itertools import islice

from steelyard.engine.costs import scorer_calls
from steelyard.engine.health import Health
from steelyard.engine.scoring_processes import ScoresRecorded, Task
from steelyard.engine.writer import Counts, Progress
from steelyard.frozen import slotted
from steelyard.records import Sample
from steelyard.store.base import Store
from steelyard.suite.case import Case

_CHUNK = 500


@slotted
class RescoreCounts:
    """What was scored again, and what could not be: answers to questions that have changed or are gone."""

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
    scoring: ScoresRecorded,
    progress: Progress,
    planned: int,
) -> RescoreCounts:
    """Score every attempt of `from_run` whose question still stands, and keep the samples under `run_id`.

    What that run holds already is left as it is.
    """
    result = RescoreCounts(Counts(planned=planned), Health())
    seen = 0
    # The next chunk is read while processes score the one before.
    under_way: deque[tuple[Sequence[Future[list[Sample]]], list[Case]]] = deque()

    def keep_first() -> None:
        scored, used = under_way.popleft()
        samples = [sample for piece in scored for sample in piece.result()]
        _keep(store, run_id, from_run, samples, used, result)
        progress.update(result.counts, samples)

    while chunk := list(islice(cases, _CHUNK)):
        now = {case.id: case for case in chunk}
        tasks: list[Task] = []
        used: dict[str, Case] = {}
        done = store.done(run_id, list(now))
        for sample, then in store.samples(from_run, case_ids=list(now)):
            seen += 1
            case = now[sample.case_id]
            if sample.key in done:
                continue
            if not same_question(case, then):
                result.changed_questions += 1
                continue
            calls = () if sample.judgement is None else sample.judgement.calls
            asked = scorer_calls(sample)
            tasks.append(Task(case, sample.variant, sample.repeat, sample.call_result, calls, asked))
            used[case.id] = case
        if tasks:
            under_way.append((scoring.submit(tasks), list(used.values())))
        if len(under_way) > scoring.ahead:
            keep_first()
    while under_way:
        keep_first()
    result.gone_cases = planned - seen
    return result


def same_question(case: Case, other: Case) -> bool:
    """True when an answer to one is an answer to the other, whatever has become of their truth."""
    return case.question == other.question


def _keep(
    store: Store, run_id: str, from_run: str, samples: Sequence[Sample], cases: Sequence[Case], result: RescoreCounts
) -> None:
    if not samples:
        return
    store.add_rescored(run_id, from_run, samples, cases)
    for sample in samples:
        result.health.watch(sample)
        result.counts.add(sample.outcome)
