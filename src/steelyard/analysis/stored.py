"""The summary of a run in a store: everything that `summarise` wants, read from it."""

from __future__ import annotations

from dataclasses import replace

from steelyard.analysis.judge_check import labelled_samples, labels_by_case, with_labelled
from steelyard.analysis.latency import bottleneck
from steelyard.analysis.model import Summary
from steelyard.analysis.summary import summarise
from steelyard.metrics.own import load_metrics
from steelyard.records import RunHeader
from steelyard.store.base import Columns, Store
from steelyard.suite.models import SuiteDescription
from steelyard.suite.values import load_in_words


def summarise_stored(
    store: Store,
    run_id: str,
    suite: SuiteDescription,
    columns: Columns | None = None,
    *,
    header: RunHeader | None = None,
    only_for_gates: bool = False,
) -> Summary:
    """The summary of a run; `columns` are its own when they have been read already, and `header` is the run's when it
    says more than the stored one does yet.

    `only_for_gates` leaves out what no gate stands on: how a judge behaved, what confidences are worth, how long single
    cases took and what was taken for what.
    """
    judge = suite.judge
    judged = judge is not None and not only_for_gates
    reviewed = judge if judge and judge.labels and (judged or judge.require_checked) else None
    columns = store.columns(run_id) if columns is None else columns
    own = labelled_samples(store.samples(run_id), reviewed) if reviewed else frozenset()
    found = len(columns.finding_sample) > 0 and not only_for_gates
    header = header or store.run(run_id)
    load_metrics(header)
    summary = summarise(
        columns,
        suite,
        with_labelled(store.judgements(run_id), own) if judged else None,
        None if only_for_gates else store.certainties(run_id),
        store.checks(run_id),
        store.items(run_id) if suite.stability else None,
        None if only_for_gates else _load(header),
        store.contents(run_id) if found else None,
        labels_by_case(store.cases(run_id), reviewed, skip_wrong=True) if reviewed else None,
        own,
    )
    if summary.latency is None:
        return summary
    client = bottleneck(summary.latency.overall.p50, header.options.get("load") or {})
    return replace(summary, latency=replace(summary.latency, bottleneck=client))


def _load(header: RunHeader) -> str:
    """How the calls were made; "" for recorded answers, whose calls were made elsewhere."""
    return "" if header.target.get("kind") == "recorded" else load_in_words(header.options.get("load"))
