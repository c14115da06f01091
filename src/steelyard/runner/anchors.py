"""Answers of another run that the judge of a run reads as well, so that a drift of the judge can be measured."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from steelyard.decide.baselines import Reference, runs_held_against
from steelyard.engine.writer import Progress
from steelyard.errors import SteelyardError, UsageError
from steelyard.frozen import frozen
from steelyard.loading.chosen_judge import refuse_self_judged
from steelyard.pairing.cases import common_cases
from steelyard.pairing.judge_drift import drawn_anchors, identical, judged_in_both, keys_of, readings
from steelyard.pairing.pairs import pair
from steelyard.pairing.runs import ComparedRun, read_run
from steelyard.records import AnchorReading, Anchors, Mode, RunHeader, Sample
from steelyard.stats.arrays import Array
from steelyard.store.base import Store
from steelyard.suite.case import Case
from steelyard.suite.models import Limits, SuiteModel

if TYPE_CHECKING:
    from steelyard.engine.rejudge import Rejudged
    from steelyard.judging.cost_estimate import CostEstimate

_CHUNK = 200
"""Cases whose samples are in memory at a time."""


@frozen
class Purchase:
    """How many answers of A the judge of B may be asked about, for how much, and who has to agree to it."""

    most: int
    store: Store
    """Keeps what is bought."""
    agree: Callable[[CostEstimate], None]
    max_cost: float | None = None


def with_anchors(
    header: RunHeader,
    suite: SuiteModel,
    limits: Limits,
    store: Store,
    reference: Reference | None,
    progress: Progress,
    env: Mapping[str, str] | None,
) -> RunHeader:
    """The header with what the run's judge reads of the anchors of the runs that this one is compared with, within
    `limits`. What goes wrong is reported, and ends nothing."""
    results: dict[str, Anchors] = {}
    for label, (home, run_id) in runs_held_against(store, header, reference).items():

        def add_problem(estimate: CostEstimate, label: str = label) -> None:
            if estimate.texts:
                progress.note(f"judging answers of {label} again, to measure drift of the judge: {estimate}")

        try:
            before, now = read_run(home, run_id), read_run(store, header.id)
            if run_id in results or before.mode not in (Mode.MODEL, Mode.BASIC):
                continue
            left = (
                None if limits.max_cost is None else limits.max_cost - sum(item.cost or 0 for item in results.values())
            )
            read = _read_anchors(
                before, now, suite, Purchase(limits.anchors, store, add_problem, left), limits, env or os.environ
            )
        except SteelyardError as error:
            progress.note(f"drift of the judge is not measured against {label}: {str(error).partition(chr(10))[0]}")
            continue
        if read is not None:
            results[run_id] = read
    return replace(header, options=replace(header.options, anchors=results or header.options.anchors))


def _read_anchors(
    a: ComparedRun, b: ComparedRun, suite: SuiteModel, purchase: Purchase, limits: Limits, env: Mapping[str, str]
) -> Anchors | None:
    """What the judge of B, whose suite this is, says of answers of A drawn from every score band; None without any:
    those that are the same in B it has read already.

    UsageError when nobody may be asked.
    """
    first, second = _read_in_both(a, b)
    rows = np.flatnonzero(judged_in_both(a, b, first, second) & ~a.table.malformed[first])
    rows = rows[drawn_anchors(a, first[rows], purchase.most)]
    rows = rows[~identical(a, b, first[rows], second[rows])]
    _, done = rejudged(a, b, suite, first, rows, purchase, limits, env)
    samples = list(done.samples.values())
    anchors = tuple(
        AnchorReading(*sample.key, sample.score, sample.passed) for sample in samples if sample.outcome.conclusive
    )
    calls = [call.call_result for sample in samples if sample.judgement for call in sample.judgement.calls]
    costs = [call_result.cost for call_result in calls if call_result.failure is None]
    cost = None if None in costs else sum(cost for cost in costs if cost)
    price = "at a price that is not known" if cost is None else f"for {cost:.4g}"
    messages = [f"{len(anchors):,} answers of run {a.header.id} judged again {price}", done.stopped]
    if failed := len(samples) - len(anchors):
        messages.insert(1, f"{failed:,} more failed")
    return Anchors(anchors, cost, "; ".join(item for item in messages if item)) if samples else None


def _read_in_both(a: ComparedRun, b: ComparedRun) -> tuple[Array, Array]:
    """Positions in A and in B of the pairs with the same question and a reading on both sides, in the order of A's
    cases."""
    by_pass = a.passes and b.passes
    first, second, _ = pair(a, b, common_cases(a, b), allow_mismatch=True).asked
    before, after = (readings(run, by_pass=by_pass)[rows] for run, rows in ((a, first), (b, second)))
    read = ~np.isnan(before) & ~np.isnan(after)
    return first[read], second[read]


def rejudged(
    a: ComparedRun,
    b: ComparedRun,
    suite: SuiteModel,
    first: Array,
    rows: Array,
    purchase: Purchase,
    limits: Limits,
    env: Mapping[str, str],
) -> tuple[list[int], Rejudged]:
    """The rows of pairs whose answers in A (at `first`) the judge of B was asked about, in order, and the result."""
    from steelyard.engine.rejudge import Rejudging

    refuse_self_judged(suite, a.header.target)
    if a.header.signature.redact != b.header.signature.redact:
        raise UsageError("A and B redact differently, so A's answers are not sent")
    answers = {row: (sample, truth) for row, sample, _, truth in answers_of(a, b, first, np.sort(rows))}
    places = [row for row in rows.tolist() if row in answers]
    rejudging = Rejudging(suite, [answers[row] for row in places], purchase.store, b.header.id)
    purchase.agree(rejudging.estimate())
    return places, rejudging.ask(limits, env, purchase.max_cost)


def answers_of(a: ComparedRun, b: ComparedRun, first: Array, rows: Array) -> Iterator[tuple[int, Sample, Case, Case]]:
    """The answers of A at some rows of pairs, each with its case as it was asked in A and with the truth of B.

    One whose text is not kept is passed over.
    """
    case = a.columns.case[first[rows]]
    starts = np.flatnonzero(np.concatenate(([True], case[1:] != case[:-1]))) if len(rows) else rows
    for chunk in range(0, len(starts), _CHUNK):
        end = starts[chunk + _CHUNK] if chunk + _CHUNK < len(starts) else len(rows)
        part = rows[starts[chunk] : end]
        places = dict(zip(keys_of(a, first[part]), part.tolist(), strict=True))
        ids = list(dict.fromkeys(key[0] for key in places))
        truths = {} if b.contents is None else b.contents.cases(ids)
        for sample, then in a.samples(case_ids=ids) if a.samples else ():
            row = places.get(sample.key)
            if row is not None and sample.call_result.text is not None:
                yield row, sample, then, truths.get(then.id, then)
