"""Summary of a run: overall and by slice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from steelyard.analysis.findings import top_confusions
from steelyard.analysis.fixes import find_priorities, found_codes
from steelyard.analysis.latency import bottleneck, latency_details
from steelyard.analysis.listed_samples import ListedSamples, listed_samples
from steelyard.analysis.model import BestVariant, ReusedAnswers, Summary
from steelyard.analysis.patterns import find_patterns
from steelyard.analysis.repeats import check_details, failing_cells
from steelyard.failures import causes_of, failure_reason
from steelyard.loading.own_metrics import load_metrics
from steelyard.metrics.own_values import with_values
from steelyard.metrics.registry import OF_JUDGE
from steelyard.metrics.run_data import RunData
from steelyard.metrics.run_figures import run_figures
from steelyard.metrics.stability import Placed
from steelyard.metrics.table import Table, clusters_in_words
from steelyard.records import RunHeader
from steelyard.stats.arrays import Array
from steelyard.store.base import Checks, ClaimColumns, Columns, JudgedSample, Store
from steelyard.store.contents import Contents
from steelyard.store.headers import answers_from
from steelyard.suite.models import SuiteModel
from steelyard.suite.values import load_in_words

if TYPE_CHECKING:
    from steelyard.analysis.calibration import ConfidenceTexts
    from steelyard.analysis.judge.corrected import LabelColumns, RunLabels
    from steelyard.analysis.model import JudgeDetails
    from steelyard.analysis.stability import FlakyCell, StabilityDetails

L = TypeVar("L", Columns, Checks)


def summarise(
    columns: Columns,
    suite: SuiteModel,
    judgements: Iterable[JudgedSample] | None = None,
    claims: ClaimColumns | None = None,
    checks: Checks | None = None,
    items: Iterable[Placed] | None = None,
    load: str | None = "",
    contents: Callable[[], Contents] | None = None,
    labels: RunLabels | None = None,
) -> Summary:
    """The summary of a run; `suite` is the suite as the run's header describes it.

    Samples that were planned and did not come are missing from every figure of the whole run. `judgements` are those of
    the run in the order of its plan; they are read once, into columns. `claims` are what its answers claimed,
    `checks` what became of its expectations, `items` what its repeats are compared by; `contents` gives what its
    findings say, last of all. `load` says in words how the calls were made; None leaves out all about latency that no
    gate stands on. `labels` are what reviewers say of its cases and people of its answers.
    """
    data = RunData(columns, suite, checks, items, None if claims is None else lambda: claims)
    by_labels = None if labels is None else _label_columns(labels, data)
    data.labels = None if by_labels is None else by_labels.column()
    data.judged = None if judgements is None or suite.judge is None else lambda: judgements
    data.case_labels = None if labels is None else labels.by_case
    table = data.table
    figures = run_figures(data)
    overall = figures.slice()
    return Summary(
        passing=suite.passing.text if suite.passing else "",
        figures=figures,
        patterns=find_patterns(data),
        priorities=find_priorities(data, overall),
        reused=ReusedAnswers.of(table),
        codes=found_codes(data, overall),
        best_variant=_best_variant(data),
        repeats=int(columns.repeat.max()) + 1 - int(columns.repeat.min()) if columns.n else 1,
        method=_method(table, clustered=any(group.clustered for group in data.groups.values())),
        judge=_judge(data),
        judge_check=None if by_labels is None else by_labels.check(),
        confidence=_confidence(data),
        checks=check_details(data),
        flaky_cells=_flaky_cells(data),
        stability=_stability(data),
        latency=None if load is None else latency_details(table, suite, load),
        confusions=[] if contents is None else top_confusions(table, suite, contents()),
        failing_cells=failing_cells(data),
        samples=ListedSamples() if load is None else listed_samples(data),
    )


# What few runs have: what computes it is imported for them alone.


def _judge(data: RunData) -> JudgeDetails | None:
    if data.judged is None:
        return None
    from steelyard.analysis.judge.details import judge_details

    return judge_details(data)


def _label_columns(labels: RunLabels, data: RunData) -> LabelColumns:
    from steelyard.analysis.judge.corrected import LabelColumns

    return LabelColumns(labels, data)


def _confidence(data: RunData) -> ConfidenceTexts | None:
    if data.claims is None or not data.claims().n:
        return None
    from steelyard.analysis.calibration import texts_of
    from steelyard.analysis.confidence import run_confidence

    figures = data.once(run_confidence)
    return None if figures is None else texts_of(figures)


def _flaky_cells(data: RunData) -> list[FlakyCell]:
    if data.clean_repeats is None:
        return []
    from steelyard.analysis.stability import flaky_cells

    return flaky_cells(data.clean_repeats, data.cells)


def _stability(data: RunData) -> StabilityDetails | None:
    if data.stability is None:
        return None
    from steelyard.analysis.stability import stability_details

    return stability_details(data)


def _best_variant(data: RunData) -> BestVariant | None:
    if len(data.table.variants) < 2:
        return None
    from steelyard.analysis.variants import compared_variants

    compared = data.once(compared_variants)
    return None if compared is None else compared.result


def _method(table: Table, *, clustered: bool) -> str:
    text = (
        "95 % intervals: Wilson for rates and, by their standard error, for means of a scale with ends; none for other"
        " means; medians and percentiles: order statistics; undefined below n 2, a median below n 6"
    )
    if table.measures:
        text += "; measures: ratios of sums"
    if not clustered:
        return text
    text += "; samples of a case: one cluster, shares over them as means"
    n_units, n_cases = len(table.unit_names), len(table.case_ids)
    return text if n_units == n_cases else f"{text}; {clusters_in_words(n_cases, n_units)}"


# The summary of a run in a store: everything that `summarise` wants, read from it.


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


def columns_at(columns: Columns, remaining: Array, place: Array) -> Columns:
    """The columns of the samples that are kept, whose new places are given."""
    listed = listed_at(listed_at(columns, "tag_", remaining, place), "finding_", remaining, place)
    mine: dict[str, Any] = {
        name: value[remaining]
        for name in (field.name for field in fields(columns))
        if isinstance(value := getattr(columns, name), np.ndarray)
        and len(value) == columns.n
        and name != "tag"
        and not name.startswith(("tag_", "finding_"))
    }
    present, mine["case"] = np.unique(mine["case"], return_inverse=True)
    return replace(
        listed,
        **mine,
        n=int(remaining.sum()),
        case_ids=[columns.case_ids[code] for code in present.tolist()],
        components={name: values[remaining] for name, values in columns.components.items()},
        counts={name: {key: item[remaining] for key, item in some.items()} for name, some in columns.counts.items()},
    )


def listed_at(listed: L, prefix: str, remaining: Array, place: Array) -> L:
    """What is listed by sample, of the samples that are kept: tags, findings or checks."""
    sample = getattr(listed, f"{prefix}sample")
    inside = remaining[sample.astype(int)]
    names = [field.name for field in fields(listed) if field.name.startswith(prefix) or field.name == prefix[:-1]]
    columns = {name: value for name in names if isinstance(value := getattr(listed, name), np.ndarray)}
    rows = {name: value[inside] for name, value in columns.items() if len(value) == len(sample)}
    rows[f"{prefix}sample"] = place[sample[inside].astype(int)].astype(sample.dtype)
    return replace(listed, **rows)


def _load(header: RunHeader) -> str:
    """How the calls were made; "" for recorded answers."""
    return "" if _called_elsewhere(header) else load_in_words(header.options.load)


def _called_elsewhere(header: RunHeader) -> bool:
    """Whether the answers are recorded, or those of another run: this process says nothing about their times."""
    return header.target.kind == "recorded" or bool(answers_from(header))
