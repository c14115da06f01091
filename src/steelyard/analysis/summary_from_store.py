"""The summary of a run in a store, or of a part of it: everything that `summarise` wants, read from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from steelyard.analysis.columns_at import columns_at, listed_at
from steelyard.analysis.latency import bottleneck
from steelyard.analysis.model import Summary
from steelyard.analysis.summary import summarise
from steelyard.failures import causes_of, failure_reason
from steelyard.loading.own_metrics import load_metrics
from steelyard.metrics.own_values import with_values
from steelyard.metrics.registry import OF_JUDGE
from steelyard.metrics.run_data import RunData
from steelyard.records import RunHeader
from steelyard.store.base import Columns, JudgedSample, Store
from steelyard.store.headers import answers_from
from steelyard.suite.models import SuiteModel
from steelyard.suite.values import load_in_words

if TYPE_CHECKING:
    from steelyard.analysis.judge.corrected import RunLabels


def summarise_stored(
    store: Store,
    run_id: str,
    suite: SuiteModel,
    columns: Columns | None = None,
    *,
    header: RunHeader | None = None,
    only_for_gates: bool = False,
) -> Summary:
    """The summary of a run; `columns` are its own when they have been read already, and `header` is the run's when it
    says more than the stored one does yet.

    `only_for_gates` leaves out what no gate of the suite stands on: how a judge behaved, unless one names it, what
    confidences are worth, how long single cases took and what was taken for what.
    """
    judged = suite.judge is not None and (not only_for_gates or _names_judge(suite))
    columns = store.columns(run_id) if columns is None else columns
    labels = _labels(store, run_id, suite)
    result = len(columns.finding_sample) > 0 and not only_for_gates
    header = header or store.run(run_id)
    load_metrics(header)
    summary = summarise(
        columns,
        suite,
        _judgements(store, run_id, labels) if judged else None,
        None if only_for_gates else store.claims(run_id),
        store.checks(run_id),
        store.items(run_id) if suite.stability else None,
        None if only_for_gates else _load(header),
        (lambda: store.contents(run_id)) if result else None,
        labels,
    )
    if only_for_gates:
        return summary
    summary = replace(
        summary,
        samples=summary.samples.placed(store.positions(run_id, columns.n)),
        failure_causes=causes_of(store.failures(run_id)) if summary.overall.counts("failures.<kind>") else [],
        scorer_errors=_scorer_errors(store, run_id) if summary.n_scorer_errors > 0 else {},
    )
    if summary.latency is None:
        return summary
    load = None if _called_elsewhere(header) else header.options.load
    client = bottleneck(summary.overall["latency.p50"].value, load)
    return replace(summary, latency=replace(summary.latency, bottleneck=client))


def _scorer_errors(store: Store, run_id: str) -> dict[str, int]:
    """By the first message of each kind, the samples on which scorers broke so."""
    reasons, first = Counter[str](), dict[str, str]()
    for message, count in store.scorer_errors(run_id):
        key, text = failure_reason("", message)
        reasons[first.setdefault(key, text)] += count
    return dict(reasons)


def _names_judge(suite: SuiteModel) -> bool:
    """Whether a gate or criterion of a suite is on a metric of its judge."""
    texts = [*suite.gates, *(text for item in suite.criteria for text in (item.passes, item.fails or ""))]
    return any(OF_JUDGE in text for text in texts)


def _judgements(store: Store, run_id: str, labels: RunLabels | None) -> Iterable[JudgedSample]:
    from steelyard.analysis.judge.labels import with_labelled

    return with_labelled(store.judgements(run_id), labels.own if labels else ())


def _labels(store: Store, run_id: str, suite: SuiteModel) -> RunLabels | None:
    """The labels of a stored run; None where there are none."""
    if not (suite.judge and suite.judge.labels) and not store.people.labels(run_id=run_id):
        return None
    from steelyard.analysis.judge.corrected import read_labels

    return read_labels(store, run_id, suite)


def summarise_without(store: Store, header: RunHeader, cases: Collection[str]) -> tuple[Summary, int]:
    """What gates stand on, over all but some cases, and how many samples were left out."""
    columns, checks, suite = store.columns(header.id), store.checks(header.id), header.description
    codes = [i for i, case_id in enumerate(columns.case_ids) if case_id in cases]
    remaining = ~np.isin(columns.case, codes)
    place, n_out = np.cumsum(remaining) - 1, int((~remaining).sum())
    items = (
        ((int(place[at]), item) for at, item in store.items(header.id) if remaining[at]) if suite.stability else None
    )
    planned = {"n_planned": suite.n_planned, "n_cases": suite.n_cases}
    out = {"n_planned": n_out, "n_cases": len(codes)}
    part = suite.model_copy(update={name: n and max(0, n - out[name]) for name, n in planned.items()})
    load_metrics(header)
    part = with_values(part, RunData(columns, suite), remaining)
    labels = _labels(store, header.id, suite)
    rest = columns_at(columns, remaining, place)
    judged = None
    if suite.judge is not None and _names_judge(suite):
        judged = (item for item in _judgements(store, header.id, labels) if item.case_id not in cases)
    return summarise(
        rest, part, judged, None, listed_at(checks, "", remaining, place), items, None, None, labels
    ), n_out


def _load(header: RunHeader) -> str:
    """How the calls were made; "" for recorded answers."""
    return "" if _called_elsewhere(header) else load_in_words(header.options.load)


def _called_elsewhere(header: RunHeader) -> bool:
    """Whether the answers are recorded, or those of another run: this process says nothing about their times."""
    return header.target.kind == "recorded" or bool(answers_from(header))
